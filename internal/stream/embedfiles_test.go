package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/internal/stream/logfiles"
)

// onDisk starts a broker whose disk has the given number of free bytes.
func onDisk(t *testing.T, free *atomic.Uint64) (*Broker, *Cluster, *lines) {
	t.Helper()
	out := &lines{}
	b, err := Embed(BrokerOptions{
		Dir: filepath.Join(t.TempDir(), "kafka"), Log: slog.New(slog.NewTextHandler(out, nil)),
		free: func(string) (uint64, error) { return free.Load(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	c, err := Dial(t.Context(), Options{Brokers: []string{b.Addr()}, Log: slog.New(slog.DiscardHandler), Full: b.Full})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Ensure(t.Context(), Topic{Name: inTopic, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	return b, c, out
}

// On a full disk, a publisher rejects records at once and names the reason. Without this check, the broker refuses
// the records until the publisher's timeout. Both accept records again when space is free.
func TestFullDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(reserveBytes)
	b, c, out := onDisk(t, &free)
	in := c.Publisher(inTopic)
	if _, err := in.Append(t.Context(), []byte("k"), []byte("v"), 0); err != nil || b.Full() != nil {
		t.Fatal(err, b.Full())
	}
	free.Store(reserveBytes - 1)
	if _, err := in.Append(t.Context(), []byte("k"), []byte("v"), 0); !errors.Is(err, ErrAway) || !strings.Contains(err.Error(), "no space") {
		t.Errorf("on a full disk: %v", err)
	}
	c.full = nil // from here on, the client does not check the disk: it sends records until its timeout, and the broker refuses them
	done := make(chan error, 1)
	go func() {
		_, err := in.Append(t.Context(), []byte("k"), []byte("late"), 0)
		done <- err
	}()
	if err := <-done; !errors.Is(err, ErrAway) {
		t.Errorf("by the broker: %v", err)
	}
	free.Store(1 << 40)
	at, err := in.Append(t.Context(), []byte("k"), []byte("v"), 0)
	if err != nil || b.Full() != nil {
		t.Fatalf("with space again: %v, %v", err, b.Full())
	}
	if at.Offset != 1 {
		t.Errorf("the record is at %d: one that was refused is stored", at.Offset)
	}
	for _, line := range []string{`level=ERROR msg="no disk space"`, `msg="disk space available again"`} {
		if n := strings.Count(out.String(), line); n != 1 {
			t.Errorf("%d lines with %s in\n%s", n, line, out)
		}
	}
}

func TestFullDiskAtStart(t *testing.T) {
	b, err := Embed(BrokerOptions{Dir: t.TempDir(), free: func(string) (uint64, error) { return 1 << 20, nil }})
	if err == nil {
		b.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "no space") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// After a failed write, memory and disk may differ, so no record is accepted until the process
// restarts.
func TestFailedWrite(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	b, c, out := onDisk(t, &free)
	brokerLog{b}.Logf(kfake.LogLevelWarn, "persist batch %s-%d: %v", inTopic, 0, &os.PathError{Op: "write", Path: "0.dat", Err: syscall.EIO})
	if err := b.Full(); err == nil || !strings.Contains(err.Error(), "restart svc dev") || !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if _, err := c.Publisher(inTopic).Append(t.Context(), nil, nil, 0); !errors.Is(err, ErrAway) {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "disk write failed") {
		t.Error(out)
	}
}

// cut removes the last batches from the first file of a partition. In these tests, each partition has only this file.
func cut(t *testing.T, dir, partition string, batches int) {
	t.Helper()
	name := filepath.Join(dir, "partitions", partition, "0.dat")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{0}
	for at := 0; at < len(raw); ends = append(ends, at) {
		at += 12 + int(binary.BigEndian.Uint32(raw[at+8:]))
	}
	if len(ends) <= batches+1 {
		t.Fatalf("%s has %d batches", partition, len(ends)-1)
	}
	if err := os.Truncate(name, int64(ends[len(ends)-1-batches])); err != nil {
		t.Fatal(err)
	}
}

// When the machine crashes, each log may lose a different number of records at its end. The changelog is recomputed
// from the input. If an input was lost, its results are kept and its offset is not reused.
func TestLostEnds(t *testing.T) {
	for name, lost := range map[string]map[string]int{
		"of the changelog": {"log-0": 1, "log-1": 2},
		"of the input":     {"in-0": 3, "in-2": 9},
		"of both":          {"in-0": 2, "log-1": 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kafka")
			b, c := embedded(t, dir)
			r := &rig{t: t, cluster: c, log: slog.New(slog.DiscardHandler), lines: &lines{}}
			stop := r.process(c, Config{Instance: "dev"})
			const before, after = 60, 30
			r.send(before)
			r.await("applied", int64(before), r.applied)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			c.Close()
			b.Close()
			for partition, batches := range lost {
				cut(t, dir, partition, batches)
			}
			b, c = embedded(t, dir)
			defer b.Close()
			defer c.Close()
			r.cluster = c
			r.send(after) // before any process has detected the loss
			stop = r.process(c, Config{Instance: "dev"})
			r.await("applied", int64(before+after), r.applied)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			applied, _ := r.changes()
			for partition, inputs := range applied {
				known := map[int64]bool{}
				for _, input := range inputs {
					if known[input] {
						t.Errorf("partition %d: input %d is applied twice", partition, input)
					}
					known[input] = true
				}
			}
		})
	}
}

// TestEmbedNamesDamage: if a file is damaged, Embed returns an error that names the file.
func TestEmbedNamesDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kafka")
	b, c := embedded(t, dir)
	r := &rig{t: t, cluster: c}
	r.send(9)
	c.Close()
	b.Close()
	name := filepath.Join(dir, "partitions", "in-1", "0.dat")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw[70]++
	if err = os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Embed(BrokerOptions{Dir: dir})
	if damage, ok := errors.AsType[*logfiles.DamageError](err); !ok || damage.File != name {
		t.Fatal(err)
	}
}

// A read that ends at its byte limit excludes aborted transactions, as any other read does. This holds for a range, a
// restore, and an independent client.
func TestAbortedIsNeverShown(t *testing.T) {
	b, c := embedded(t, filepath.Join(t.TempDir(), "kafka"))
	defer b.Close()
	defer c.Close()
	const transactions = 90
	writer, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.TransactionalID("w"), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionTimeout(15*time.Minute), // longer than any stall of the machine
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for i := range transactions {
		if err := writer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		value := append(fmt.Appendf(nil, "%d ", i%2), bytes.Repeat([]byte{'x'}, 100<<10)...)
		if err := writer.ProduceSync(t.Context(), &kgo.Record{Topic: logTopic, Key: []byte("k"), Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := writer.EndTransaction(t.Context(), kgo.TransactionEndTry(i%2 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	for name, read := range map[string]func(each func(value []byte)) error{
		"range": func(fn func([]byte)) error {
			spans, err := c.Spans(t.Context(), logTopic, time.Time{}, time.Time{})
			if err != nil {
				return err
			}
			return c.Range(t.Context(), logTopic, spans[0], func(r Record) error { fn(r.Value); return nil })
		},
		"restore": func(fn func([]byte)) error {
			return c.readTo(t.Context(), logTopic, nil, []int32{0}, func(r Record) error { fn(r.Value); return nil })
		},
		"other client": func(fn func([]byte)) error {
			reader, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.FetchMaxBytes(1<<20), kgo.FetchMaxPartitionBytes(1<<20), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
				kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{logTopic: {0: kgo.NewOffset().AtStart()}}))
			if err != nil {
				return err
			}
			defer reader.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for n := 0; n < transactions/2; {
				fetches := reader.PollFetches(ctx)
				if err := fetches.Err(); err != nil {
					return err
				}
				fetches.EachRecord(func(r *kgo.Record) {
					if !isBarrier(r.Key) {
						n++
						fn(r.Value)
					}
				})
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			committed, aborted := 0, 0
			err := read(func(value []byte) {
				if value[0] == '0' {
					committed++
				} else {
					aborted++
				}
			})
			if err != nil || committed != transactions/2 || aborted > 0 {
				t.Errorf("%d records that were committed, %d that were not: %v", committed, aborted, err)
			}
		})
	}
}
