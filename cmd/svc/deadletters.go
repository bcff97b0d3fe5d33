package main

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
	"svc/ingest"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/readapi"
	"svc/schemas"
)

// deadLetters follows the topic of records that can never be applied. It knows where each record
// lies and why it was rejected, never its content.
type deadLetters struct {
	cluster *stream.Cluster
	prefix  string // of the topics
	table   *stream.Table

	mu  sync.RWMutex
	all map[string][]deadLetter // by hospital, in the order of the versions
}

type deadLetter struct {
	schemas.DeadLetter
	retriedAt acuity.Instant // 0: not yet
}

// deadLettersAtMost is how many dead letters of a hospital are listed, the newest ones.
const deadLettersAtMost = 1000

// deadLetters returns the dead letters. All roles of the process share them.
func (h *service) deadLetters() *deadLetters {
	if h.letters == nil {
		h.letters = followDeadLetters(h.cluster, h.config.TopicPrefix, h.partitions, h.log)
		h.Run("dead letters", h.letters.table.Run)
		h.Ready = append(h.Ready, h.letters.table.Ready())
	}
	return h.letters
}

func followDeadLetters(cluster *stream.Cluster, prefix string, partitions int32, log *slog.Logger) *deadLetters {
	d := &deadLetters{
		cluster: cluster, prefix: prefix,
		table: cluster.Table(prefix+schemas.DeadLetters().Name, func(key string) int32 { return schemas.Partition([]byte(key), partitions) }),
		all:   map[string][]deadLetter{},
	}
	d.table.OnChange(func(_ string, value []byte) {
		if value == nil {
			return
		}
		letter, err := schemas.DecodeDeadLetter(value)
		if err != nil {
			log.Error("dead letter not understood", "error", err)
			return
		}
		d.add(letter)
	})
	return d
}

// add adds a dead letter, or marks one as retried. A pair of hospital and version identifies a
// dead letter.
func (d *deadLetters) add(letter *schemas.DeadLetter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all[letter.Hospital]
	at, had := slices.BinarySearchFunc(all, letter.Version, func(l deadLetter, version int64) int { return cmp.Compare(l.Version, version) })
	switch {
	case had && letter.Reason == schemas.Retried:
		all[at].retriedAt = letter.At
		return
	case had || letter.Reason == schemas.Retried: // a repeat, or a retry of a letter that has been deleted
		return
	}
	all = slices.Insert(all, at, deadLetter{DeadLetter: *letter})
	if len(all) > deadLettersAtMost {
		all = slices.Delete(all, 0, len(all)-deadLettersAtMost)
	}
	d.all[letter.Hospital] = all
}

// ofHospital returns the dead letters of a hospital in the order of their versions.
func (d *deadLetters) ofHospital(hospital string) []deadLetter {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Clone(d.all[hospital])
}

// open counts the dead letters of a hospital that have not been retried.
func (d *deadLetters) open(hospital string) int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	n := 0
	for i := range d.all[hospital] {
		if d.all[hospital][i].retriedAt == 0 {
			n++
		}
	}
	return n
}

// list is [readapi.DeadLetters].
func (d *deadLetters) list(hospital string) []readapi.DeadLetter {
	all := d.ofHospital(hospital)
	shown := make([]readapi.DeadLetter, len(all))
	for i := range all {
		l := &all[i]
		shown[i] = readapi.DeadLetter{
			ID: letterID(l), Topic: l.Topic, Partition: l.Partition, Offset: l.Offset,
			Reason: l.Reason, SchemaID: int32(l.Schema), Version: l.Version, At: l.At.Time(), RetriedAt: l.retriedAt.Time(),
		}
	}
	return shown
}

// letterID returns the id of a dead letter: the position of its record. It is unique over all
// hospitals.
func letterID(l *deadLetter) string {
	return ingest.Position{Partition: l.Partition, Offset: l.Offset}.String()
}

// reasonGone is the reason for a record that retention has deleted.
const reasonGone = "record_gone"

// retried records that the observation of a dead letter was ingested again. The record has the
// key of the dead letter, and follows it.
func (d *deadLetters) retried(ctx context.Context, hospital, id string) error {
	all := d.ofHospital(hospital)
	at := slices.IndexFunc(all, func(l deadLetter) bool { return letterID(&l) == id })
	if at < 0 || all[at].retriedAt != 0 {
		return nil
	}
	letter := all[at].DeadLetter
	letter.Reason, letter.At = schemas.Retried, acuity.At(time.Now())
	value, err := schemas.EncodeDeadLetter(nil, &letter)
	if err != nil {
		return err
	}
	return d.table.Put(ctx, string(verdict.DeadLetterKey(hospital, letter.Version)), value)
}

// observation is [ingest.DeadLetter].
func (d *deadLetters) observation(ctx context.Context, hospital, id string) (*acuity.Observation, error) {
	all := d.ofHospital(hospital)
	at := slices.IndexFunc(all, func(l deadLetter) bool { return letterID(&l) == id })
	if at < 0 || all[at].Topic != schemas.Observations().Name {
		return nil, ingest.ErrNoDeadLetter
	}
	letter := &all[at]
	var record *stream.Record
	// If retention has deleted the record, From reads the next one. If there is no next one, ctx
	// ends the wait.
	err := d.cluster.From(ctx, d.prefix+letter.Topic, letter.Partition, letter.Offset, func(r stream.Record) bool {
		if r.Offset == letter.Offset {
			record = &r
		}
		return false
	})
	if err != nil {
		return nil, fmt.Errorf("read dead letter: %w", err)
	}
	if record == nil {
		return nil, &ingest.UnreadableError{Reason: reasonGone}
	}
	o, err := verdict.Decode(*record)
	if poison := (*stream.PoisonError)(nil); errors.As(err, &poison) {
		return nil, &ingest.UnreadableError{Reason: poison.Reason}
	} else if err != nil {
		return nil, err
	}
	if o.Hospital != hospital { // the record belongs to another hospital, or to none
		return nil, ingest.ErrNoDeadLetter
	}
	return o, nil
}
