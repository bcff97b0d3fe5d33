package acuity

import (
	"fmt"
	"strings"
	"testing"
)

func TestSuggestions(t *testing.T) {
	for name, c := range map[string]struct {
		system  System
		code    string
		display string
		kind    SignalKind
		want    string // the likeliest, with its reason; "" none
	}{
		"C3 previa with hemorrhage":        {ICD10CM, "O44.30", "", 0, "high-hemorrhage known_gap"},
		"C3 without":                       {ICD10CM, "o4423", "", 0, "high-placenta-previa known_gap"},
		"C4 plain previa":                  {SNOMED, "36813001", "", 0, "high-placenta-previa known_gap"},
		"C8 fetal heart rate":              {ICD10CM, "O76", "", 0, "labor-fhr-cat-ii known_gap"},
		"C8 fetal stress":                  {ICD10CM, "O77.1", "", 0, "labor-fhr-cat-ii known_gap"},
		"C9 scar only":                     {ICD10CM, "O34.211", "", 0, "labor-tolac if_trial_of_labor"},
		"beside a code of the catalogue":   {ICD10CM, "O99.42", "", 0, "high-cardiac code_neighborhood"},
		"by words":                         {SystemLocal, "4711", "Substance abuse screening positive", KindObservation, "high-substance-abuse-hx display_words"},
		"by the words of a local code":     {SystemLocal, "NITROUS_OXIDE_START", "", KindObservation, "labor-nitrous-oxide display_words"},
		"by the id of a factor":            {SystemLocal, "ENV_INTERPRETER", "", KindObservation, "env-interpreter factor_id"},
		"a signal has no neighborhood":     {ICD10CM, "O99.42", "", KindObservation, ""},
		"nothing speaks for anything":      {SystemLocal, "0815", "potassium", KindLab, ""},
		"words that tell nothing":          {SystemLocal, "1", "other specified care of the patient", 0, ""},
		"no system, by the shape of codes": {SystemNone, "O44.30", "", 0, "high-hemorrhage known_gap"},
	} {
		t.Run(name, func(t *testing.T) {
			list := Suggest(c.system, c.code, c.display, c.kind)
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

func BenchmarkSuggest(b *testing.B) {
	for b.Loop() {
		Suggest(SystemLocal, "OB_HEM_RISK", "Obstetric hemorrhage risk assessment", KindObservation)
	}
}

// 20,000 rows, of which many are asked for, one after the other: by their code, by
// a prefix, and codes that nothing knows.
func BenchmarkMappingFind(b *testing.B) {
	var rows []Mapping
	codes := map[string][]string{}
	for i := range 20_000 {
		code := fmt.Sprintf("LOCAL-%05d", i)
		codes["unknown"] = append(codes["unknown"], "LOCAL-9"+code[6:])
		if i%100 == 0 {
			code = strings.TrimSuffix(code, "0") + "X*"
			codes["prefix"] = append(codes["prefix"], code[:len(code)-1]+"1")
		} else {
			codes["code"] = append(codes["code"], code)
		}
		m := Mapping{System: SystemLocal, Code: code, Factor: 1, Op: GreaterOrEqual * Comparator(i%2), Than: 1}
		m.ID = MappingID(&m)
		rows = append(rows, m)
	}
	maps := newMappings(rows)
	for name, list := range codes {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				maps.find(SystemLocal, list[i*7919%len(list)], KindObservation)
			}
		})
	}
}
