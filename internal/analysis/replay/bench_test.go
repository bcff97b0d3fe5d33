package replay_test

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/analysis/replay"
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

// raw reads all records by the library alone and returns the records per second.
func (b *testKafka) raw(l *replay.Log) float64 {
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

// BenchmarkExport exports the observations of a few hospitals, beside a plain reading of the
// same records by kafka-go.
func BenchmarkExport(b *testing.B) {
	const n = 400_000
	bed := newTestKafka(b)
	bed.put(shifts(n, 6, 2*time.Second))
	l := bed.log()
	for _, f := range replay.Formats() {
		b.Run(string(f), func(b *testing.B) {
			raw := readPlain(b, bed, l)
			var heap peak
			stop := heap.watch()
			bytes := int64(0)
			spent := cpu(b)
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
			raw.report(b, n, "records", spent, &heap)
			b.ReportMetric(float64(bytes)/n, "written-B/record")
		})
	}
}

// peak is the largest heap while it was watched, with the memory of the embedded broker.
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

// export returns an export of all observations.
func export(l *replay.Log, f replay.Format) *replay.Export {
	return &replay.Export{Table: replay.Tables()[0], Topic: schemas.Observations().Name, Format: f, Read: l.Read, Spans: l.Spans}
}

// plainRead is a plain reading of the benchmark's records by kafka-go. Results are reported as a
// ratio to it.
type plainRead struct {
	rate  float64       // records per second
	spent time.Duration // of processor time
}

func readPlain(b *testing.B, bed *testKafka, l *replay.Log) plainRead {
	b.Helper()
	spent := cpu(b)
	rate := bed.raw(l)
	return plainRead{rate, cpu(b) - spent}
}

// report reports the cost of n records an iteration, beside the plain reading.
func (a plainRead) report(b *testing.B, n float64, unit string, spent time.Duration, heap *peak) {
	b.Helper()
	rate := n * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, unit+"/s")
	b.ReportMetric(a.rate, "raw-records/s")
	b.ReportMetric(rate/a.rate, "of-raw")
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/n, "cpu-ns/"+unit[:len(unit)-1])
	b.ReportMetric(float64(a.spent.Nanoseconds())/n, "raw-cpu-ns/record")
	b.ReportMetric(float64(heap.bytes.Load())/(1<<20), "heap-MB")
}

// BenchmarkReplay makes the verdicts again and writes them as Parquet, for all six hospitals and
// for one. It counts inputs that are folded, and not inputs that are skipped.
func BenchmarkReplay(b *testing.B) {
	const n, hospitals = 120_000, 6
	bed := newTestKafka(b)
	list := shifts(n, hospitals, 6*time.Second)
	bed.put(list)
	for name, row := range map[string]struct {
		hospitals []string
		events    int
	}{
		"all": {nil, n},
		"one": {[]string{"h001"}, len(observationsOf("h001", list))},
	} {
		b.Run(name, func(b *testing.B) {
			raw := readPlain(b, bed, bed.log())
			var heap peak
			stop := heap.watch()
			spent := cpu(b)
			for b.Loop() {
				r := bed.rerun(row.hospitals...)
				rows, err := r.WriteFolder(b.Context(), b.TempDir(), replay.Parquet)
				if err != nil || rows < int64(row.events) {
					b.Fatal(rows, err)
				}
			}
			spent = cpu(b) - spent
			stop()
			raw.report(b, float64(row.events), "events", spent, &heap)
		})
	}
}

// BenchmarkVerify verifies changelog and view of one month of a hospital of 12 rooms with an
// input every 40 seconds. A year is reported as 365/30 months: the time grows with the inputs
// and the days.
func BenchmarkVerify(b *testing.B) {
	const n, monthsInYear = 30 * 24 * 3600 / 40, 365.0 / 30
	bed := newTestKafka(b)
	lived := live(b, shifts(n, 1, 40*time.Second))
	lived.verify(bed)
	raw := readPlain(b, bed, bed.log())
	var heap peak
	stop := heap.watch()
	spent := cpu(b)
	for b.Loop() {
		report, err := lived.verifier(bed).Round(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if d := report.First(); d != nil || report.Pending != 0 || report.Hospitals[0].Inputs != n {
			b.Fatal(d, report)
		}
	}
	spent = cpu(b) - spent
	stop()
	raw.report(b, n, "events", spent, &heap)
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*monthsInYear, "s/year")
}
