package fhir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"svc/acuity"
	"svc/ingest/hl7"
)

// FuzzDecode: for any bytes, decoding does not panic or exceed a limit, and decoding twice gives the same facts. Text
// that is not JSON is refused.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"resourceType":"Patient","id":"` + strings.Repeat("x", 2*maxPlace) + `","multipleBirthInteger":2}`)) // a Patient's name is a pseudonym, which maxPlace does not limit
	f.Fuzz(func(t *testing.T, body []byte) {
		facts, fault := Decode(body, options())
		if syntax := isSyntax(fault); syntax == valid(body) {
			t.Fatalf("fault %v of a body that is valid: %v", fault, valid(body))
		}
		if fault != nil {
			return
		}
		if describeFacts(Decode(body, options())) != describeFacts(facts, nil) {
			t.Error("the same bytes say something else")
		}
		check(t, facts, len(body))
	})
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// check fails the test if the facts exceed a limit or their counts do not add up.
func check(t failer, f *Facts, size int) {
	t.Helper()
	named := f.Applied - f.Encounters - f.Measurements - f.Conditions // resources to which others refer; a Medication may have two names
	if f.Received != f.Applied+f.Ignored+f.Rejected || named < 0 || len(f.References) > 2*(named+f.Ignored) {
		t.Errorf("the counts do not add up: %+v", *f)
	}
	if len(f.Events) != len(f.Places) || len(f.Issues) > maxIssues {
		t.Errorf("%d events, %d places, %d issues", len(f.Events), len(f.Places), len(f.Issues))
	}
	// Each fact occupies at least four bytes of the body.
	if facts := len(f.Events) + len(f.Signals); facts > 4+size/4 {
		t.Errorf("%d facts of %d bytes", facts, size)
	}
	text := func(most int, list ...string) {
		for _, s := range list {
			if len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
				t.Errorf("%q is longer than %d, or has what no text should", s, most)
			}
		}
	}
	for i := range f.Events {
		e := &f.Events[i]
		if e.Resource == "" || e.At == 0 || e.Visit == "" && !e.Void || e.ID == "" {
			t.Errorf("event %+v", *e)
		}
		text(maxPlace, e.Place.PointOfCare, e.Place.Room, e.Place.Bed, e.Place.Label)
		text(maxService, e.Service)
	}
	for i := range f.References {
		r := &f.References[i]
		if r.Name == "" || len(r.Codings) == 0 && r.Place.IsZero() && r.Patient == "" || len(r.Codings) > maxCodings {
			t.Errorf("referent %+v", *r)
		}
		if !strings.HasPrefix(r.Name, hl7.KindPatient+"(") { // in these tests, a pseudonym contains its value
			text(maxPlace, r.Name)
		}
		text(maxPlace, r.Place.PointOfCare, r.Place.Room, r.Place.Bed, r.Place.Label)
		for _, c := range r.Codings {
			text(maxCode, c.Code)
			text(4*80, c.Display)
		}
	}
	for i := range f.Signals {
		s := &f.Signals[i]
		if s.Resource == "" || s.Kind == 0 || s.Status != acuity.SignalRetracted && (s.Code == "" && s.Display == "" || s.Visit == "" && s.Patient == "") {
			t.Errorf("signal %+v", *s)
		}
		if len(s.Also) >= maxCodings {
			t.Errorf("%d codings", len(s.Also)+1)
		}
		text(maxCode, s.Code, s.Value.Words)
		text(4*80, s.Display)
		for _, c := range s.Also {
			text(maxCode, c.Code)
			text(4*80, c.Display)
			if c.Code == "" && c.Display == "" {
				t.Errorf("a coding of nothing in %+v", *s)
			}
		}
	}
}
