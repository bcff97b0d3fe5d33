package acuity

import "testing"

func BenchmarkMatchDiagnosis(b *testing.B) {
	c := Default()
	rows := make([]Mapping, 0, 1000)
	for i := range 1000 {
		rows = append(rows, Mapping{System: SystemLocal, Code: "SITE_" + string(rune('A'+i%26)) + string(rune('A'+i/26)), Factor: 1})
	}
	maps := newMappings(rows)
	for name, d := range map[string]Diagnosis{
		"hit":  {System: ICD10CM, Code: "O14.13"},
		"miss": {System: ICD10CM, Code: "Z3A.39"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.matchDiagnosis(&d, maps)
			}
		})
	}
}

func BenchmarkMatchSignal(b *testing.B) {
	c := Default()
	maps := newMappings([]Mapping{{System: SystemLocal, Code: "X", Factor: 1}})
	for name, s := range map[string]Signal{
		"hit":          {Kind: KindMedication, System: RxNorm, Code: "6585", Display: "magnesium sulfate"},
		"hit-display":  {Kind: KindMedication, System: RxNorm, Code: "7512", Display: "Norepinephrine 4 mg/250 mL infusion"},
		"miss":         {Kind: KindLab, System: LOINC, Code: "718-7"},
		"miss-display": {Kind: KindLab, System: LOINC, Code: "718-7", Display: "Hemoglobin [Mass/volume] in Blood"},
		"category":     {Kind: KindObservation, System: LOINC, Code: "32421-5", Value: words("category ii")},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.matchSignal(&s, maps)
			}
		})
	}
}

func BenchmarkEvidence(b *testing.B) {
	c := Default()
	at := Instant(1_700_000_000_000)
	said := &threads{}
	e := &episode{
		from: []*threads{said},
		diagnoses: []diagnosed{
			{Diagnosis: Diagnosis{System: ICD10CM, Code: "O14.13"}, Start: at, Last: at, Feed: ChannelHL7},
			{Diagnosis: Diagnosis{System: ICD10CM, Code: "Z3A.39"}, Start: at, Last: at, Feed: ChannelHL7},
		},
		primaries: []Evidence{{Factor: 10, Kind: ByADT, Start: at, Last: at}},
	}
	for i := range Instant(8) {
		said.add(Heard{matchedSignal: c.matchText(signalText{Kind: KindObservation, System: LOINC, Code: "32421-5", Value: words("category ii")}, nil), ReceivedAt: at + i*600_000})
	}
	said.add(Heard{matchedSignal: c.matchText(signalText{Kind: KindMedication, System: RxNorm, Code: "6585"}, nil), ReceivedAt: at})
	said.add(Heard{matchedSignal: c.matchText(signalText{Kind: KindMedication, System: RxNorm, Code: "7044"}, nil), ReceivedAt: at})
	said.add(Heard{matchedSignal: c.matchText(signalText{Kind: KindObservation, System: LOINC, Code: "X", Display: "MEWS total", Value: number(Equal, 5000, "")}, nil), ReceivedAt: at})
	r := reader{c: c}
	b.ReportAllocs()
	for b.Loop() {
		c.settled(e, &r)
	}
}
