package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/schemas"
)

// BenchmarkCatchUp measures how fast a processor catches up with a 12-hour shift of 300 hospitals with 20 rooms each:
// 500,000 observations in 24 partitions. The baseline copies the same records in transactions of 100 ms, without
// decoding them.
//
// Both runs use a warm broker: it has already served one processor and five baseline runs, each of which read the
// same 300,000 records of another topic. During its first minutes on a machine with two CPUs, a broker spent more
// than half of its CPU time in Java's just-in-time compiler; a broker in operation does not spend that time. The
// warm-up removes only part of the compile time. The rest is reported as compile-us/record and is included in
// broker-us/record; if compile-us/record is high, the reported records per second are too low.
//
// Two more figures explain the rate. idle-us/record is the idle time of all CPUs of the machine, which is an upper
// bound for what more parallel work could gain. stalled-us/record is the time for which runnable threads of svc
// waited for a CPU; only less work reduces it.
func BenchmarkCatchUp(b *testing.B) {
	const partitions, records, hospitals, rooms = 24, 500_000, 300, 20
	warmUp(b, partitions, hospitals, rooms)
	s := bench(b, partitions)
	s.fill(b, partitions, records, hospitals, rooms, 12*time.Hour/records)
	for b.Loop() {
		s.catchUp(b, partitions, records)
	}
}

// warmUp makes the broker serve one processor and five baseline runs, on topics that the measurement does not use.
func warmUp(b *testing.B, partitions int32, hospitals, rooms int) {
	b.Helper()
	const records = 300_000
	s := bench(b, int(partitions))
	s.fill(b, partitions, records, hospitals, rooms, 12*time.Hour/records)
	n, private := s.measured("warm")
	n.rate(b, private, records)
	n.stop()
	for i := range 5 {
		s.copyRaw(b, fmt.Sprint("warm", i), 10*time.Millisecond, partitions, records)
	}
}

// catchUp measures the baseline and then the processor.
func (s *system) catchUp(b *testing.B, partitions int32, records int) {
	b.Helper()
	raw := s.copyRaw(b, "raw", 100*time.Millisecond, partitions, records)
	broker, compiled := s.kafka.busy(b), s.kafka.compiling(b)
	n, private := s.measured("measured")
	ours, left := n.rate(b, private, records)
	broker, compiled = s.kafka.busy(b)-broker, s.kafka.compiling(b)-compiled
	b.ReportMetric(ours, "records/s")
	b.ReportMetric(raw, "raw-records/s")
	b.ReportMetric(100*ours/raw, "%-of-raw")
	b.ReportMetric(n.busy(b).Seconds()*1e6/float64(records), "cpu-us/record")
	b.ReportMetric(left.Seconds()*1e6/float64(records), "idle-us/record")
	b.ReportMetric(n.stalled(b).Seconds()*1e6/float64(records), "stalled-us/record")
	b.ReportMetric(broker.Seconds()*1e6/float64(records), "broker-us/record")
	b.ReportMetric(compiled.Seconds()*1e6/float64(records), "compile-us/record") // CPU time of the broker's just-in-time compiler
	b.ReportMetric(n.status(b, "VmHWM"), "peak-MiB")
	machineLoad(b)
	n.stop()
}

// rate waits until a processor has applied the given number of records. It returns the records per second since the
// first transaction of the processor, and the idle time of the machine's CPUs since then.
func (n *node) rate(b *testing.B, private string, records int) (perSecond float64, left time.Duration) {
	b.Helper()
	first, began := 0.0, time.Time{}
	for {
		done, err := figure(private, "svc_process_records_total")
		if now := time.Now(); err == nil && done > 0 && began.IsZero() {
			first, began, left = done, now, idle(b)
		} else if err == nil && done >= float64(records) {
			return (done - first) / now.Sub(began).Seconds(), idle(b) - left
		}
		select {
		case <-n.exited:
			b.Fatalf("the processor ended:\n%s", n.logged())
		case <-time.After(200 * time.Millisecond): // each poll costs the process about 2 ms, because it serves all its metrics
		}
	}
}

// copyRaw is the baseline: it copies the observations to a new topic in transactions. The parameter turn is the
// duration of each transaction. copyRaw returns the records per second, counted from the first poll that returns a
// record.
func (s *system) copyRaw(b *testing.B, name string, turn time.Duration, partitions int32, records int) float64 {
	b.Helper()
	to := s.topic(b, name+"-copy", partitions)
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(s.kafka.address), kgo.AlwaysRetryEOF(),
		kgo.ConsumerGroup(s.prefix+name), kgo.TransactionalID(s.prefix+name),
		kgo.ConsumeTopics(s.prefix+schemas.Observations().Name), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.ConcurrentTransactionsBackoff(time.Millisecond),
	)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var began time.Time
	for done := 0; done < records; {
		if err := session.Begin(); err != nil {
			b.Fatal(err)
		}
		since := time.Now()
		for count := 0; count == 0 || time.Since(since) < turn && done < records; {
			fetches := session.PollRecords(ctx, 10_000)
			if ctx.Err() != nil {
				b.Fatal(ctx.Err())
			}
			if began.IsZero() && fetches.NumRecords() > 0 {
				began = time.Now()
				since = began
			}
			fetches.EachRecord(func(r *kgo.Record) {
				session.Produce(ctx, &kgo.Record{Topic: to, Partition: r.Partition, Key: r.Key, Value: r.Value}, nil)
			})
			count += fetches.NumRecords()
			done += fetches.NumRecords()
		}
		if ok, err := session.End(ctx, kgo.TryCommit); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
	return float64(records) / time.Since(began).Seconds()
}
