package hl7_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"svc/ingest/hl7"
)

// sample returns an admission of about 600 bytes. The function report adds a baseline to the benchmark: the time of a
// search for a byte that does not occur in the message.
func sample(b *testing.B) (raw []byte, report func()) {
	b.Helper()
	raw = must(os.ReadFile("testdata/bench_a01.hl7"))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	const passes = 200_000
	began := time.Now()
	for range passes {
		if bytes.IndexByte(raw, 0) >= 0 {
			b.Fatal("a zero byte in an HL7 message")
		}
	}
	pass := float64(time.Since(began).Nanoseconds()) / passes
	return raw, func() {
		each := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		b.ReportMetric(pass, "raw-ns")
		b.ReportMetric(each/pass, "x-raw")
		b.ReportMetric(1e9/each, "messages/s")
	}
}

// BenchmarkView measures scanning a message and reading the raw fields that an event needs.
func BenchmarkView(b *testing.B) {
	raw, report := sample(b)
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
	report()
}

// BenchmarkEvent measures decoding the event of a message, without the cost of real pseudonyms, which BenchmarkFacts
// in package ingest includes.
func BenchmarkEvent(b *testing.B) {
	raw, report := sample(b)
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
	report()
}
