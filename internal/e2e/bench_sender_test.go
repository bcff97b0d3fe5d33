package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// openLoop calls the function do at a steady pace, whether or not earlier calls have returned. It returns the
// duration of each call, measured from the instant at which the call was due, so that waiting for a slow system
// counts.
func openLoop(b *testing.B, perSecond int, lasting time.Duration, do func(n int) error) []time.Duration {
	b.Helper()
	var (
		mu    sync.Mutex
		took  []time.Duration
		fault error
		wait  sync.WaitGroup
	)
	n := int(lasting.Seconds() * float64(perSecond))
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		time.Sleep(time.Until(due))
		wait.Go(func() {
			err := do(i)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
			fault = errors.Join(fault, err)
		})
	}
	wait.Wait()
	if fault != nil {
		b.Fatal(fault)
	}
	return took[len(took)/10:] // the first calls are the warm-up
}

// sends returns a function that sends the feeds of a test load, from each partner in turn.
func sends(partners []*partner) func(n int) error {
	return func(n int) error {
		p := partners[n%len(partners)]
		path, body := request(rand.New(rand.NewPCG(1, uint64(n))), n%4, n/4)
		a, err := p.do(http.MethodPost, "/api/ingest/"+path, "application/json", body)
		if err != nil {
			return err
		}
		if a.status != http.StatusOK {
			return fmt.Errorf("%s: %d %s", path, a.status, a.raw)
		}
		return nil
	}
}

// BenchmarkSenderDev measures how long svc dev takes to respond with the effect of a record, at 300 requests per
// second.
func BenchmarkSenderDev(b *testing.B) {
	d := startDev(b, b.TempDir())
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	for b.Loop() {
		took := openLoop(b, 300, 10*time.Second, sends([]*partner{p}))
		b.ReportMetric(percentile(took, 50), "p50-ms")
		b.ReportMetric(percentile(took, 99), "p99-ms")
		machineLoad(b)
	}
}

// BenchmarkSenderKafka repeats BenchmarkSenderDev on a real Kafka at 500 requests per second. For comparison, bare
// clients append a record, copy it in a transaction, and read it with read_committed.
func BenchmarkSenderKafka(b *testing.B) {
	s := startSystem(b, "north", "south", "west")
	processor := s.processor("sender")
	defer processor.stop()
	for _, p := range s.partners {
		eventually(b, time.Minute, func() error { return sends([]*partner{p})(0) })
	}
	append, stop := s.rawLoop(b)
	defer stop()
	for b.Loop() {
		compareSenders(b, append, sends(s.partners))
	}
}

// compareSenders alternates between the bare clients and svc, and reports the fastest turn of each, because the machine
// may have other work. The first turns are the warm-up: a fresh broker is tens of times slower, and becomes faster with
// each turn.
func compareSenders(b *testing.B, bare, ours func(n int) error) {
	b.Helper()
	const warming, counted = 2, 3
	best := map[string]float64{}
	for turn := range warming + counted {
		for _, side := range []struct {
			name string
			do   func(int) error
		}{{"raw-", bare}, {"", ours}} {
			took := openLoop(b, 500, 5*time.Second, side.do)
			if turn < warming {
				continue
			}
			for _, p := range []int{50, 99} {
				unit := side.name + "p" + strconv.Itoa(p) + "-ms"
				if ms := percentile(took, p); best[unit] == 0 || ms < best[unit] {
					best[unit] = ms
				}
			}
		}
	}
	for unit, ms := range best {
		b.ReportMetric(ms, unit)
	}
	b.ReportMetric(best["p50-ms"]/best["raw-p50-ms"], "x-raw-p50")
	b.ReportMetric(best["p99-ms"]/best["raw-p99-ms"], "x-raw-p99")
	machineLoad(b)
}

// rawLoop is the baseline for the response time: three bare clients that append a record, copy it in a transaction,
// and read the copy. The copying client commits after each poll, as a processor in this configuration does.
func (s *system) rawLoop(b *testing.B) (do func(n int) error, stop func()) {
	b.Helper()
	in, out := s.topic(b, "raw-in", partitions), s.topic(b, "raw-out", partitions)
	producer := s.client(b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup

	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(s.kafka.address), kgo.AlwaysRetryEOF(), kgo.ConsumerGroup(s.prefix+"raw"), kgo.TransactionalID(s.prefix+"raw"),
		kgo.ConsumeTopics(in), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.ConcurrentTransactionsBackoff(time.Millisecond),
	)
	if err != nil {
		b.Fatal(err)
	}
	loops.Go(func() {
		for ctx.Err() == nil {
			fetches := session.PollRecords(ctx, 500)
			if fetches.NumRecords() == 0 {
				continue
			}
			if err := session.Begin(); err != nil {
				b.Error(err)
				return
			}
			fetches.EachRecord(func(r *kgo.Record) {
				session.Produce(context.Background(), &kgo.Record{Topic: out, Partition: r.Partition, Key: r.Key, Value: r.Value}, nil)
			})
			if _, err := session.End(context.Background(), kgo.TryCommit); err != nil {
				b.Error(err)
				return
			}
		}
	})

	var waiting sync.Map // keys are record values, values are of type chan struct{}
	from := map[int32]kgo.Offset{}
	for n := range int32(partitions) {
		from[n] = kgo.NewOffset().AtStart()
	}
	reader := s.client(b, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{out: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	loops.Go(func() {
		for ctx.Err() == nil {
			reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				if done, ok := waiting.LoadAndDelete(string(r.Value)); ok {
					close(done.(chan struct{})) //nolint:errcheck // the map contains only channels of this type
				}
			})
		}
	})

	do = func(n int) error {
		value, done := uuid.NewString(), make(chan struct{})
		waiting.Store(value, done)
		produced := producer.ProduceSync(ctx, &kgo.Record{Topic: in, Partition: int32(n % partitions), Value: []byte(value)})
		if err := produced.FirstErr(); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-time.After(20 * time.Second):
			return errors.New("a record of the baseline did not come back")
		}
	}
	if err := do(0); err != nil {
		b.Fatal(err)
	}
	return do, func() {
		cancel()
		loops.Wait()
		session.Close()
	}
}
