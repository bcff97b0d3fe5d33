package suggest

import (
	"testing"

	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

func TestSuggestions(t *testing.T) {
	for name, c := range map[string]struct {
		system  codes.System
		code    string
		display string
		kind    catalogue.SignalKind
		want    string // the most likely factor with the reason, or ""
	}{
		"previa with hemorrhage":           {codes.ICD10CM, "O44.30", "", 0, "high-hemorrhage known_gap"},
		"without":                          {codes.ICD10CM, "o4423", "", 0, "high-placenta-previa known_gap"},
		"plain previa":                     {codes.SNOMED, "36813001", "", 0, "high-placenta-previa known_gap"},
		"fetal heart rate":                 {codes.ICD10CM, "O76", "", 0, "labor-fhr-cat-ii known_gap"},
		"fetal stress":                     {codes.ICD10CM, "O77.1", "", 0, "labor-fhr-cat-ii known_gap"},
		"scar only":                        {codes.ICD10CM, "O34.211", "", 0, "labor-tolac if_trial_of_labor"},
		"beside a code of the catalogue":   {codes.ICD10CM, "O99.42", "", 0, "high-cardiac code_neighborhood"},
		"by words":                         {codes.SystemLocal, "4711", "Substance abuse screening positive", catalogue.KindObservation, "high-substance-abuse-hx display_words"},
		"by the words of a local code":     {codes.SystemLocal, "NITROUS_OXIDE_START", "", catalogue.KindObservation, "labor-nitrous-oxide display_words"},
		"by the id of a factor":            {codes.SystemLocal, "ENV_INTERPRETER", "", catalogue.KindObservation, "env-interpreter factor_id"},
		"a signal has no neighborhood":     {codes.ICD10CM, "O99.42", "", catalogue.KindObservation, ""},
		"nothing speaks for anything":      {codes.SystemLocal, "0815", "potassium", catalogue.KindLab, ""},
		"words that tell nothing":          {codes.SystemLocal, "1", "other specified care of the patient", 0, ""},
		"no system, by the shape of codes": {codes.SystemNone, "O44.30", "", 0, "high-hemorrhage known_gap"},
	} {
		t.Run(name, func(t *testing.T) {
			list := Factors(c.system, c.code, c.display, c.kind)
			got := ""
			if len(list) > 0 {
				got = list[0].Factor.ID() + " " + list[0].Reason
			}
			if got != c.want {
				t.Errorf("%q, want %q; all %v", got, c.want, list)
			}
			for i, s := range list {
				if s.Score < 1 || s.Score > 100 || i > 0 && s.Score > list[i-1].Score {
					t.Errorf("scores %v", list)
				}
			}
		})
	}
}

func BenchmarkFactors(b *testing.B) {
	for b.Loop() {
		Factors(codes.SystemLocal, "OB_HEM_RISK", "Obstetric hemorrhage risk assessment", catalogue.KindObservation)
	}
}

// TestSpellings checks that clinical abbreviations are recognized in a display name and in a local code.
func TestSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"Preeclampsia": "high-preeclampsia", "PREECLAMPSIA, severe": "high-preeclampsia", "Pre-eclampsia": "high-preeclampsia", "PPH": "pp-hemorrhage",
		"C-section": "csection-intraop", "C/S": "csection-intraop", "GBS pos": "high-gbs-positive", "gbs_pos": "high-gbs-positive", "IOL": "labor-induction",
		"VBAC": "labor-tolac", "MgSO4": "high-mag", "Twins": "labor-multiple-gestation",
	} {
		for _, code := range []struct{ code, display string }{{"X1", text}, {text, ""}} {
			got := Factors(codes.SystemLocal, code.code, code.display, 0)
			if len(got) == 0 || got[0].Factor.ID() != want {
				t.Errorf("%+v: %v, want %s", code, got, want)
			}
		}
	}
	if got := Factors(codes.SystemLocal, "X1", "Scheduled for a chromosome scan", 0); len(got) > 0 {
		t.Errorf("a part of a word is taken for a spelling: %v", got)
	}
}
