package ingest

import (
	"crypto/sha256"
	"os"
	"testing"
	"time"

	"svc/acuity"
	"svc/ingest/hl7"
)

// BenchmarkFacts turns an HL7 message into the facts of a record, with the pseudonyms for message, visit and patient.
// It also measures, in alternation:
//
//   - floor-ns: only the SHA-256 compressions that these pseudonyms need. No program can omit them. x-floor is the
//     total time as a multiple of floor-ns.
//   - plain-ns: the facts without any pseudonym. The rest of the time is the code around the compressions.
func BenchmarkFacts(b *testing.B) {
	raw, err := os.ReadFile("hl7/testdata/bench_a01.hl7")
	if err != nil {
		b.Fatal(err)
	}
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		b.Fatal(err)
	}
	const hospital = "stmary"
	p := NewPseudonyms([]byte("0123456789abcdef0123456789abcdef"))
	o := hl7.Options{
		Pseudonym: func(dst []byte, kind string, value []byte) []byte { return p.Append(dst, hospital, kind, value) },
		Zone:      zone, ReceivedAt: acuity.At(time.Date(2026, 3, 4, 15, 30, 0, 0, time.UTC)),
	}
	var m hl7.Message
	facts := func(o hl7.Options) {
		if err := m.Scan(raw, hl7.Charset{}); err != nil {
			b.Fatal(err)
		}
		if _, fault := m.Facts(o); fault != nil {
			b.Fatal(fault)
		}
	}
	var compressions []int // number of compressions for each hash
	counting, plain := o, o
	counting.Pseudonym = func(dst []byte, kind string, value []byte) []byte {
		const padding = 9 // the minimum number of bytes that SHA-256 adds
		n := len(hospital) + 1 + len(kind) + 1 + len(value) + padding
		compressions = append(compressions, (n+sha256.BlockSize-1)/sha256.BlockSize, 1) // inner and outer hash
		return p.Append(dst, hospital, kind, value)
	}
	facts(counting)
	text := []byte("a text of twenty-four ch")
	plain.Pseudonym = func(dst []byte, _ string, _ []byte) []byte { return append(dst, text...) }
	blocks := make([]byte, len(raw)+4*sha256.BlockSize)
	digest := sha256.New()
	var floorTook, plainTook time.Duration
	const turn = 500
	beside := func() {
		began := time.Now()
		for range turn {
			for _, n := range compressions {
				digest.Write(blocks[:n*sha256.BlockSize])
			}
		}
		between := time.Now()
		for range turn {
			facts(plain)
		}
		floorTook += between.Sub(began)
		plainTook += time.Since(between)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	turns := 0
	for n := 0; b.Loop(); n++ {
		if n%turn == 0 {
			b.StopTimer()
			beside()
			turns++
			b.StartTimer()
		}
		facts(o)
	}
	each := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	floor := float64(floorTook.Nanoseconds()) / float64(turns*turn)
	b.ReportMetric(floor, "floor-ns")
	b.ReportMetric(each/floor, "x-floor")
	b.ReportMetric(float64(plainTook.Nanoseconds())/float64(turns*turn), "plain-ns")
	b.ReportMetric(1e9/each, "messages/s")
}
