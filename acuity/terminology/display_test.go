package terminology

import (
	"strings"
	"testing"

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
