package terminology

import (
	"fmt"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

func BenchmarkMatchDiagnosis(b *testing.B) {
	rows := make([]acuity.Mapping, 0, 1000)
	for i := range 1000 {
		rows = append(rows, acuity.Mapping{System: codes.SystemLocal, Code: "SITE_" + string(rune('A'+i%26)) + string(rune('A'+i/26)), Factor: 1})
	}
	maps := NewMappings(rows)
	for name, d := range map[string]acuity.Diagnosis{
		"hit":  {System: codes.ICD10CM, Code: "O14.13"},
		"miss": {System: codes.ICD10CM, Code: "Z3A.39"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				matchDiagnosis(&d, maps)
			}
		})
	}
}

func BenchmarkMatchSignal(b *testing.B) {
	c := catalogue.Default()
	maps := NewMappings([]acuity.Mapping{{System: codes.SystemLocal, Code: "X", Factor: 1}})
	for name, s := range map[string]acuity.Signal{
		"hit":          {Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585", Display: "magnesium sulfate"},
		"hit-display":  {Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "7512", Display: "Norepinephrine 4 mg/250 mL infusion"},
		"miss":         {Kind: catalogue.KindLab, System: codes.LOINC, Code: "718-7"},
		"miss-display": {Kind: catalogue.KindLab, System: codes.LOINC, Code: "718-7", Display: "Hemoglobin [Mass/volume] in Blood"},
		"category":     {Kind: catalogue.KindObservation, System: codes.LOINC, Code: "32421-5", Value: wordsValue("category ii")},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				matchSignal(c, &s, maps)
			}
		})
	}
}

// BenchmarkMappingFind searches 20,000 rows for known codes, for codes with a known prefix, and for unknown codes.
func BenchmarkMappingFind(b *testing.B) {
	var rows []acuity.Mapping
	byKind := map[string][]string{}
	for i := range 20_000 {
		code := fmt.Sprintf("LOCAL-%05d", i)
		byKind["unknown"] = append(byKind["unknown"], "LOCAL-9"+code[6:])
		if i%100 == 0 {
			code = strings.TrimSuffix(code, "0") + "X*"
			byKind["prefix"] = append(byKind["prefix"], code[:len(code)-1]+"1")
		} else {
			byKind["code"] = append(byKind["code"], code)
		}
		m := acuity.Mapping{System: codes.SystemLocal, Code: code, Factor: 1, Op: codes.GreaterOrEqual * codes.Comparator(i%2), Than: 1}
		m.ID = MappingID(&m)
		rows = append(rows, m)
	}
	maps := NewMappings(rows)
	for name, list := range byKind {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				maps.find(codes.SystemLocal, list[i*7919%len(list)], catalogue.KindObservation)
			}
		})
	}
}
