package stream

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// filled is the number of inputs that the benchmarks read.
const filled = 200_000

// fill appends inputs of 200 bytes each, in small batches.
func fill(tb testing.TB, c *Cluster) {
	tb.Helper()
	value := make([]byte, 200)
	for i := range filled {
		c.client.Produce(tb.Context(), &kgo.Record{Topic: inTopic, Partition: int32(i % parts), Key: []byte("k"), Value: value},
			func(_ *kgo.Record, err error) {
				if err != nil {
					tb.Error(err)
				}
			})
	}
	if err := c.client.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// copier writes each input to the changelog, and nothing else.
type copier struct {
	counter
	out [][]byte
}

func (c *copier) Restore(Record) error { c.next++; return nil }

func (c *copier) Apply(r Record) error {
	c.next = r.Offset + 1
	c.out = append(c.out, r.Value)
	return nil
}

func (c *copier) Outputs(emit func(key, value []byte)) error {
	for _, value := range c.out {
		emit([]byte("in"), value)
	}
	c.out = c.out[:0]
	return nil
}

// BenchmarkCatchUp measures how many inputs per second a loop with a trivial task applies when it catches up.
func BenchmarkCatchUp(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		broker, c := embedded(b, b.TempDir())
		fill(b, c)
		b.StartTimer()
		var stats Stats
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() {
			done <- c.Process(ctx, Config{
				Group: "g", Instance: "one", Input: inTopic, Changelog: logTopic, Stats: &stats,
				NewTask: func(int32) Task { return new(copier) },
			})
		}()
		for stats.Records.Load() < filled {
			time.Sleep(time.Millisecond)
		}
		b.StopTimer()
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		c.Close()
		broker.Close()
		b.StartTimer()
	}
	b.ReportMetric(filled*float64(b.N)/b.Elapsed().Seconds(), "inputs/s")
}

// BenchmarkBareCopy is the baseline of BenchmarkCatchUp: bare clients copy the same records without
// transactions, groups or tasks.
func BenchmarkBareCopy(b *testing.B) {
	broker, c := embedded(b, b.TempDir())
	defer broker.Close()
	defer c.Close()
	fill(b, c)
	for b.Loop() {
		from := map[int32]kgo.Offset{}
		for p := range int32(parts) {
			from[p] = kgo.NewOffset().AtStart()
		}
		reader, err := kgo.NewClient(c.with(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{inTopic: from}))...)
		if err != nil {
			b.Fatal(err)
		}
		for left := filled; left > 0; {
			fetches := reader.PollRecords(b.Context(), turnRecords)
			left -= fetches.NumRecords()
			fetches.EachRecord(func(r *kgo.Record) {
				c.client.Produce(b.Context(), &kgo.Record{Topic: logTopic, Partition: r.Partition, Key: []byte("in"), Value: r.Value}, nil)
			})
			if err := c.client.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		reader.Close()
	}
	b.ReportMetric(filled*float64(b.N)/b.Elapsed().Seconds(), "inputs/s")
}

// BenchmarkRestore measures how many bytes of changelog a restore reads per second.
func BenchmarkRestore(b *testing.B) {
	broker, c := embedded(b, b.TempDir())
	defer broker.Close()
	defer c.Close()
	fill(b, c)
	b.SetBytes(filled * 201)
	for b.Loop() {
		task := new(copier)
		if err := c.readTo(b.Context(), inTopic, nil, []int32{0, 1, 2}, func(r Record) error {
			if r.Partition == 0 {
				return task.Restore(r)
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}
