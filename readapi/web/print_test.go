package web_test

import (
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/readapi"
	"svc/readapi/web/text"
)

// sheetRow returns the words of a room's row on the downtime sheet.
func sheetRow(page, label string) string {
	return readWords(page, `<th scope="row">`+label+`</th>`, "</tr>")
}

// TestSheetNamesAllFactors: the map names the most severe factors of a room and counts the others. The downtime sheet,
// which must suffice without the pages, names them all.
func TestSheetNamesAllFactors(t *testing.T) {
	c := unit()
	c.Rooms = []acuity.RoomChart{bed(13, "L9", "Labor", "ap-stable@6h", "high-mag@40m", "high-preeclampsia@6h", "high-gbs-positive@8h", "high-cardiac@9h")}
	w := newWard(t, c)
	_, sheet := w.page("/app/print", "en")
	row := sheetRow(sheet, "L9")
	for _, name := range []string{"Magnesium sulfate", "Preeclampsia", "Maternal cardiac disease", "GBS positive", "Antepartum, stable"} {
		if !strings.Contains(row, name) {
			t.Errorf("the sheet does not name %s: %q", name, row)
		}
	}
	for language, want := range map[string]string{"en": "Preeclampsia, 2 more", "es": "Preeclampsia, 2 más"} {
		if _, page := w.page("/app", language); strings.Count(page, want) != 2 {
			t.Errorf("the map and the list of rooms to check first do not both say %q", want)
		}
	}
}

// TestSheetCountsByHand: the downtime sheet lists, for every factor that requires nurses, the ratios from its start
// on, with the values that the hospital has set.
func TestSheetCountsByHand(t *testing.T) {
	w := inState(t, "usual")
	magnesium, _ := catalogue.FactorByID("high-mag")
	for name, tt := range map[string]struct {
		rules *catalogue.Catalogue
		want  []string
	}{
		"default": {nil, []string{
			"2:1 up to 1 h, 1:1 up to 4 h, 1:2 up to 24 h: Hemorrhage; Postpartum hemorrhage", "1:1 up to 1 h, then 1:2: Magnesium sulfate",
			"1:1 up to 2 h, 1:2 up to 6 h, then 1:3: Cesarean recovery; Immediate recovery, vaginal birth",
			"1:3; with a postpartum mother: none: Newborn, continuing care", "1:1 in labor: Fetal anomaly; Multiple gestation",
			"1:2 up to 24 h postpartum: Cesarean, day of surgery", "1:2; 1:1 in labor: Preeclampsia (severe); Fetal demise", "Newborn, intermediate care; Preeclampsia; Bereavement care", "Poorly controlled diabetes (IV insulin); Eclampsia (STAT)",
		}},
		"own values": {catalogue.Default().With([]catalogue.Rule{
			{Factor: magnesium, Lines: []catalogue.RuleLine{{Name: "floor", Text: "2 until 90m, 1"}}},
		}), []string{"2:1 up to 90 min, then 1:1: Magnesium sulfate"}},
	} {
		w.forms = func(u *readapi.Unit) { usual(u); u.Rules = tt.rules }
		_, page := w.page("/app/print", "en")
		words := strings.ReplaceAll(readWords(page, `<section class="rules">`, "</section>"), " : ", ": ")
		for _, want := range tt.want {
			if !strings.Contains(words, want) {
				t.Errorf("%s: the sheet does not say %q: %s", name, want, words)
			}
		}
		for f := catalogue.Factor(1); int(f) <= catalogue.Default().Len(); f++ {
			if need, _ := catalogue.Default().Spec(f).Begins(); need > 0 && !strings.Contains(words, text.In("en").FactorName(f)) {
				t.Errorf("%s: the sheet does not say what %s requires", name, f.ID())
			}
		}
	}
}

// TestSheetTellsNursesOfOddRatios: where a ratio does not tell the number of nurses, the downtime sheet adds the
// number.
func TestSheetTellsNursesOfOddRatios(t *testing.T) {
	c := unit()
	c.Rooms = []acuity.RoomChart{
		bed(1, "LDR 1", "Labor", "labor-standard@1h"), bed(2, "OR 1", "OR", "csection-intraop@30m", "labor-multiple-gestation@1h"),
		bed(3, "LDR 3", "Labor", "csection-intraop@30m"), bed(4, "LDR 4", "Labor", "labor-standard@1h", "env-interpreter@1h"),
	}
	w := newWard(t, c)
	w.forms = usual
	_, page := w.page("/app/print", "en")
	for label, want := range map[string]string{"LDR 1": "1:1, ", "OR 1": ">2:1 (3.0), ", "LDR 3": "2:1, ", "LDR 4": "1:1+ (1.1), "} {
		if row := sheetRow(page, label); !strings.HasPrefix(row, want) {
			t.Errorf("%s: %q, want %q", label, row, want)
		}
	}
	if !strings.Contains(page, "use that number") {
		t.Error("the sheet does not say what to do with the number")
	}
}

// TestSheetStatesWhatIsMissing: the downtime sheet has the patients without a room, what is missing, and the age of
// the data.
func TestSheetStatesWhatIsMissing(t *testing.T) {
	w := inState(t, "usual")
	w.addChange(func(u *readapi.Unit) {
		u.Feeds = []readapi.Feed{{Channel: "hl7", LastReceived: u.At.Add(-3 * time.Hour), Late: true, Stale: true}}
	})
	_, page := w.page("/app/print", "en")
	words := readWords(page, "<main", "")
	for _, want := range []string{
		"1 patient has no room.", "Missing or unconfirmed data: No roster received: skill mix is not included. Patients without a room are not included.",
		"Last data received: HL7 3 h, stale.",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("the sheet does not say %q: %.300s", want, words)
		}
	}
}
