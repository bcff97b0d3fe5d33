package terminology

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

func FuzzDisplay(f *testing.F) {
	for _, s := range []string{"epinephrine / lidocaine", "MEWS", "oxygen\xff", "non-rebreather", "a/b", "Ⅲ FiO2", ""} {
		f.Add(s, "1")
	}
	f.Fuzz(func(t *testing.T, display, code string) {
		for _, kind := range []catalogue.SignalKind{catalogue.KindMedication, catalogue.KindObservation} {
			for _, system := range []codes.System{codes.RxNorm, codes.LOINC, codes.SystemLocal, codes.SystemNone, "other"} {
				s := acuity.Signal{Kind: kind, System: system, Code: code, Display: display, Value: codes.ParseValue(display)}
				matches, state := matchSignal(catalogue.Default(), &s, nil)
				if state != Matched && len(matches) > 0 || state == Matched && len(matches) == 0 {
					t.Errorf("%q %q: %v, %v", display, code, matches, state)
				}
				lower := s
				lower.Display = strings.ToUpper(display)
				if again, _ := matchSignal(catalogue.Default(), &lower, nil); onlyASCII(display) && onIDs(again) != onIDs(matches) {
					t.Errorf("%q: %q in lower case, %q in upper case", display, onIDs(matches), onIDs(again))
				}
			}
		}
		matchDiagnosis(&acuity.Diagnosis{Code: code, Display: display}, nil)
	})
}

func onlyASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}

func TestReduceDisplay(t *testing.T) {
	for text, want := range map[string]string{
		"MEWS total score":                       "mews x",
		"Miller, Ann (19940211): MEWS, score 12": "x 0 mews x 0",
		"Norepinephrine 16 mg/250 mL infusion":   "norepinephrine 0 mg / 0 ml infusion",
		"lidocaine/epinephrine":                  "lidocaine / epinephrine",
		"bupivacaine 0.25% / epinephrine":        "bupivacaine 0 / epinephrine",
		"Ann Miller is in room 4":                "",
		"":                                       "",
	} {
		if got := ReduceDisplay(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if UnitOf(codes.LOINC, "39156-5") != "kg/m2" || UnitOf(codes.LOINC, "8867-4") != "" {
		t.Error("units of codes")
	}
}

// Each rule gives the same result for a text and for its reduced form.
func TestReduceDisplayKeepsTheMeaning(t *testing.T) {
	lexicon := CatalogueIndex().lexicon
	words := []string{"MEWS", "meows", "epinephrine", "norepinephrine", "labetalol", "oxygen", "FiO2", "no", "non", "rebreather", "/", "/", "4", "16 mg", "/250 mL", "Miller", "Ann", "drip", "tablet", "lidocaine", "education", "with", ",", "x7"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 8).Draw(t, "words"), rapid.SampledFrom([]string{" ", "", "-"}).Draw(t, "between"))
		whole, reduced := lexicon.scan(text), lexicon.scan(ReduceDisplay(text))
		if whole.sought != 0 && len(text) < codes.MaxDisplay/2 && whole != reduced {
			t.Fatalf("%q: %+v\n%q: %+v", text, whole, ReduceDisplay(text), reduced)
		}
	})
}
