// Package deadletter tracks the observations that could not be applied.
package deadletter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/schemas"
)

// Letters is an in-memory view of the dead-letter topic. It contains the position of each rejected record and the
// reason for the rejection, never the record's content. It is safe for concurrent use.
type Letters struct {
	cluster *stream.Cluster
	prefix  string // prefix of the topic names
	now     func() time.Time
	table   *stream.Table

	mu  sync.Mutex
	all map[string][]Letter // dead letters by hospital, ascending by version
}

// Letter is a dead letter and the time at which it was retried.
type Letter struct {
	schemas.DeadLetter
	RetriedAt acuity.Instant // 0: not retried
}

// ErrNone means that the hospital has no dead letter with the given id.
var ErrNone = errors.New("no such dead letter")

// atMost is the maximum number of dead letters kept in memory for a hospital. If there are more, the oldest are
// dropped.
const atMost = 1000

// Follow returns a view of the dead letters of an installation. The view is empty until Run reads the topic. prefix
// is the prefix of the topic names; partitions is the number of partitions of the observations topic.
func Follow(cluster *stream.Cluster, prefix string, partitions int32, now func() time.Time, log *slog.Logger) *Letters {
	d := &Letters{
		cluster: cluster, prefix: prefix, now: now,
		table: cluster.Table(prefix+schemas.DeadLetters().Name, func(key string) int32 { return schemas.Partition([]byte(key), partitions) }),
		all:   map[string][]Letter{},
	}
	d.table.OnChange(func(_ string, value []byte) {
		if value == nil {
			return
		}
		letter, err := schemas.DeadLetterCodec.Decode(value)
		if err != nil {
			log.Error("dead letter not decoded", "error", err)
			return
		}
		d.add(letter)
	})
	return d
}

// Run follows the topic until ctx ends.
func (d *Letters) Run(ctx context.Context) error { return d.table.Run(ctx) }

// Ready returns a channel that is closed when all existing dead letters have been read.
func (d *Letters) Ready() <-chan struct{} { return d.table.Ready() }

// add adds a dead letter or marks one as retried. Hospital and version identify a dead letter.
func (d *Letters) add(letter *schemas.DeadLetter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all[letter.Hospital]
	at, had := slices.BinarySearchFunc(all, letter.Version, func(l Letter, version int64) int { return cmp.Compare(l.Version, version) })
	switch {
	case had && letter.Reason == schemas.Retried:
		all[at].RetriedAt = letter.At
		return
	case had || letter.Reason == schemas.Retried: // a repetition, or the retry of a dead letter that retention has deleted
		return
	}
	all = slices.Insert(all, at, Letter{DeadLetter: *letter})
	if len(all) > atMost {
		all = slices.Delete(all, 0, len(all)-atMost)
	}
	d.all[letter.Hospital] = all
}

// OfHospital returns the dead letters of a hospital, ascending by version. It first deletes those that are older than
// the retention of the topic.
func (d *Letters) OfHospital(hospital string) []Letter {
	oldest := acuity.At(d.now().Add(-schemas.DeadLetters().Retention))
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.DeleteFunc(d.all[hospital], func(l Letter) bool { return l.At < oldest })
	if d.all[hospital] = all; len(all) == 0 {
		delete(d.all, hospital)
	}
	return slices.Clone(all)
}

// Open returns the number of a hospital's dead letters that have not been retried.
func (d *Letters) Open(hospital string) (n int) {
	for _, l := range d.OfHospital(hospital) {
		if l.RetriedAt == 0 {
			n++
		}
	}
	return n
}

// ID returns the position of the record as "partition:offset", which is unique across hospitals.
func (l *Letter) ID() string { return fmt.Sprintf("%d:%d", l.Partition, l.Offset) }

// reasonGone is the reason code in the error for a record that retention has deleted.
const reasonGone = "record_gone"

var errGone = errors.New("deleted by retention")

// Retried marks a dead letter as retried by appending a second record with the dead letter's key. The caller must
// first ingest the dead letter's observation again. If the id is unknown or the dead letter is already marked,
// Retried does nothing.
func (d *Letters) Retried(ctx context.Context, hospital, id string) error {
	all := d.OfHospital(hospital)
	at := slices.IndexFunc(all, func(l Letter) bool { return l.ID() == id })
	if at < 0 || all[at].RetriedAt != 0 {
		return nil
	}
	letter := all[at].DeadLetter
	letter.Reason, letter.At = schemas.Retried, acuity.At(d.now())
	value, err := schemas.DeadLetterCodec.Encode(nil, &letter)
	if err != nil {
		return err
	}
	return d.table.Put(ctx, string(verdict.DeadLetterKey(hospital, letter.Version)), value)
}

// Observation returns the observation that a dead letter refers to. The error is [ErrNone] if there is no such dead
// letter, and a [stream.PoisonError] if retention has deleted the record or this release still cannot read it. All
// other errors come from Kafka.
func (d *Letters) Observation(ctx context.Context, hospital, id string) (*acuity.Observation, error) {
	all := d.OfHospital(hospital)
	at := slices.IndexFunc(all, func(l Letter) bool { return l.ID() == id })
	if at < 0 || all[at].Topic != schemas.Observations().Name {
		return nil, ErrNone
	}
	letter := &all[at]
	var record *stream.Record
	span := stream.Span{Partition: letter.Partition, From: letter.Offset, End: letter.Offset + 1}
	err := d.cluster.Range(ctx, d.prefix+letter.Topic, span, func(r stream.Record) error {
		record = &r
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read dead letter: %w", err)
	}
	if record == nil {
		return nil, &stream.PoisonError{Reason: reasonGone, Err: errGone}
	}
	o, err := verdict.Decode(*record)
	if err != nil {
		return nil, err
	}
	if o.Hospital != hospital { // the record belongs to a different hospital or to none
		return nil, ErrNone
	}
	return o, nil
}
