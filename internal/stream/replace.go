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

// ErrOvertaken means that the table has changed since the caller read it. Nothing was stored.
var ErrOvertaken = errors.New("overtaken by another change")

// Entry is a value of a table; a nil Value means that the key was deleted.
type Entry struct {
	Key   string
	Value []byte
}

// Seen returns the position up to which this table has read the partition of a key: OnChange has been called for
// every record before that position. The parameter seen of [Table.Replace] is such a position.
func (t *Table) Seen(key string) int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shown[t.partition(key)]
}

// Replace stores the values of several keys, all or none, and returns once this table has them. Each key must begin
// with one of the given prefixes, and all keys must be in the same partition. If any key with one of these prefixes
// has a record at or after the position seen, Replace stores nothing and returns [ErrOvertaken]. Other errors are
// those of [Publisher.Append]. [Table.Run] must be running.
//
// No update is lost, no matter how many processes call Replace. All of them write in transactions with the same
// transactional id, the name of the topic. Starting a transaction aborts any other process's transaction, which can
// no longer commit, so no record can be written between the comparison and the commit. A process whose transaction
// was aborted retries after a random pause. A process that dies in a transaction delays readers until the next
// transaction starts.
func (t *Table) Replace(ctx context.Context, prefixes []string, seen int64, entries ...Entry) error {
	ctx, cancel := context.WithTimeoutCause(ctx, replaceAttempts*t.cluster.within(), ErrAway)
	defer cancel()
	if err := t.cluster.awaitReached(ctx); err != nil {
		return fmt.Errorf("replace in %s: %w", t.topic, err)
	}
	for tries := 1; ; tries++ {
		err := t.attempt(ctx, prefixes, seen, entries)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errEnded):
			return fmt.Errorf("replace in %s: %w", t.topic, err)
		}
		select {
		case <-time.After(rand.N(2 * doubled(tries+replaceCrowd, time.Second))): //nolint:gosec // the pause is not a secret
		case <-ctx.Done():
			return fmt.Errorf("replace in %s: %w", t.topic, context.Cause(ctx))
		}
	}
}

const (
	// replaceAttempts is the timeout of Replace divided by that of one attempt. It exceeds 1, because an attempt that
	// another process's transaction aborted does not mean that Kafka is unavailable.
	replaceAttempts = 4
	// replaceCrowd is added to the number of attempts when the pause is computed, so that even the first pause is as
	// long as several transactions. Pauses are random, because processes that retry at the same time would repeatedly
	// abort each other's transactions.
	replaceCrowd = 3
)

// attempt tries once to replace the values. errEnded means that another process aborted the transaction.
func (t *Table) attempt(ctx context.Context, prefixes []string, seen int64, entries []Entry) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.cluster.within(), ErrAway)
	defer cancel()
	select {
	case <-t.writing: // one at a time, because concurrent attempts would abort each other
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// The client does not discard a record that it may have sent, even if ctx ends.
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

// errEnded means that another process started a transaction and thereby aborted this process's transaction.
var errEnded = errors.New("ended by another transaction")

// replaceTimeout is the time after which the brokers end an abandoned transaction.
const replaceTimeout = 2 * appendTimeout

func (t *Table) replace(ctx context.Context, prefixes []string, seen int64, entries []Entry) error {
	partition := t.partition(entries[0].Key)
	writer, err := t.startWriter(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", judgeUncommitted(err))
	}
	defer writer.Close()
	if err := t.catchUp(ctx, partition); err != nil {
		return judgeUncommitted(err)
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
		return errors.Join(judgeUncommitted(err), writer.EndTransaction(ctx, kgo.TryAbort))
	}
	at := Position{partition, records[len(records)-1].Offset}
	if err := judgeEnded(writer.EndTransaction(ctx, kgo.TryCommit)); err != nil && !errors.Is(err, errEnded) {
		// The transaction may be committed, aborted or still open. Another start of a writer ends it either way.
		next, fault := t.startWriter(ctx)
		if fault != nil {
			return errors.Join(err, fault)
		}
		next.Close()
	}
	// Do not rely on the reported result of the commit. After a lost response, the client repeats the request, although
	// the transaction has already ended. Also, when a client has just learned of the topic, its first transaction is
	// aborted without an error in about 1 of 3,000 cases (franz-go 1.22.2: EndTransaction finds no added partition).
	if err := t.catchUp(ctx, partition); err != nil {
		return err
	}
	if !t.shows(at) {
		return errEnded
	}
	return nil
}

// startWriter returns a client with a new producer epoch. Kafka has then ended the previous transaction of any process:
// a transaction whose commit had begun is committed, and any other is aborted.
func (t *Table) startWriter(ctx context.Context) (*kgo.Client, error) {
	writer, err := t.cluster.producer(
		kgo.TransactionalID(t.topic),
		kgo.TransactionTimeout(replaceTimeout),
		kgo.ProducerLinger(0),
		kgo.RecordDeliveryTimeout(t.cluster.within()),
	)
	if err != nil {
		return nil, err
	}
	if _, _, err := writer.ProducerID(ctx); err != nil {
		writer.Close()
		return nil, fmt.Errorf("initialize the producer id: %w", err)
	}
	return writer, nil
}

// catchUp returns once the table contains everything that is committed at the time of the call.
func (t *Table) catchUp(ctx context.Context, partition int32) error {
	barriers, err := t.cluster.appendBarriers(ctx, t.topic, []int32{partition})
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

// judgeUncommitted is like judgeEnded, for an error before the commit. When processes abort each other's transactions, a
// broker was observed to report an unknown error (Kafka 4.3.1). Nothing is committed yet, so another attempt is safe.
func judgeUncommitted(err error) error {
	if errors.Is(err, kerr.UnknownServerError) {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	return judgeEnded(err)
}

// judgeEnded adds errEnded to an error that means that another process aborted the transaction.
func judgeEnded(err error) error {
	if answer, is := errors.AsType[*kerr.Error](err); is {
		switch answer {
		case kerr.InvalidProducerEpoch, kerr.ProducerFenced, kerr.InvalidTxnState, kerr.ConcurrentTransactions, kerr.TransactionAbortable:
			return fmt.Errorf("%w: %w", errEnded, err)
		}
	}
	return err
}
