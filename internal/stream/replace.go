package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrOvertaken says that the table no longer holds what a change was made from: nothing
// was stored.
var ErrOvertaken = errors.New("overtaken by another change")

// Entry is a value of a table; a nil Value: the key is gone.
type Entry struct {
	Key   string
	Value []byte
}

// Seen is how far this table is in the partition of a key: every record before it was
// given to OnChange. [Table.Replace] compares with it.
func (t *Table) Seen(key string) int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shown[t.partition(key)]
}

// Replace stores values of keys that begin with one of some prefixes and share a partition, all
// or none, and returns once this table shows them. [ErrOvertaken]: a record of such a key
// was written at or after what the caller had seen. Other errors are those of
// [Publisher.Append]. Run must be running.
//
// It is exact for any number of processes: all write in transactions of one
// transactional id, the name of the topic. Beginning one ends the transaction of any
// other process, which can no longer commit, so no record comes between the comparison
// and the commit. A process whose transaction was ended begins anew after a random time.
// A process that dies in a transaction delays readers until the next one writes.
func (t *Table) Replace(ctx context.Context, prefixes []string, seen int64, entries ...Entry) error {
	if t.cluster.health.away.Load() != 0 {
		return fmt.Errorf("replace in %s: %w", t.topic, ErrAway)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, replaceWithin, ErrAway)
	defer cancel()
	for tries := 1; ; tries++ {
		err := t.attempt(ctx, prefixes, seen, entries)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errEnded):
			return fmt.Errorf("replace in %s: %w", t.topic, err)
		}
		select {
		case <-time.After(rand.N(2 * backoff(tries+replaceCrowd))): //nolint:gosec // no secret
		case <-ctx.Done():
			return fmt.Errorf("replace in %s: %w", t.topic, context.Cause(ctx))
		}
	}
}

const (
	// replaceWithin bounds a change while other processes write. Kafka answers then,
	// so it is not away. One attempt has appendTimeout.
	replaceWithin = 4 * appendTimeout
	// replaceCrowd makes the first wait as long as a few transactions. Waits are
	// random: of many that begin anew at the same moment each would end the one
	// before, again and again.
	replaceCrowd = 3
)

// attempt replaces once; errEnded: another process ended it.
func (t *Table) attempt(ctx context.Context, prefixes []string, seen int64, entries []Entry) error {
	ctx, cancel := context.WithTimeoutCause(ctx, appendTimeout, ErrAway)
	defer cancel()
	select {
	case <-t.writing: // one at a time here: they would but end each other
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// The client does not give up what it may have sent, whatever ctx says.
	done := make(chan error, 1)
	go func() {
		defer func() { t.writing <- struct{}{} }()
		done <- t.replace(ctx, prefixes, seen, entries)
	}()
	var err error
	select {
	case err = <-done:
		if err == nil || errors.Is(err, errEnded) && ctx.Err() == nil {
			return err
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return t.publisher.judge(ctx, err)
}

// errEnded says that another process began a transaction and so ended ours.
var errEnded = errors.New("ended by another transaction")

// replaceTimeout is after how long the brokers end a transaction that nothing else has
// ended.
const replaceTimeout = 2 * appendTimeout

func (t *Table) replace(ctx context.Context, prefixes []string, seen int64, entries []Entry) error {
	partition := t.partition(entries[0].Key)
	writer, err := t.cluster.producer(
		kgo.TransactionalID(t.topic),
		kgo.TransactionTimeout(replaceTimeout),
		kgo.ProducerLinger(0),
		kgo.RecordDeliveryTimeout(appendTimeout),
	)
	if err != nil {
		return err
	}
	defer writer.Close()
	if _, _, err := writer.ProducerID(ctx); err != nil {
		return fmt.Errorf("begin: %w", judgeEnded(err))
	}
	if err := t.catchUp(ctx, partition); err != nil {
		return err
	}
	if t.overtaken(prefixes, seen) {
		return ErrOvertaken
	}
	if err := writer.BeginTransaction(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	records := make([]*kgo.Record, len(entries))
	for i, e := range entries {
		records[i] = &kgo.Record{Topic: t.topic, Partition: partition, Key: []byte(e.Key), Value: e.Value}
	}
	if err := writer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return errors.Join(judgeEnded(err), writer.EndTransaction(ctx, kgo.TryAbort))
	}
	at := Position{partition, records[len(records)-1].Offset}
	if err := judgeEnded(writer.EndTransaction(ctx, kgo.TryCommit)); err != nil && !errors.Is(err, errEnded) {
		return err
	}
	// The client's report of the end is checked. A lost answer is asked for again, and
	// then the transaction has ended already. And the first transaction of a client
	// that just learned of the topic is aborted without an error (franz-go 1.22.2,
	// about one in three thousand: EndTransaction finds no partition that was added).
	if err := t.catchUp(ctx, partition); err != nil {
		return err
	}
	if !t.shows(at) {
		return errEnded
	}
	return nil
}

// catchUp returns once the table shows everything that is committed now.
func (t *Table) catchUp(ctx context.Context, partition int32) error {
	barriers, err := t.cluster.barriers(ctx, t.topic, []int32{partition})
	if err != nil {
		return err
	}
	return t.await(ctx, Position{partition, barriers[partition]})
}

// shows reports whether the record at a recent position is committed.
func (t *Table) shows(at Position) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, there := slices.BinarySearch(t.recent[at.Partition], at.Offset)
	return there
}

// overtaken reports whether a key with one of the prefixes has a record at or after an
// offset.
func (t *Table) overtaken(prefixes []string, seen int64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for key, at := range t.last {
		if at >= seen && slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			return true
		}
	}
	return false
}

// judgeEnded distinguishes the end of a transaction by another process from other
// faults.
func judgeEnded(err error) error {
	if answer, is := errors.AsType[*kerr.Error](err); is {
		switch answer {
		case kerr.InvalidProducerEpoch, kerr.ProducerFenced, kerr.InvalidTxnState, kerr.ConcurrentTransactions, kerr.TransactionAbortable:
			return fmt.Errorf("%w: %w", errEnded, err)
		}
	}
	return err
}
