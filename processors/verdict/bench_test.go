package verdict

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/internal/testkit/loadgen"
	"svc/schemas"
)

// quiet is a view that ignores its charts.
type quiet struct{}

func (q quiet) Own(int32, int64, []Chart) OwnedView { return q }
func (quiet) Show(int64, []Chart)                   {}
func (quiet) Disown()                               {}

// ownedTask returns a restored task for a partition without state.
func ownedTask(tb testing.TB) stream.Task {
	tb.Helper()
	task := Tasks(quiet{})(0)
	if _, err := task.Restored(); err != nil {
		tb.Fatal(err)
	}
	return task
}

var morning = acuity.At(time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC))

// inputs returns n observation records of one partition.
func inputs(tb testing.TB, n, hospitals int, step time.Duration) []stream.Record {
	tb.Helper()
	feeds := loadgen.New(hospitals, 20, morning, step)
	records := make([]stream.Record, n)
	for i := range records {
		o := feeds.Next()
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			tb.Fatal(err)
		}
		records[i] = stream.Record{Offset: int64(i), Key: []byte(schemas.ObservationKey(o).String()), Value: value, Timestamp: o.ReceivedAt.Time()}
	}
	return records
}

// cpu returns the processor time that the process has used. Unlike wall time, it shows the cost of
// the work on a shared machine.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// live returns the number of heap bytes in use after a garbage collection.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkTask measures the processor without Kafka: decoding a record, applying it, and encoding the change, the
// changed state and the charts for the view. A transaction has 208 records: 5,000 records divided among 24
// partitions.
func BenchmarkTask(b *testing.B) {
	const n, hospitals, perCommit = 21_667, 13, 208
	records := inputs(b, n, hospitals, 12*time.Hour/n)
	task := ownedTask(b)
	before := live()
	written, outputs, done := 0, 0, 0
	b.ReportAllocs()
	spent := cpu(b)
	for b.Loop() {
		if done == len(records) { // the 12-hour shift has ended, and a new one begins
			task, done = ownedTask(b), 0
		}
		if err := task.Apply(records[done]); err != nil {
			b.Fatal(err)
		}
		if done++; done%perCommit != 0 {
			continue
		}
		if err := task.Outputs(func(key, value []byte) { written += len(key) + len(value); outputs++ }); err != nil {
			b.Fatal(err)
		}
		task.Committed()
	}
	spent = cpu(b) - spent
	b.ReportMetric(float64(live()-before)/hospitals, "live-B/hospital") // includes the facts from all inputs of the current shift
	runtime.KeepAlive(task)
	runtime.KeepAlive(records)
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(written)/float64(b.N), "written-B/op")
	b.ReportMetric(float64(outputs)/float64(b.N), "outputs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkCheckpoint iterates over the live state of a partition, one hospital at a time. Senders wait for the
// longest of these iterations, not for the whole checkpoint.
func BenchmarkCheckpoint(b *testing.B) {
	const n, hospitals = 20_000, 25
	task := Tasks(nil)(0)
	for _, r := range inputs(b, n, hospitals, 12*time.Hour/n) {
		if err := task.Apply(r); err != nil {
			b.Fatal(err)
		}
	}
	if err := task.Outputs(func(_, _ []byte) {}); err != nil {
		b.Fatal(err)
	}
	var longest time.Duration
	written := 0
	for b.Loop() {
		written = 0
		for next, more := task.Live(), true; more; {
			began := time.Now()
			var err error
			if more, err = next(func(key, value []byte) { written += len(key) + len(value) }); err != nil {
				b.Fatal(err)
			}
			longest = max(longest, time.Since(began))
		}
	}
	b.SetBytes(int64(written))
	b.ReportMetric(float64(longest.Nanoseconds()), "longest-piece-ns")
	b.ReportMetric(float64(written)/hospitals, "written-B/hospital")
}
