package schemas

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

const noon = acuity.Instant(1_772_000_000_000)

func clinical(signals int) *acuity.Observation {
	o := &acuity.Observation{
		Hospital: "st-example", ReceivedAt: noon, Channel: acuity.ChannelClinical, Source: "key_0123456789abcdef",
		Room: &acuity.RoomRef{ID: 12, Label: "L12"},
	}
	for range signals {
		o.Signals = append(o.Signals, acuity.Signal{
			Room: 12, Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585", Display: "magnesium sulfate",
			Value:      codes.Value{Kind: codes.ValueNumber, Number: 2000, Unit: "g/h"},
			ObservedAt: noon - 1000, StartedAt: noon - 60_000,
		})
	}
	return o
}

func admit() *acuity.Observation {
	return &acuity.Observation{
		Hospital: "st-example", ReceivedAt: noon, Channel: acuity.ChannelHL7, Source: "key_0123456789abcdef",
		Events: []acuity.Event{{
			ID: "4c5d2f0a9b8e7d6c5b4a39281706f5e4", Digest: "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
			Type: acuity.A01, At: noon - 5000, RecordedAt: noon - 4000,
			Visit: "v9d8c7b6a5f4e3d2c1b0", Patient: "p0f1e2d3c4b5a6978", Class: 'I', AdmissionType: 'L', Service: "OBS",
			Place:         acuity.Location{PointOfCare: "L&D", Room: "12", Bed: "1"},
			DiagnosisMode: acuity.DiagnosisSnapshot,
			Diagnoses:     []acuity.Diagnosis{{System: codes.ICD10CM, Code: "O14.13", Display: "Severe pre-eclampsia, third trimester"}},
		}},
	}
}

func quiet() *acuity.Change {
	return &acuity.Change{
		Hospital: "st-example", Version: 123_456, Offset: 987_654, AppliedAt: noon, Level: acuity.LevelYellow,
		Active: []catalogue.Factor{1, 20, 30},
	}
}

func loud() *acuity.Change {
	c := quiet()
	c.Effects = []acuity.Effect{
		{Kind: acuity.LevelChanged, Level: acuity.LevelOrange, Prior: acuity.LevelYellow, Ratio: 85, Shortfall: 2},
		{
			Kind: acuity.RoomRescored, RoomID: 12, RoomLabel: "L12", Color: acuity.ColorRed, PriorColor: acuity.ColorYellow,
			Score: 80, Factors: []catalogue.Factor{1, 20, 30}, Nursing: "1:1",
		},
	}
	c.Activated = []acuity.FactorChange{{RoomID: 12, RoomLabel: "L12", Factor: 30, Ratio: "1:1", Since: noon, Kind: acuity.BySignal}}
	return c
}

func chart() *acuity.RoomChart {
	evidence := acuity.Evidence{
		Factor: 30, Kind: acuity.BySignal, Start: noon - 60_000, Last: noon,
		Source: acuity.Source{Feed: acuity.ChannelClinical, System: codes.RxNorm, Code: "6585"},
	}
	return &acuity.RoomChart{
		ID: 12, Label: "L12", Area: "labor", Status: acuity.RoomOccupied, Listed: true, NewestSignal: noon,
		Patients: []acuity.PatientChart{{
			Visit: "v9d8c7b6a5f4e3d2c1b0", Arrived: noon - 3_600_000, Mother: true,
			Evidence: []acuity.Evidence{evidence, evidence, evidence},
		}},
	}
}

func benchEncode[T any](b *testing.B, v T, encode func([]byte, T) ([]byte, error)) {
	b.Helper()
	buf, err := encode(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(buf)), "bytes")
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = encode(buf[:0], v); err != nil {
			b.Fatal(err)
		}
	}
}

func benchDecode[T any](b *testing.B, v T, encode func([]byte, T) ([]byte, error), decode func([]byte) error) {
	b.Helper()
	buf, err := encode(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := decode(buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkObservationEncode(b *testing.B) {
	b.Run("signals=1", func(b *testing.B) { benchEncode(b, clinical(1), EncodeObservation) })
	b.Run("signals=3", func(b *testing.B) { benchEncode(b, clinical(3), EncodeObservation) })
	b.Run("admit", func(b *testing.B) { benchEncode(b, admit(), EncodeObservation) })
}

func BenchmarkObservationDecode(b *testing.B) {
	decode := func(buf []byte) error { _, err := observationCodec.Decode(buf); return err }
	b.Run("signals=1", func(b *testing.B) { benchDecode(b, clinical(1), EncodeObservation, decode) })
	b.Run("signals=3", func(b *testing.B) { benchDecode(b, clinical(3), EncodeObservation, decode) })
	b.Run("admit", func(b *testing.B) { benchDecode(b, admit(), EncodeObservation, decode) })
}

func BenchmarkChangeEncode(b *testing.B) {
	b.Run("quiet", func(b *testing.B) { benchEncode(b, quiet(), ChangeCodec.Encode) })
	b.Run("effects=2", func(b *testing.B) { benchEncode(b, loud(), ChangeCodec.Encode) })
}

func BenchmarkChangeDecode(b *testing.B) {
	decode := func(buf []byte) error { _, err := ChangeCodec.Decode(buf); return err }
	b.Run("quiet", func(b *testing.B) { benchDecode(b, quiet(), ChangeCodec.Encode, decode) })
	b.Run("effects=2", func(b *testing.B) { benchDecode(b, loud(), ChangeCodec.Encode, decode) })
	b.Run("peek", func(b *testing.B) {
		benchDecode(b, loud(), ChangeCodec.Encode, func(buf []byte) error { _, err := PeekChange(buf); return err })
	})
}

func BenchmarkRoomChart(b *testing.B) {
	b.Run("encode", func(b *testing.B) { benchEncode(b, chart(), RoomChartCodec.Encode) })
	b.Run("decode", func(b *testing.B) {
		var room acuity.RoomChart
		benchDecode(b, chart(), RoomChartCodec.Encode, func(buf []byte) error { return RoomChartCodec.DecodeInto(buf, &room) })
	})
}

func BenchmarkPartition(b *testing.B) {
	key := []byte("st-example/room/12")
	for b.Loop() {
		Partition(key, 48)
	}
}
