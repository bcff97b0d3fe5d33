package analysistest

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/analysis/inputlog"
	"svc/internal/stream"
)

// CPU returns the CPU time that the process has used.
func CPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// raw reads all records with kafka-go alone, and returns the number of records read per second.
func (b *Kafka) raw(l *inputlog.Log) float64 {
	b.TB.Helper()
	spans, err := l.Spans(b.TB.Context(), time.Time{}, time.Time{})
	if err != nil {
		b.TB.Fatal(err)
	}
	var n atomic.Int64
	began := time.Now()
	var g errgroup.Group
	for _, s := range spans {
		g.Go(func() error {
			return l.Read(b.TB.Context(), s, func(stream.Record) error { n.Add(1); return nil })
		})
	}
	if err := g.Wait(); err != nil {
		b.TB.Fatal(err)
	}
	return float64(n.Load()) / time.Since(began).Seconds()
}

// Peak is the largest heap size that [Peak.Watch] has measured, including the memory of the embedded broker.
type Peak struct{ bytes atomic.Int64 }

// Watch measures the heap until stop is called.
func (p *Peak) Watch() (stop func()) {
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

// PlainRead is the cost of reading the benchmark's records with kafka-go alone. Benchmarks report their own cost
// relative to it.
type PlainRead struct {
	rate  float64       // records per second
	spent time.Duration // processor time
}

// ReadPlain reads all records with kafka-go alone, and returns the cost.
func ReadPlain(b *testing.B, bed *Kafka, l *inputlog.Log) PlainRead {
	b.Helper()
	spent := CPU(b)
	rate := bed.raw(l)
	return PlainRead{rate, CPU(b) - spent}
}

// Report reports the cost of b.N iterations next to the cost of the plain read. Each iteration processes n items, and
// unit is the plural noun for these items, such as "records". spent is the CPU time of all iterations.
func (a PlainRead) Report(b *testing.B, n float64, unit string, spent time.Duration, heap *Peak) {
	b.Helper()
	rate := n * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, unit+"/s")
	b.ReportMetric(a.rate, "raw-records/s")
	b.ReportMetric(rate/a.rate, "of-raw")
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/n, "cpu-ns/"+unit[:len(unit)-1])
	b.ReportMetric(float64(a.spent.Nanoseconds())/n, "raw-cpu-ns/record")
	b.ReportMetric(float64(heap.bytes.Load())/(1<<20), "heap-MB")
}
