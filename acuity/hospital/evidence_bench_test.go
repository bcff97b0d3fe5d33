package hospital

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
	said := &statementsByCode{}
	e := &evidenceInput{
		from: []*statementsByCode{said},
		diagnoses: []diagnosis{
			{Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: "O14.13"}, Start: at, Last: at, Feed: acuity.ChannelHL7},
			{Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: "Z3A.39"}, Start: at, Last: at, Feed: acuity.ChannelHL7},
		},
		primaries: []acuity.Evidence{{Factor: 10, Kind: acuity.ByADT, Start: at, Last: at}},
	}
	for i := range acuity.Instant(8) {
		said.add(statement{MatchedSignal: terminology.MatchText(c, terminology.SignalText{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "32421-5", Value: wordsValue("category ii")}, nil), ReceivedAt: at + i*600_000})
	}
	said.add(statement{MatchedSignal: terminology.MatchText(c, terminology.SignalText{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585"}, nil), ReceivedAt: at})
	said.add(statement{MatchedSignal: terminology.MatchText(c, terminology.SignalText{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "7044"}, nil), ReceivedAt: at})
	said.add(statement{MatchedSignal: terminology.MatchText(c, terminology.SignalText{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "X", Display: "MEWS total", Value: numberValue(codes.Equal, 5000, "")}, nil), ReceivedAt: at})
	r := terminology.Reader{Catalogue: c}
	b.ReportAllocs()
	for b.Loop() {
		foldEvidence(e, &r)
	}
}
