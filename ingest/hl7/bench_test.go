package hl7_test

import (
	"os"
	"testing"

	"svc/ingest/hl7"
)

func sample(b *testing.B) []byte {
	b.Helper()
	raw := must(os.ReadFile("testdata/bench_a01.hl7"))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	return raw
}

// The view, and the fields that an event is made of, as they stand in the message.
func BenchmarkView(b *testing.B) {
	raw := sample(b)
	var m hl7.Message
	for b.Loop() {
		if err := m.Scan(raw, hl7.Charset{}); err != nil {
			b.Fatal(err)
		}
		for _, f := range []struct {
			name string
			n    int
		}{{"MSH", 9}, {"MSH", 10}, {"EVN", 2}, {"PID", 3}, {"PV1", 2}, {"PV1", 3}, {"PV1", 6}, {"PV1", 19}} {
			if len(m.Raw(f.name, f.n)) == 0 && f.n != 6 {
				b.Fatal(f)
			}
		}
	}
}

func BenchmarkFacts(b *testing.B) {
	raw := sample(b)
	o := options
	o.Pseudonym = func(dst []byte, _ string, value []byte) []byte { return append(dst, value[:min(24, len(value))]...) }
	var m hl7.Message
	for b.Loop() {
		if err := m.Scan(raw, hl7.Charset{}); err != nil {
			b.Fatal(err)
		}
		if _, fault := m.Facts(o); fault != nil {
			b.Fatal(fault)
		}
	}
}
