package e2e

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/schemas"
)

// TestHangingTransactions leaves transactions in the log that no coordinator will ever end; a killed broker can leave
// such transactions. A processor, and the processes that read the settings, must continue.
func TestHangingTransactions(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north", "south")
	p1 := s.processor("p1")
	l := feed(t, 60, s.partners...)
	l.awaitMore(t, 60)
	p1.kill()

	h := hangingOn(t, s.kafka.address)
	group, verdicts := s.prefix+verdict.Group, s.prefix+schemas.Verdicts().Name
	h.hang(group+"-p1", verdicts, schemas.Partition([]byte("north"), partitions))
	h.hangPosition(group+"-p1", group, s.prefix+schemas.Observations().Name)
	settings := s.prefix + schemas.Settings().Name
	h.hang(settings, settings, 0)

	s.processor("p1")
	l.awaitMore(t, 60)
	acked := l.finish()
	eventually(t, time.Minute, func() error { return errors.Join(h.stable(verdicts), h.stable(settings)) })
	s.verify(acked)
	// Other processes accept the new key only if they can read the settings topic to its end.
	key := cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "after", "--scopes", "all", "--rate", "0")
	after := newPartner(s.base, "north", key)
	eventually(t, 20*time.Second, func() error {
		a, err := after.do("GET", "/api/v1/level", "", "")
		if err == nil && a.status != 200 {
			err = fmt.Errorf("the new key is answered %d", a.status)
		}
		return err
	})
}

// TestHangingTransactionsEnd: EndHanging commits or aborts each hanging transaction as its coordinator decided,
// wherever the transaction hangs: in the partition, in the group's offsets, or in both.
func TestHangingTransactionsEnd(t *testing.T) {
	kafka, _ := needServers(t)
	t.Parallel()
	of := hangingOn(t, kafka.address)
	for name, row := range map[string]struct {
		try       kgo.TransactionEndTry
		partition bool // whether the transaction hangs in the partition
		position  bool // whether the transaction hangs in the group's offsets
	}{
		"aborted":            {kgo.TryAbort, true, true},
		"committed":          {kgo.TryCommit, true, true},
		"in positions alone": {kgo.TryCommit, false, true},
		"in a topic alone":   {kgo.TryCommit, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hangs{t: t, address: of.address, admin: of.admin}
			group := fmt.Sprintf("hanging-%d", systems.Add(1))
			topic, input, id := group+".out", group+".in", group+"-p1"
			if _, err := h.admin.CreateTopics(t.Context(), 2, 1, nil, topic, input); err != nil {
				t.Fatal(err)
			}
			client, producer, epoch := h.begun(id)
			if err := client.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: 1, Value: []byte("before")}).FirstErr()
			if err = errors.Join(err, client.EndTransaction(t.Context(), row.try)); err != nil {
				t.Fatal(err)
			}
			if row.partition {
				h.append(client, producer, epoch, id, topic, 0)
			}
			if row.position {
				h.position(client, producer, epoch, id, group, input)
			}
			cluster, err := stream.Dial(t.Context(), stream.Options{Brokers: []string{h.address}, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			var ended atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			config := stream.Config{Group: group, Changelog: topic, Input: input}
			go func() { done <- cluster.EndHanging(ctx, &ended, config.Writers()) }()
			eventually(t, time.Minute, func() error {
				if ended.Load() == 0 {
					return errors.New("nothing was ended")
				}
				return h.stable(topic)
			})
			cancel()
			if err = <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			seen := 0
			readTopic(t, h.address, topic, func(r *kgo.Record) {
				if string(r.Value) == "lost" {
					seen++
				}
			})
			if shown := row.partition && bool(row.try); seen != map[bool]int{true: 1}[shown] {
				t.Errorf("the record of a transaction that was %s is seen %d times", name, seen)
			}
			offsets, err := h.admin.FetchOffsets(t.Context(), group)
			if err != nil {
				t.Fatal(err)
			}
			at, known := offsets.Lookup(input, 0)
			if want := row.position && bool(row.try); known != want || known && (at.Err != nil || at.At != hangingPosition) {
				t.Errorf("position %d, known %v, %v", at.At, known, at.Err)
			}
		})
	}
}

// hangs creates hanging transactions. It writes in a transaction without informing the coordinator, as old clients
// could before brokers verified transactions.
type hangs struct {
	t       *testing.T
	address string
	admin   *kadm.Client
}

// unverified counts, by broker address, the tests that need transaction verification switched off.
var unverified = struct {
	sync.Mutex
	tests map[string]int
}{tests: map[string]int{}}

func hangingOn(t *testing.T, address string) *hangs {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	h := &hangs{t: t, address: address, admin: kadm.NewClient(client)}
	const verification = "transaction.partition.verification.enable"
	alter := func(op kadm.IncrementalOp, value string) {
		t.Helper()
		resps, err := h.admin.AlterBrokerConfigs(context.Background(), []kadm.AlterConfig{{Op: op, Name: verification, Value: &value}})
		for _, r := range resps {
			err = errors.Join(err, r.Err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	unverified.Lock()
	defer unverified.Unlock()
	if unverified.tests[address]++; unverified.tests[address] == 1 {
		alter(kadm.SetConfig, "false")
	}
	t.Cleanup(func() {
		unverified.Lock()
		defer unverified.Unlock()
		if unverified.tests[address]--; unverified.tests[address] == 0 {
			alter(kadm.DeleteConfig, "")
		}
		client.Close()
	})
	return h
}

// begun returns a client for the transactional id, with its producer id and epoch. The broker has ended any earlier
// transaction of this id.
func (h *hangs) begun(id string) (client *kgo.Client, producer int64, epoch int16) {
	h.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(h.address), kgo.TransactionalID(id), kgo.MaxVersions(kversion.V3_8_0()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(client.Close)
	eventually(h.t, 30*time.Second, func() error { // the broker first ends the transaction of a killed process
		producer, epoch, err = client.ProducerID(context.Background())
		return err
	})
	return client, producer, epoch
}

// hang appends a record in a transaction that never ends.
func (h *hangs) hang(id, topic string, partition int32) {
	h.t.Helper()
	client, producer, epoch := h.begun(id)
	h.append(client, producer, epoch, id, topic, partition)
}

func (h *hangs) append(client *kgo.Client, producer int64, epoch int16, id, topic string, partition int32) {
	h.t.Helper()
	record := kmsg.Record{Key: []byte("lost"), Value: []byte("lost")}
	record.Length = int32(len(record.AppendTo(nil)) - 1)
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: 0x10, // the bit that marks a transactional batch
		FirstTimestamp: time.Now().UnixMilli(), MaxTimestamp: time.Now().UnixMilli(),
		ProducerID: producer, ProducerEpoch: epoch, NumRecords: 1, Records: record.AppendTo(nil),
	}
	raw := batch.AppendTo(nil)
	copy(raw[8:], kbin.AppendInt32(nil, int32(len(raw)-12)))
	copy(raw[17:], kbin.AppendUint32(nil, crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli))))
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, raw
	topicOf := kmsg.NewProduceRequestTopic()
	topicOf.Topic, topicOf.Partitions = topic, append(topicOf.Partitions, p)
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &id, -1, 5000
	req.Topics = append(req.Topics, topicOf)
	eventually(h.t, 30*time.Second, func() error { // a broker applies altered settings with a delay
		resp, err := req.RequestWith(context.Background(), client)
		if err == nil {
			err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("hang %s: %w", topic, err)
		}
		return nil
	})
	if h.stable(topic) == nil {
		h.t.Fatalf("nothing hangs in %s: the test proves nothing", topic)
	}
}

// hangPosition commits an offset in a transaction that never ends.
func (h *hangs) hangPosition(id, group, topic string) {
	h.t.Helper()
	client, producer, epoch := h.begun(id)
	h.position(client, producer, epoch, id, group, topic)
}

const hangingPosition = 7

func (h *hangs) position(client *kgo.Client, producer int64, epoch int16, id, group, topic string) {
	h.t.Helper()
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = hangingPosition
	topicOf := kmsg.NewTxnOffsetCommitRequestTopic()
	topicOf.Topic, topicOf.Partitions = topic, append(topicOf.Partitions, p)
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = id, group, producer, epoch
	req.Topics = append(req.Topics, topicOf)
	eventually(h.t, 30*time.Second, func() error {
		resp, err := req.RequestWith(context.Background(), client)
		if err == nil {
			err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("hang the position of %s: %w", group, err)
		}
		return nil
	})
}

// stable returns an error if a topic cannot be read to its end.
func (h *hangs) stable(topic string) error {
	ends, err := h.admin.ListEndOffsets(context.Background(), topic)
	if err != nil {
		return err
	}
	stable, err := h.admin.ListCommittedOffsets(context.Background(), topic)
	if err != nil {
		return err
	}
	for _, end := range ends[topic] {
		if s, _ := stable.Lookup(topic, end.Partition); s.Offset < end.Offset {
			err = errors.Join(err, fmt.Errorf("%s: partition %d is stable to %d of %d", topic, end.Partition, s.Offset, end.Offset))
		}
	}
	return err
}
