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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A transaction hangs if partitions wait for its markers while its coordinator considers it ended. A killed Kafka
// 4.3.1 broker was observed to leave such a transaction behind: when it restarted, it recorded the transaction as
// aborted, but never wrote the markers. read_committed readers cannot get past a hanging transaction, and restarting
// them does not help.
//
// Any process with the same transactional id can end a hanging transaction: the next transaction of that process in
// the same partitions joins the hanging transaction there, and the end of the next transaction ends both. A consumer
// group's positions are stored in such a partition, too.

// Writers describes the transactional writers of topics, whose hanging transactions [Cluster.EndHanging] may end.
type Writers struct {
	// ID is the transactional id of the writers or, if it ends in a hyphen, the common prefix of their ids.
	ID     string
	Topics []string // at least one
	// Group and Input are the consumer group and topic whose positions the writers' transactions commit; "": none.
	Group, Input string
}

// Writers returns the instances of the group as writers. They write to the changelog and to the routed topics.
func (c *Config) Writers(routed ...string) Writers {
	return Writers{ID: c.Group + "-", Topics: append([]string{c.Changelog}, routed...), Group: c.Group, Input: c.Input}
}

func (w *Writers) owns(id string) bool {
	return id == w.ID || strings.HasSuffix(w.ID, "-") && strings.HasPrefix(id, w.ID)
}

const (
	hangingEvery = 3 * time.Second
	// waitingLooks is the number of consecutive checks in which a position must be blocked before a hanging
	// transaction is assumed. A transaction in progress does not block a position that long: brokers end svc's
	// transactions after 20 s, or after 30 s if they miss one check.
	waitingLooks = 11
)

// endedStates are the states of a transactional id without a transaction in progress. A coordinator reports them only
// after all markers are written.
var endedStates = []string{"Empty", "CompleteCommit", "CompleteAbort"}

// EndHanging finds and ends hanging transactions until ctx ends. It counts them in ended.
func (c *Cluster) EndHanging(ctx context.Context, ended *atomic.Int64, all ...Writers) error {
	if c.embedded {
		<-ctx.Done() // the transactions are in the memory of a single process, and end with the process
		return ctx.Err()
	}
	h := &hanging{cluster: c, ended: ended, writers: all, waiting: make([]map[int32]int, len(all))}
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
		if err := h.check(look); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "hanging transactions not listed", "error", err)
		}
		cancel()
	}
}

type hanging struct {
	cluster *Cluster
	ended   *atomic.Int64
	writers []Writers
	open    map[writing]int64 // transactions in progress at the last check, with their first offsets
	waiting []map[int32]int   // for each element of writers: consecutive checks in which a position was blocked, by partition
}

// writing is a transaction in one partition.
type writing struct {
	topic     string
	partition int32
	producer  int64
}

// forgotten is a transactional id without a transaction in progress, whose last transaction may hang.
type forgotten struct {
	kadm.ListedTransaction
	in []writing // partitions with the open transaction; none: only the positions are pending
}

// check ends each transaction that its coordinator considers ended, although the transaction has been open in a
// partition at least since the last check. If a position of a group has been blocked for waitingLooks checks, check
// also ends the last transactions of the group's idle writers.
func (h *hanging) check(ctx context.Context) error {
	before := h.open
	var err error
	if h.open, err = h.listOngoing(ctx); err != nil {
		return err
	}
	suspects := maps.Clone(h.open)
	maps.DeleteFunc(suspects, func(at writing, first int64) bool {
		was, known := before[at]
		return !known || was != first
	})
	lost, err := h.findHanging(ctx, suspects)
	if err != nil {
		return err
	}
	var faults []error
	for i := range h.writers {
		w := &h.writers[i]
		wait, err := h.findWaiting(ctx, w)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		looks, longest := map[int32]int{}, 0
		for _, n := range wait {
			looks[n] = h.waiting[i][n] + 1
			longest = max(longest, looks[n])
		}
		others := func(f forgotten) bool { return !w.owns(f.TxnID) }
		mine := slices.DeleteFunc(slices.Clone(lost), others)
		if len(mine) == 0 && longest >= waitingLooks {
			// Kafka does not report which of the idle ids blocks the positions. Ending the last transactions of all
			// of them is safe: a writer with an open transaction is not idle, and its pending positions are resolved
			// when that transaction ends.
			looks = nil
			if mine, err = h.listIdle(ctx, nil); err != nil {
				faults = append(faults, err)
			}
			mine = slices.DeleteFunc(mine, others)
		}
		h.waiting[i] = looks
		for _, f := range mine {
			faults = append(faults, h.end(ctx, w, f, len(wait) > 0))
		}
	}
	return errors.Join(faults...)
}

// listOngoing returns the transactions in progress in the topics of the writers, each with its first offset.
func (h *hanging) listOngoing(ctx context.Context) (map[writing]int64, error) {
	topics := map[string]bool{}
	for _, w := range h.writers {
		for _, t := range w.Topics {
			topics[t] = true
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

// findHanging returns the transactional ids of the suspects that hang: transactions that their coordinator reports as
// ended, but that are still open in a partition after this report.
func (h *hanging) findHanging(ctx context.Context, suspects map[writing]int64) ([]forgotten, error) {
	if len(suspects) == 0 {
		return nil, nil
	}
	var producers []int64
	for at := range suspects {
		producers = append(producers, at.producer)
	}
	all, err := h.listIdle(ctx, producers)
	if err != nil {
		return nil, err
	}
	still, err := h.listOngoing(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		for at, first := range suspects {
			if again, open := still[at]; open && again == first && at.producer == all[i].ProducerID {
				all[i].in = append(all[i].in, at)
			}
		}
	}
	return slices.DeleteFunc(all, func(f forgotten) bool { return len(f.in) == 0 }), nil
}

// listIdle returns the transactional ids without a transaction in progress: those of the given producers, or of all
// producers if none are given.
func (h *hanging) listIdle(ctx context.Context, producers []int64) (all []forgotten, err error) {
	transactions, err := h.cluster.admin.ListTransactions(ctx, producers, endedStates)
	if err != nil {
		return nil, fmt.Errorf("list transactions: %w", err)
	}
	for _, t := range transactions.Sorted() {
		all = append(all, forgotten{ListedTransaction: t})
	}
	return all, nil
}

// findWaiting returns the partitions in which a transaction blocks the position of the group.
func (h *hanging) findWaiting(ctx context.Context, w *Writers) (wait []int32, err error) {
	if w.Group == "" {
		return nil, nil
	}
	details, err := h.cluster.admin.ListTopics(ctx, w.Input)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", w.Input, err)
	}
	// The request names the topics, because a request for all topics omits those without a position.
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = w.Input, details[w.Input].Partitions.Numbers()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.Topics = w.Group, append(g.Topics, t)
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable, req.Groups = true, append(req.Groups, g)
	// The request is sent only once. A group member would repeat it until the positions are stable.
	resp, err := req.RequestWith(ctx, h.cluster.client)
	if err != nil {
		return nil, fmt.Errorf("fetch positions of %s: %w", w.Group, err)
	}
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode == kerr.UnstableOffsetCommit.Code {
					wait = append(wait, p.Partition)
				}
			}
		}
	}
	return wait, nil
}

// end ends a hanging transaction in its partitions: with a commit if its coordinator recorded a commit, and with an
// abort if not. If positions is true, end also ends the transaction for the positions of the group. Ending a
// transaction fences a running owner of its transactional id. The owner then starts a new session.
func (h *hanging) end(ctx context.Context, w *Writers, f forgotten, positions bool) error {
	client, err := h.cluster.producer(kgo.TransactionalID(f.TxnID), kgo.TransactionTimeout(transactionTimeout))
	if err != nil {
		return err
	}
	defer client.Close()
	if err = client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin as %s: %w", f.TxnID, err)
	}
	records := []*kgo.Record{}
	for _, at := range f.in {
		records = append(records, barrier(at.topic, at.partition))
	}
	if len(records) == 0 { // the client does not end a transaction without a record
		records = append(records, barrier(w.Topics[0], 0))
	}
	err = client.ProduceSync(ctx, records...).FirstErr()
	if err == nil && positions {
		err = join(ctx, client, f.TxnID, w.Group)
	}
	try := kgo.TransactionEndTry(err == nil && f.State == "CompleteCommit")
	if err = errors.Join(err, client.EndTransaction(ctx, try)); err != nil {
		return fmt.Errorf("end a hanging transaction of %s: %w", f.TxnID, err)
	}
	h.ended.Add(1)
	h.cluster.log.WarnContext(ctx, "hanging transaction ended",
		"transactional_id", f.TxnID, "committed", bool(try), "partitions", len(f.in), "positions", positions)
	return nil
}

// join adds the positions of a group to the current transaction, so that pending positions of its producer are resolved
// when the transaction ends.
func join(ctx context.Context, client *kgo.Client, id, group string) error {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.Group = id, group
	var err error
	if req.ProducerID, req.ProducerEpoch, err = client.ProducerID(ctx); err != nil {
		return fmt.Errorf("producer id: %w", err)
	}
	resp, err := req.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("add the positions of %s: %w", group, err)
	}
	return nil
}
