package acuity

import (
	"testing"

	"svc/acuity/codes"
)

func BenchmarkMatchDiagnosis(b *testing.B) {
	c := Default()
	rows := make([]Mapping, 0, 1000)
	for i := range 1000 {
		rows = append(rows, Mapping{System: codes.SystemLocal, Code: "SITE_" + string(rune('A'+i%26)) + string(rune('A'+i/26)), Factor: 1})
	}
	maps := newMappings(rows)
	for name, d := range map[string]Diagnosis{
		"hit":  {System: codes.ICD10CM, Code: "O14.13"},
		"miss": {System: codes.ICD10CM, Code: "Z3A.39"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				matchDiagnosis(c, &d, maps)
			}
		})
	}
}

func BenchmarkMatchSignal(b *testing.B) {
	c := Default()
	maps := newMappings([]Mapping{{System: codes.SystemLocal, Code: "X", Factor: 1}})
	for name, s := range map[string]Signal{
		"hit":          {Kind: KindMedication, System: codes.RxNorm, Code: "6585", Display: "magnesium sulfate"},
		"hit-display":  {Kind: KindMedication, System: codes.RxNorm, Code: "7512", Display: "Norepinephrine 4 mg/250 mL infusion"},
		"miss":         {Kind: KindLab, System: codes.LOINC, Code: "718-7"},
		"miss-display": {Kind: KindLab, System: codes.LOINC, Code: "718-7", Display: "Hemoglobin [Mass/volume] in Blood"},
		"category":     {Kind: KindObservation, System: codes.LOINC, Code: "32421-5", Value: wordsValue("category ii")},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				matchSignal(c, &s, maps)
			}
		})
	}
}

func BenchmarkEvidence(b *testing.B) {
	c := Default()
	at := Instant(1_700_000_000_000)
	said := &statementsByCode{}
	e := &evidenceInput{
		from: []*statementsByCode{said},
		diagnoses: []diagnosed{
			{Diagnosis: Diagnosis{System: codes.ICD10CM, Code: "O14.13"}, Start: at, Last: at, Feed: ChannelHL7},
			{Diagnosis: Diagnosis{System: codes.ICD10CM, Code: "Z3A.39"}, Start: at, Last: at, Feed: ChannelHL7},
		},
		primaries: []Evidence{{Factor: 10, Kind: ByADT, Start: at, Last: at}},
	}
	for i := range Instant(8) {
		said.add(statement{matchedSignal: matchText(c, signalText{Kind: KindObservation, System: codes.LOINC, Code: "32421-5", Value: wordsValue("category ii")}, nil), ReceivedAt: at + i*600_000})
	}
	said.add(statement{matchedSignal: matchText(c, signalText{Kind: KindMedication, System: codes.RxNorm, Code: "6585"}, nil), ReceivedAt: at})
	said.add(statement{matchedSignal: matchText(c, signalText{Kind: KindMedication, System: codes.RxNorm, Code: "7044"}, nil), ReceivedAt: at})
	said.add(statement{matchedSignal: matchText(c, signalText{Kind: KindObservation, System: codes.LOINC, Code: "X", Display: "MEWS total", Value: numberValue(codes.Equal, 5000, "")}, nil), ReceivedAt: at})
	r := reader{c: c}
	b.ReportAllocs()
	for b.Loop() {
		foldEvidence(c, e, &r)
	}
}
