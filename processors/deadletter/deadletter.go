// Package deadletter follows the observations that could not be applied.
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

// Letters follows the topic of records that can never be applied. It knows where each record lies
// and why it was rejected, never its content.
type Letters struct {
	cluster *stream.Cluster
	prefix  string // of the topics
	now     func() time.Time
	table   *stream.Table

	mu  sync.RWMutex
	all map[string][]Letter // by hospital, in the order of the versions
}

// Letter is a record that was rejected.
type Letter struct {
	schemas.DeadLetter
	RetriedAt acuity.Instant // 0: not yet
}

// ErrNone says that a hospital has no such dead letter.
var ErrNone = errors.New("no such dead letter")

// atMost is how many dead letters of a hospital are listed, the newest ones.
const atMost = 1000

// Follow returns the dead letters of an installation, which Run reads. The prefix stands before the
// names of the topics. The observations have that many partitions.
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

// Ready is closed when the letters of the past have been read.
func (d *Letters) Ready() <-chan struct{} { return d.table.Ready() }

// add adds a dead letter, or marks one as retried. A pair of hospital and version identifies a
// dead letter.
func (d *Letters) add(letter *schemas.DeadLetter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all[letter.Hospital]
	at, had := slices.BinarySearchFunc(all, letter.Version, func(l Letter, version int64) int { return cmp.Compare(l.Version, version) })
	switch {
	case had && letter.Reason == schemas.Retried:
		all[at].RetriedAt = letter.At
		return
	case had || letter.Reason == schemas.Retried: // a repeat, or a retry of a letter that has been deleted
		return
	}
	all = slices.Insert(all, at, Letter{DeadLetter: *letter})
	if len(all) > atMost {
		all = slices.Delete(all, 0, len(all)-atMost)
	}
	d.all[letter.Hospital] = all
}

// OfHospital returns the dead letters of a hospital in the order of their versions.
func (d *Letters) OfHospital(hospital string) []Letter {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Clone(d.all[hospital])
}

// Open counts the dead letters of a hospital that have not been retried.
func (d *Letters) Open(hospital string) int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	n := 0
	for i := range d.all[hospital] {
		if d.all[hospital][i].RetriedAt == 0 {
			n++
		}
	}
	return n
}

// ID returns the position of the record, which is unique over all hospitals: "partition:offset".
func (l *Letter) ID() string { return fmt.Sprintf("%d:%d", l.Partition, l.Offset) }

// reasonGone is the reason for a record that retention has deleted.
const reasonGone = "record_gone"

var errGone = errors.New("deleted by retention")

// Retried records that the observation of a dead letter was ingested again. The record has the
// key of the dead letter, and follows it.
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

// Observation returns the observation of a dead letter. The error is [ErrNone], a
// [stream.PoisonError] if the record still cannot be read, or that of Kafka.
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
	if o.Hospital != hospital { // the record belongs to another hospital, or to none
		return nil, ErrNone
	}
	return o, nil
}
