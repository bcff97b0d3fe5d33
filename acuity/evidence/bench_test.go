package evidence

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

func BenchmarkEvidence(b *testing.B) {
	c := catalogue.Default()
	at := acuity.Instant(1_700_000_000_000)
	said := &Statements{}
	e := &Input{
		Statements: []*Statements{said},
		Diagnoses: []Diagnosis{
			{Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: "O14.13"}, Start: at, Last: at, Feed: acuity.ChannelHL7},
			{Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: "Z3A.39"}, Start: at, Last: at, Feed: acuity.ChannelHL7},
		},
		Primaries: []acuity.Evidence{{Factor: 10, Kind: acuity.ByADT, Start: at, Last: at}},
	}
	for i := range acuity.Instant(8) {
		said.Add(Statement{MatchedSignal: terminology.MatchText(c, terminology.SignalText{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "32421-5", Value: codes.Value{Kind: codes.ValueWords, Words: "category ii"}}, nil), ReceivedAt: at + i*600_000})
	}
	said.Add(Statement{MatchedSignal: terminology.MatchText(c, terminology.SignalText{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585"}, nil), ReceivedAt: at})
	said.Add(Statement{MatchedSignal: terminology.MatchText(c, terminology.SignalText{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "7044"}, nil), ReceivedAt: at})
	said.Add(Statement{MatchedSignal: terminology.MatchText(c, terminology.SignalText{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "X", Display: "MEWS total", Value: codes.NumberValue(5000, "")}, nil), ReceivedAt: at})
	r := terminology.Reader{Catalogue: c}
	b.ReportAllocs()
	for b.Loop() {
		Fold(e, &r)
	}
}
