// Package history trains the forecast model of each hospital. Its task processes one partition of the verdicts topic:
// it copies each hourly snapshot once and updates the model of the hospital.
//
// A backfill adds hours before those that the model has learned. The model is then learned again from the copied
// snapshots.
package history

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/schemas"
)

// Group is the consumer group of the history processors.
const Group = "svc-history"

// kindSnapshot is the kind in the key of an output that is a snapshot.
const kindSnapshot = "snapshot"

// IsSnapshot reports whether an output with this key belongs to the snapshots topic rather than the models topic.
func IsSnapshot(key []byte) bool {
	_, kind, _ := bytes.Cut(key, []byte("/"))
	return bytes.HasPrefix(kind, []byte(kindSnapshot+"/"))
}

// Config holds the dependencies of the tasks.
type Config struct {
	// Zone returns the time zone of a hospital.
	Zone func(hospital string) *time.Location
	// Past calls each with the value of every committed snapshot of a partition that was written at or after since.
	Past func(partition int32, since time.Time, each func(value []byte) error) error
	// View receives the models as charts without rooms; it may be nil. A chart has only the fields of a model that
	// readers need, and its version increases with each model.
	View verdict.View
}

// Tasks returns the function that creates the task of a partition.
func Tasks(cfg Config) func(partition int32) stream.Task {
	return func(partition int32) stream.Task {
		return &task{Config: cfg, partition: partition, hospitals: map[string]*hospital{}, levels: map[string]*levelTime{}}
	}
}

// task processes one partition. [stream.Task] documents its methods.
type task struct {
	Config
	partition int32
	owned     verdict.OwnedView // set by Restored; nil without a View
	hospitals map[string]*hospital
	levels    map[string]*levelTime // by hospital, since Restored
	next      int64                 // offset of the next input

	snapshots []schemas.Snapshot // of this transaction, in order
	touched   []*hospital        // changed in this transaction
	shown     []verdict.Chart    // models of the last Outputs, until they are durable
}

// hospital is the state of one hospital of the partition.
type hospital struct {
	id      string
	model   *forecast.Model
	copied  int32 // hour of the last copied snapshot that is not part of a backfill
	past    int32 // hour of the last copied snapshot of the last backfill
	backed  int32 // generation of the last backfill
	touched bool
}

func (t *task) hospital(id string) *hospital {
	h := t.hospitals[id]
	if h == nil {
		h = &hospital{id: id, model: forecast.NewModel(id)}
		t.hospitals[id] = h
	}
	return h
}

func (t *task) Restore(r stream.Record) error {
	if !schemas.IsChange(r.Key) || r.Value == nil {
		return nil // not a model
	}
	m, err := schemas.ModelCodec.Decode(r.Value)
	if err != nil {
		return fmt.Errorf("restore model at %d: %w", r.Offset, err)
	}
	h := t.hospital(string(r.Key))
	h.copied, h.past, h.backed = m.Copied, m.PastHour, m.PastGeneration
	var same bool
	if h.model, same = m.Forecast(); !same {
		h.model.Version = 0 // Restored learns it again
	}
	h.model.Offset = m.Offset
	return nil
}

func (t *task) Restored() (int64, error) {
	var other []*hospital
	for _, h := range t.hospitals {
		t.next = max(t.next, h.model.Offset)
		if h.model.Version == 0 {
			other = append(other, h)
		}
	}
	if err := t.relearn(other...); err != nil {
		return 0, err
	}
	if t.View != nil {
		models := make([]verdict.Chart, 0, len(t.hospitals))
		for _, h := range t.sorted() {
			m, err := h.show(h.record(new(schemas.Model)))
			if err != nil {
				return 0, err
			}
			models = append(models, m)
		}
		t.owned = t.View.Own(t.partition, t.next-1, models)
	}
	return t.next, nil
}

func (t *task) sorted() []*hospital {
	return slices.SortedFunc(maps.Values(t.hospitals), func(a, b *hospital) int { return cmp.Compare(a.id, b.id) })
}

func (t *task) Apply(r stream.Record) error {
	t.next = r.Offset + 1
	if !schemas.IsChange(r.Key) {
		return nil
	}
	head, err := schemas.PeekChange(r.Value)
	if err == nil && head.Cause != acuity.CauseTime {
		t.levelOf(r.Key, &head).setLevel(head.Level, head.AppliedAt)
		return nil // the common case: only changes caused by time have a snapshot
	}
	c, err := schemas.ChangeCodec.Decode(r.Value)
	if err != nil {
		return &stream.PoisonError{Reason: "malformed_record", Err: err}
	}
	levels := t.levelOf(r.Key, &head)
	if c.Snapshot == nil {
		levels.setLevel(c.Level, c.AppliedAt)
		return nil
	}
	var seconds []int32
	if c.Snapshot.Backfill == 0 {
		seconds = levels.finishHour(acuity.Instant(c.Snapshot.Hour) * hourMillis)
		levels.setLevel(c.Level, c.AppliedAt)
	}
	h := t.hospital(string(r.Key))
	if !h.acceptSnapshot(c.Snapshot) {
		return nil
	}
	h.model.Offset = t.next
	if !h.touched {
		h.touched = true
		t.touched = append(t.touched, h)
	}
	t.snapshots = append(t.snapshots, schemas.Snapshot{Hospital: h.id, Snapshot: *c.Snapshot, LevelSeconds: seconds})
	switch c.Snapshot.Backfill {
	case 0:
		forecast.Learn(h.model, c.Snapshot, t.Zone(h.id))
	case 1: // the last hour of the backfill
		return t.relearn(h)
	}
	return nil
}

// levelOf returns the level time of a hospital, which starts with the first change after a restore.
func (t *task) levelOf(hospital []byte, first *schemas.ChangeHead) *levelTime {
	l := t.levels[string(hospital)]
	if l == nil {
		l = &levelTime{level: first.Level, since: first.AppliedAt}
		t.levels[string(hospital)] = l
	}
	return l
}

// acceptSnapshot marks a snapshot as copied, and reports whether it was new.
func (h *hospital) acceptSnapshot(s *acuity.Snapshot) bool {
	if s.Backfill == 0 {
		if s.Hour <= h.copied {
			return false
		}
		h.copied = s.Hour
		return true
	}
	if s.Generation < h.backed || s.Generation == h.backed && s.Hour <= h.past {
		return false
	}
	h.past, h.backed = s.Hour, s.Generation
	return true
}

// Reject ignores a change that cannot be decoded; the loop counts it.
func (t *task) Reject(stream.Record, string) error { return nil }

func (t *task) Due() time.Time          { return time.Time{} }
func (t *task) Advance(time.Time) error { return nil }

func (t *task) Outputs(emit func(key, value []byte)) error {
	for i := range t.snapshots {
		s := &t.snapshots[i]
		value, err := schemas.SnapshotCodec.Encode(nil, s)
		if err != nil {
			return fmt.Errorf("encode snapshot: %w", err)
		}
		emit([]byte(schemas.Key{Hospital: s.Hospital, Kind: kindSnapshot, ID: strconv.Itoa(int(s.Snapshot.Hour))}.String()), value)
	}
	t.snapshots = t.snapshots[:0]
	m := models.Get().(*schemas.Model) //nolint:errcheck // nothing else is put there
	defer models.Put(m)
	for _, h := range t.touched {
		h.touched = false
		h.record(m)
		value, err := encode(m)
		if err != nil {
			return err
		}
		emit([]byte(h.id), value)
		if t.View == nil {
			continue
		}
		shown, err := h.show(m)
		if err != nil {
			return err
		}
		t.shown = append(t.shown, shown)
	}
	t.touched = t.touched[:0]
	return nil
}

// models pools the records to which models are converted for encoding, about 40 KB each. The encoded bytes are not
// pooled, because a pool held one buffer for each hospital between transactions while a processor caught up.
var models = sync.Pool{New: func() any { return new(schemas.Model) }}

// record fills m with the stored record of the hospital and returns it.
func (h *hospital) record(m *schemas.Model) *schemas.Model {
	m.CopyFrom(h.model)
	m.Copied, m.PastHour, m.PastGeneration = h.copied, h.past, h.backed
	return m
}

func encode(m *schemas.Model) ([]byte, error) {
	value, err := schemas.ModelCodec.Encode(nil, m)
	if err != nil {
		return nil, fmt.Errorf("encode model: %w", err)
	}
	return value, nil
}

// show returns the chart of the stored record, without the fields that readers do not need.
func (h *hospital) show(written *schemas.Model) (verdict.Chart, error) {
	m := *written
	m.Copied, m.PastHour, m.PastGeneration, m.Pending = 0, 0, 0, nil
	value, err := encode(&m)
	return verdict.Chart{Hospital: h.id, Version: h.model.Offset, Unit: value}, err
}

func (t *task) Committed() {
	if len(t.shown) > 0 {
		t.owned.Show(t.next-1, t.shown)
		t.shown = nil
	}
}

// Live returns a function that emits one hospital per call.
func (t *task) Live() func(emit func(key, value []byte)) (more bool, err error) {
	all := t.sorted()
	return func(emit func(key, value []byte)) (bool, error) {
		if len(all) == 0 {
			return false, nil
		}
		h := all[0]
		all = all[1:]
		value, err := encode(h.record(new(schemas.Model)))
		if err != nil {
			return false, err
		}
		emit([]byte(h.id), value)
		return len(all) > 0, nil
	}
}

func (t *task) Close() {
	if t.owned != nil {
		t.owned.Disown()
	}
}
