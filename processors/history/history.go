// Package history trains the forecast model of each hospital. Its task processes one partition of the snapshots topic:
// it updates a hospital's model with each hourly snapshot.
//
// A backfill adds hours that precede the hours that the model has learned. When the backfill's last hour arrives, the
// model is learned again from the topic.
package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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

// Config holds the dependencies of the tasks.
type Config struct {
	// Zone returns the time zone of a hospital.
	Zone func(hospital string) *time.Location
	// Past calls fn with the value of every committed snapshot that was written to a partition since the given
	// instant.
	Past func(partition int32, since time.Time, fn func(value []byte) error) error
	// Older calls fn for those changes in a partition that the history processor of the previous build has not read.
	// It is called only while no model in the partition has a position in the snapshots topic. Older may be nil.
	Older func(partition int32, fn func(stream.Record) error) error
	// View receives the models as charts without rooms; it may be nil. A chart contains only those fields of a model
	// that readers need. The chart's version increases with each model.
	View verdict.View
}

// Tasks returns the function that creates the task of a partition.
func Tasks(cfg Config) func(partition int32) stream.Task {
	return func(partition int32) stream.Task {
		return &task{Config: cfg, partition: partition, hospitals: map[string]*hospital{}}
	}
}

// task processes one partition. [stream.Task] documents its methods.
type task struct {
	Config
	partition int32
	owned     verdict.OwnedView // set by Restored; nil without a View
	hospitals map[string]*hospital
	next      int64 // offset of the next input record

	older   []schemas.Snapshot // snapshots from Older that are not written yet
	touched []*hospital        // hospitals changed in this transaction
	shown   []verdict.Chart    // models from the last call to Outputs, until they are durable
}

// hospital is the state of one hospital of the partition.
type hospital struct {
	id      string
	model   *forecast.Model
	copied  int32 // hour of the last accepted snapshot that is not part of a backfill
	past    int32 // hour of the last accepted snapshot from the last backfill
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
		return nil // this record is not a model
	}
	m, err := schemas.ModelCodec.Decode(r.Value)
	if err != nil {
		return fmt.Errorf("restore model at %d: %w", r.Offset, err)
	}
	h := t.hospital(string(r.Key))
	h.copied, h.past, h.backed = m.Copied, m.PastHour, m.PastGeneration
	var same bool
	if h.model, same = m.Forecast(); !same {
		h.model.Version = 0 // makes Restored learn the model again
	}
	h.model.Offset = m.Position
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
	if err := t.learnOlder(); err != nil {
		return 0, err
	}
	if t.View != nil {
		models := make([]verdict.Chart, 0, len(t.hospitals))
		e := encoders.Get().(*encoder) //nolint:errcheck // the pool contains nothing else
		defer encoders.Put(e)
		for _, h := range t.sorted() {
			e.record.CopyFrom(h.model)
			m, err := e.encodeChart(h)
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
	s, err := schemas.SnapshotCodec.Decode(r.Value)
	if err != nil {
		return &stream.PoisonError{Reason: "malformed_record", Err: err}
	}
	return t.learn(s)
}

// learn accepts a snapshot, unless the hospital has already accepted it. A snapshot that is not part of a backfill
// updates the model immediately. The last snapshot of a backfill makes the hospital learn its model again from all
// accepted snapshots.
func (t *task) learn(s *schemas.Snapshot) error {
	h := t.hospital(s.Hospital)
	if !h.acceptSnapshot(&s.Snapshot) {
		return nil
	}
	h.model.Offset = t.next
	if !h.touched {
		h.touched = true
		t.touched = append(t.touched, h)
	}
	switch s.Snapshot.Backfill {
	case 0:
		forecast.Learn(h.model, &s.Snapshot, t.Zone(h.id))
	case 1: // the last hour of the backfill
		return t.relearn(h)
	}
	return nil
}

// acceptSnapshot marks a snapshot as accepted, and reports whether it was new.
func (h *hospital) acceptSnapshot(s *acuity.Snapshot) bool {
	switch {
	case h.includes(s):
		return false
	case s.Backfill == 0:
		h.copied = s.Hour
	default:
		h.past, h.backed = s.Hour, s.Generation
	}
	return true
}

// includes reports whether the hospital has accepted a snapshot.
func (h *hospital) includes(s *acuity.Snapshot) bool {
	if s.Backfill == 0 {
		return s.Hour <= h.copied
	}
	return s.Generation < h.backed || s.Generation == h.backed && s.Hour <= h.past
}

// Reject ignores a snapshot that cannot be decoded; the loop counts it.
func (t *task) Reject(stream.Record, string) error { return nil }

func (t *task) Due() time.Time          { return time.Time{} }
func (t *task) Advance(time.Time) error { return nil }

func (t *task) Outputs(emit func(key, value []byte)) error {
	if err := t.emitOlder(emit); err != nil {
		return err
	}
	e := encoders.Get().(*encoder) //nolint:errcheck // the pool contains nothing else
	defer encoders.Put(e)
	for _, h := range t.touched {
		h.touched = false
		value, err := e.encodeModel(h)
		if err != nil {
			return err
		}
		emit([]byte(h.id), value)
		if t.View == nil {
			continue
		}
		shown, err := e.encodeChart(h)
		if err != nil {
			return err
		}
		t.shown = append(t.shown, shown)
	}
	t.touched = t.touched[:0]
	return nil
}

// encoder encodes one model at a time and reuses its memory. An encoded model is about 40 kB long.
type encoder struct {
	record  schemas.Model // record of the model that was encoded last
	scratch []byte
}

// encoders pools encoders. The encoded records are not pooled: while a processor catches up, a pool of records would
// hold one record for each hospital between transactions.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

// encodeModel converts the model of a hospital to its record, and returns the encoded record.
func (e *encoder) encodeModel(h *hospital) ([]byte, error) {
	e.record.CopyFrom(h.model)
	e.record.Copied, e.record.PastHour, e.record.PastGeneration = h.copied, h.past, h.backed
	return e.encode(&e.record)
}

// encodeChart returns the chart of the hospital whose model was encoded last. The chart contains the model's record
// without the fields that readers do not need.
func (e *encoder) encodeChart(h *hospital) (verdict.Chart, error) {
	m := e.record
	m.Copied, m.PastHour, m.PastGeneration, m.Pending = 0, 0, 0, nil
	value, err := e.encode(&m)
	return verdict.Chart{Hospital: h.id, Version: h.model.Offset + 1, Unit: value}, err
}

func (e *encoder) encode(m *schemas.Model) ([]byte, error) {
	encoded, err := schemas.ModelCodec.Encode(e.scratch[:0], m)
	if e.scratch = encoded; err != nil {
		return nil, fmt.Errorf("encode model: %w", err)
	}
	return slices.Clone(encoded), nil // Clone allocates once, at the exact size; encoding into nil would allocate three times
}

func (t *task) Committed() {
	if len(t.shown) > 0 {
		t.owned.Show(t.next-1, t.shown)
		t.shown = nil
	}
}

// Live returns a function that emits one hospital per call.
func (t *task) Live() func(emit func(key, value []byte)) (more bool, err error) {
	all, e := t.sorted(), new(encoder)
	return func(emit func(key, value []byte)) (bool, error) {
		if len(all) == 0 {
			return false, nil
		}
		h := all[0]
		all = all[1:]
		value, err := e.encodeModel(h)
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
