package event

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLabels: common room labels are shown, and labels that could be a person's name are not.
func TestLabels(t *testing.T) {
	for _, label := range []string{
		"L&D 4", "PP-12A", "Triage 2", "OR 1", "Nursery", "LDR 4", "301", "301-B", "4 West 12", "4W-12", "W412", "NICU 3B", "Room 12",
		"Rm #4", "Postpartum 301", "Recovery A", "OB OR 2", "C-Section 1", "Mother-Baby 412A", "Antepartum 5", "MBU 4", "HRU-2", "T-1",
		"LDRP 07", "LD04", "Bed 2/A", "Isolation", "Labor & Delivery 3", "OB Triage", "pp 4", "PACU", "Labor/Delivery 7", "Well Baby Nursery", "Bay 3 (hall)",
	} {
		if got := NameRoom(7, label); got != label {
			t.Errorf("%q is shown as %q", label, got)
		}
	}
	for _, label := range []string{
		"", " ", "Jane Doe", "DOE JANE", "Doe, Jane", "J. Doe", "J Doe", "Doe J", "JD", "J.D.", "Jane D", "Jane Doe 4", "Jane Doe 1990-01-01", "Jane", "Doe",
		"Mrs Doe", "Doe-Smith", "O'Neil", "Baby Doe", "Baby Girl Lee", "LEE", "KIM OB", "José 4", "Room 4 Doe", "LDR 4 Jane", "MARIA 3", "Doe 12",
		"Magnolia 3", "王 4", "LDR 4\nDoe", strings.Repeat("Room ", 5), "Labor ward for twins 4",
	} {
		if got := NameRoom(7, label); got != "Room 7" {
			t.Errorf("%q is shown as %q", label, got)
		}
	}
}

// TestNoNameIsALabel: a person's name, in any common notation, is not accepted as a label.
func TestNoNameIsALabel(t *testing.T) {
	names := []string{"Jane", "Maria", "Guadalupe", "Anna", "Olivia", "Smith", "Doe", "Lee", "Kim", "Nguyen", "Garcia", "Johnson", "Li", "Ng", "Rose", "Hope"}
	rapid.Check(t, func(t *rapid.T) {
		first, last := rapid.SampledFrom(names).Draw(t, "first"), rapid.SampledFrom(names).Draw(t, "last")
		form := rapid.SampledFrom([]string{"F L", "L F", "F-L", "f l", "I. L", "F L 3", "L/F", "F (L)", "Baby L", "F L OB", "LDR F L"}).Draw(t, "form")
		label := strings.NewReplacer("f", strings.ToLower(first), "l", strings.ToLower(last), "F", first, "LDR", "LDR", "L", last, "I", first[:1]).Replace(form)
		if IsLabel(label) {
			t.Fatalf("%q is shown", label)
		}
		if upper := strings.ToUpper(first + " " + last); IsLabel(upper) {
			t.Fatalf("%q is shown", upper)
		}
	})
}
