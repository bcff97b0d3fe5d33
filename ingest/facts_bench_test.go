package ingest

import (
	"crypto/sha256"
	"os"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest/hl7"
)

// BenchmarkFacts is an HL7 message to the facts of a record, with the pseudonyms
// of message, visit and patient. The baseline is what no one can leave out: the
// digest of the bytes, by which the message is known again.
func BenchmarkFacts(b *testing.B) {
	raw, err := os.ReadFile("hl7/testdata/bench_a01.hl7")
	if err != nil {
		b.Fatal(err)
	}
	const digests = 50_000
	began := time.Now()
	for range digests {
		sha256.Sum256(raw)
	}
	digest := float64(time.Since(began).Nanoseconds()) / digests
	p := NewPseudonyms([]byte("0123456789abcdef0123456789abcdef"))
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		b.Fatal(err)
	}
	o := hl7.Options{
		Pseudonym: func(dst []byte, kind string, value []byte) []byte { return p.Append(dst, "stmary", kind, value) },
		Zone:      zone, ReceivedAt: acuity.At(time.Date(2026, 3, 4, 15, 30, 0, 0, time.UTC)),
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	var m hl7.Message
	for b.Loop() {
		if err := m.Scan(raw, hl7.Charset{}); err != nil {
			b.Fatal(err)
		}
		if _, fault := m.Facts(o); fault != nil {
			b.Fatal(fault)
		}
	}
	each := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(digest, "sha256-ns")
	b.ReportMetric(each/digest, "x-sha256")
	b.ReportMetric(1e9/each, "messages/s")
}
