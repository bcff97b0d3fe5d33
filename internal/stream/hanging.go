package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Writers are who writes into topics in transactions: what [Cluster.EndHanging]
// may end.
type Writers struct {
	// ID is their transactional id or, with a hyphen at its end, what all of
	// their ids begin with.
	ID     string
	Topics []string // at least one
	// Group and Input are where their transactions commit positions; "": nowhere.
	Group, Input string
}

const (
	hangingEvery = 3 * time.Second
	// unstableLooks in a row without a position are no commit that is under way:
	// ours are ended by their brokers after 10 s, 20 if a look of those was missed.
	unstableLooks = 10
)

// writing is a transaction as one partition sees it.
type writing struct {
	topic     string
	partition int32
	producer  int64
}

// EndHanging ends transactions that hang: of which partitions still wait for the
// mark and of which their coordinator believes that they have long ended. A broker
// of Kafka 4.3.1 that was killed with a transaction under way was seen to leave such
// a one: while it started it wrote the transaction down as aborted, and its marks
// never came. Nobody reads past it, and no restart helps.
//
// Whoever has the transactional id can end it: a further transaction of it in the
// same partitions is one with it there, and it is aborted. EndHanging runs until
// ctx ends and counts in ended what it ended, for each partition.
func (c *Cluster) EndHanging(ctx context.Context, ended *atomic.Int64, all ...Writers) error {
	if c.embedded {
		<-ctx.Done() // its transactions are memory of one process, and end with it
		return ctx.Err()
	}
	h := &hanging{cluster: c, ended: ended, writers: all, unstable: make([]int, len(all))}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(hangingEvery):
		}
		if c.health.away.Load() != 0 {
			continue
		}
		look, cancel := context.WithTimeout(ctx, 4*hangingEvery)
		if err := h.look(look); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "hanging transactions are not seen", "error", err)
		}
		cancel()
	}
}

type hanging struct {
	cluster  *Cluster
	ended    *atomic.Int64
	writers  []Writers
	open     map[writing]int64 // first offset, as of the last look
	unstable []int             // looks in a row, as writers
}

// look ends what was open at the last look too and has no transaction behind it.
func (h *hanging) look(ctx context.Context) error {
	before := h.open
	var err error
	if h.open, err = h.under(ctx); err != nil {
		return err
	}
	suspects := both(before, h.open)
	if len(suspects) > 0 {
		if suspects, err = h.forgotten(ctx, suspects); err != nil {
			return err
		}
	}
	var faults []error
	for i, w := range h.writers {
		offsets, err := h.positionsHang(ctx, w)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if h.unstable[i]++; len(offsets) == 0 {
			h.unstable[i] = 0
		}
		ids := map[string][]writing{}
		for at, id := range suspects {
			if w.owns(id) {
				ids[id] = append(ids[id], at)
			}
		}
		if len(ids) == 0 && h.unstable[i] >= unstableLooks {
			h.unstable[i] = 0
			if ids, err = h.idle(ctx, w); err != nil {
				faults = append(faults, err)
			}
		}
		for id, partitions := range ids {
			faults = append(faults, h.end(ctx, w, id, partitions, offsets))
		}
	}
	return errors.Join(faults...)
}

// both are the transactions that two looks saw at the same place.
func both(a, b map[writing]int64) map[writing]string {
	same := map[writing]string{}
	for at, first := range b {
		if before, ok := a[at]; ok && before == first {
			same[at] = ""
		}
	}
	return same
}

// under returns the transactions under way, each with its first offset.
func (h *hanging) under(ctx context.Context) (map[writing]int64, error) {
	topics := make(map[string]struct{})
	for _, w := range h.writers {
		for _, t := range w.Topics {
			topics[t] = struct{}{}
		}
	}
	details, err := h.cluster.admin.ListTopics(ctx, slices.Collect(maps.Keys(topics))...)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	described, err := h.cluster.admin.DescribeProducers(ctx, details.TopicsSet())
	if err != nil {
		return nil, fmt.Errorf("describe producers: %w", err)
	}
	open := map[writing]int64{}
	for _, p := range described.SortedProducers() {
		if p.CurrentTxnStartOffset >= 0 {
			open[writing{p.Topic, p.Partition, p.ProducerID}] = p.CurrentTxnStartOffset
		}
	}
	return open, nil
}

// forgotten returns, with their transactional ids, those that are no transaction
// to their coordinator, and still open after it has said so: it says of none that
// it has ended before all its marks are written.
func (h *hanging) forgotten(ctx context.Context, suspects map[writing]string) (map[writing]string, error) {
	var producers []int64
	for at := range suspects {
		producers = append(producers, at.producer)
	}
	listed, err := h.cluster.admin.ListTransactions(ctx, producers, nil)
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	again, err := h.under(ctx)
	if err != nil {
		return nil, err
	}
	found := map[writing]string{}
	for at := range suspects {
		if again[at] != h.open[at] {
			continue
		}
		for _, t := range listed {
			if t.ProducerID == at.producer && hasEnded(t.State) {
				found[at] = t.TxnID
			}
		}
	}
	return found, nil
}

// hasEnded says that a state is of no transaction under way.
func hasEnded(state string) bool {
	return state == "Empty" || state == "CompleteCommit" || state == "CompleteAbort"
}

// positionsHang returns the partitions whose position waits for a transaction.
func (h *hanging) positionsHang(ctx context.Context, w Writers) ([]int32, error) {
	if w.Group == "" {
		return nil, nil
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = w.Group
	req.Groups = append(req.Groups, g)
	// One look: a member of the group asks again until they are stable.
	resp, err := req.RequestWith(ctx, h.cluster.client)
	if err != nil {
		return nil, fmt.Errorf("fetch positions of %s: %w", w.Group, err)
	}
	var hang []int32
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode == kerr.UnstableOffsetCommit.Code {
					hang = append(hang, p.Partition)
				}
			}
		}
	}
	return hang, nil
}

// idle returns the transactional ids of writers that have no transaction.
func (h *hanging) idle(ctx context.Context, w Writers) (map[string][]writing, error) {
	listed, err := h.cluster.admin.ListTransactions(ctx, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	ids := map[string][]writing{}
	for _, t := range listed {
		if w.owns(t.TxnID) && hasEnded(t.State) {
			ids[t.TxnID] = nil
		}
	}
	return ids, nil
}

func (w Writers) owns(id string) bool {
	return id == w.ID || strings.HasSuffix(w.ID, "-") && strings.HasPrefix(id, w.ID)
}

// end aborts a transaction of the id in partitions and positions. A living owner
// of the id is fenced by it, and begins a new session.
func (h *hanging) end(ctx context.Context, w Writers, id string, partitions []writing, positions []int32) error {
	client, err := kgo.NewClient(h.cluster.with(
		kgo.TransactionalID(id),
		kgo.TransactionTimeout(10*time.Second),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)...)
	if err != nil {
		return fmt.Errorf("open %s: %w", id, err)
	}
	defer client.Close()
	if err = client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin as %s: %w", id, err)
	}
	if len(partitions) == 0 { // the client ends no transaction without a record
		partitions = []writing{{topic: w.Topics[0]}}
	}
	records := make([]*kgo.Record, len(partitions))
	for i, at := range partitions {
		records[i] = &kgo.Record{Topic: at.topic, Partition: at.partition, Key: barrierKey, Value: []byte(unique())}
	}
	err = client.ProduceSync(ctx, records...).FirstErr()
	if err == nil && len(positions) > 0 {
		err = w.claim(ctx, client, id, positions)
	}
	if err = errors.Join(err, client.EndTransaction(ctx, kgo.TryAbort)); err != nil {
		return fmt.Errorf("end a hanging transaction of %s: %w", id, err)
	}
	h.ended.Add(int64(len(partitions)))
	h.cluster.log.WarnContext(ctx, "a hanging transaction was ended", "transactional_id", id, "partitions", len(partitions), "positions", len(positions))
	return nil
}

// claim makes positions part of the transaction under way, which is aborted.
func (w Writers) claim(ctx context.Context, client *kgo.Client, id string, positions []int32) error {
	producer, epoch, err := client.ProducerID(ctx)
	if err != nil {
		return fmt.Errorf("producer id: %w", err)
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = id, producer, epoch, w.Group
	added, err := add.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(added.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("add the positions of %s: %w", w.Group, err)
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = id, producer, epoch, w.Group
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic = w.Input
	for _, n := range positions {
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition = n
		t.Partitions = append(t.Partitions, p)
	}
	commit.Topics = append(commit.Topics, t)
	committed, err := commit.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("claim the positions of %s: %w", w.Group, err)
	}
	for _, t := range committed.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("claim the position of %s in partition %d: %w", w.Group, p.Partition, err)
			}
		}
	}
	return nil
}
