package replay_test

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/replay"
	"svc/internal/stream"
	"svc/schemas"
)

// cpu is the processor time that the process has taken.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// raw reads all records by the library alone, and returns how many in a second.
func (b *bed) raw(l *replay.Log) float64 {
	b.tb.Helper()
	spans, err := l.Spans(b.tb.Context(), time.Time{}, time.Time{})
	if err != nil {
		b.tb.Fatal(err)
	}
	var n atomic.Int64
	began := time.Now()
	var g errgroup.Group
	for _, s := range spans {
		g.Go(func() error {
			return l.Read(b.tb.Context(), s, func(stream.Record) error { n.Add(1); return nil })
		})
	}
	if err := g.Wait(); err != nil {
		b.tb.Fatal(err)
	}
	return float64(n.Load()) / time.Since(began).Seconds()
}

// BenchmarkExport writes the observations of a few hospitals to Parquet, beside
// a reading of the same records by kafka-go that does nothing with them.
func BenchmarkExport(b *testing.B) {
	const n = 400_000
	bed := newBed(b)
	bed.put(shifts(n, 6, 2*time.Second))
	l := bed.log()
	for _, f := range replay.Formats() {
		b.Run(string(f), func(b *testing.B) {
			spent := cpu(b)
			raw := bed.raw(l)
			rawSpent := cpu(b) - spent
			var peak peak
			stop := peak.watch()
			bytes := int64(0)
			spent = cpu(b)
			for b.Loop() {
				m, err := export(l, f).Run(b.Context(), b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				if m.Counts.Rows != n {
					b.Fatalf("%d rows", m.Counts.Rows)
				}
				bytes = 0
				for i := range m.Files {
					bytes += m.Files[i].Bytes
				}
			}
			stop()
			spent = cpu(b) - spent
			rate := n * float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "records/s")
			b.ReportMetric(raw, "raw-records/s")
			b.ReportMetric(float64(rawSpent.Nanoseconds())/n, "raw-cpu-ns/record")
			b.ReportMetric(rate/raw, "of-raw")
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/n, "cpu-ns/record")
			b.ReportMetric(float64(bytes)/n, "written-B/record")
			b.ReportMetric(float64(peak.bytes.Load())/(1<<20), "heap-MB")
		})
	}
}

// peak is the most memory that the heap had while it was watched: that of the
// embedded broker too.
type peak struct{ bytes atomic.Int64 }

func (p *peak) watch() (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			p.bytes.Store(max(p.bytes.Load(), int64(m.HeapInuse)))
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() { close(done); <-ended }
}

// export is one of all observations.
func export(l *replay.Log, f replay.Format) *replay.Export {
	return &replay.Export{Table: replay.Tables()[0], Topic: schemas.Observations().Name, Format: f, Read: l.Read, Spans: l.Spans}
}
