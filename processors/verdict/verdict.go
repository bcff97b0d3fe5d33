// Package verdict turns observations into changes. Its task processes one partition of the observations topic: it keeps
// the facts of each hospital in memory, and turns every observation and every due instant into one change. An hourly
// snapshot is a separate record in the same transaction. Once the changes are durable, the task passes the changed
// charts to the view.
//
// The state in memory is a function of the changelog. Package acuity/hospital computes the changes. Package
// internal/stream applies each input exactly once.
package verdict

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/internal/stream"
	"svc/schemas"
)

// Group is the consumer group of the verdict processors.
const Group = "svc-verdict"

// The kinds in the keys of outputs that are not changelog records.
const kindDeadLetter, kindSnapshot = "dead-letter", "snapshot"

// DeadLetterKey returns the key of a hospital's dead letter, from the version of the change that rejected the record.
func DeadLetterKey(hospital string, version int64) []byte {
	return []byte(schemas.Key{Hospital: hospital, Kind: kindDeadLetter, ID: strconv.FormatInt(version, 10)}.String())
}

// IsDeadLetter reports whether an output with this key belongs to the dead-letter topic rather than the changelog.
func IsDeadLetter(key []byte) bool { return hasKind(key, kindDeadLetter) }

func hasKind(key []byte, kind string) bool {
	_, rest, _ := bytes.Cut(key, []byte("/"))
	return len(rest) > len(kind) && rest[len(kind)] == '/' && string(rest[:len(kind)]) == kind
}

// View receives the charts of the hospitals as they become durable. Its methods do not block. While it cannot write
// charts, it keeps each hospital's latest chart.
type View interface {
	// Own assigns a partition to the calling task. charts contains the charts of all hospitals of the partition, and
	// applied is the offset of the last input that they include. Calls to the OwnedView of the previous owner no
	// longer have any effect.
	Own(partition int32, applied int64, charts []Chart) OwnedView
}

// OwnedView is a partition of the view that a task owns.
type OwnedView interface {
	// Show passes to the view the charts that one transaction changed, with the offset of the last input in them.
	Show(applied int64, charts []Chart)
	// Disown ends the task's ownership of the partition.
	Disown()
}

// Chart is the encoded chart of one hospital, or the changed parts of it.
type Chart struct {
	Hospital string
	Version  int64
	Unit     []byte
	Rooms    map[int32][]byte // nil value: the room was deleted
	// LocalSettings contains the records that administrators list. Its keys omit the hospital. A nil value means that
	// the record was deleted.
	LocalSettings map[string][]byte
}

// Tasks returns the function that creates the task of a partition. The view may be nil.
func Tasks(view View) func(partition int32) stream.Task {
	return func(partition int32) stream.Task {
		return &task{partition: partition, view: view, hospitals: map[string]*hospitalEntry{}}
	}
}

// advanceAtMost is the maximum total weight of the due instants that are processed between two polls. The limit keeps
// overdue timers of many hospitals from starving the input; a weight of 200 takes about 10 ms. An hour mark, which is
// due at all hospitals at once, has the weight hourWeight plus one for every visitsPerWeight visits. An hour of a
// backfill weighs pastWeight more, because it is evaluated a second time.
const (
	advanceAtMost   = 200
	hourWeight      = 4
	pastWeight      = 4
	visitsPerWeight = 8

	// A backfill is replayed in batches of recallAtOnce events. Replaying an event takes 50 µs, or 120 µs in a unit
	// with 7,000 births a year.
	recallAtOnce = 40
	eventWeight  = 2
)

// task processes one partition. [stream.Task] documents its methods.
type task struct {
	partition int32
	view      View          // nil: the task has no view
	owned     OwnedView     // set by Restored
	change    acuity.Change // the change that is being encoded
	hospitals map[string]*hospitalEntry
	timers    timers
	next      int64 // offset of the next input record
	weight    int   // total weight processed by the current call to Advance
	intake    schemas.Intake

	changes []output         // outputs of this transaction, in order
	touched []*hospitalEntry // hospitals changed in this transaction
	charts  []Chart          // charts from the last call to Outputs, until they are durable
	scratch []byte           // memory for encoding records
	piece   []byte           // memory for small records, see keepRecord
}

// hospitalEntry is the state of one hospital of the partition.
type hospitalEntry struct {
	id      string
	key     []byte
	unit    *hospital.State
	head    []byte         // newest change record, for a checkpoint
	due     acuity.Instant // sort key in timers
	index   int            // index in timers; -1: not in timers
	touched bool
	scratch []byte // memory for encoding charts
	local   localSettings
	levels  LevelTime // time at each level since Restored

	restoring []restoring // records to restore; nil after Restored
}

type output struct{ key, value []byte }

func (t *task) hospital(id string) *hospitalEntry {
	h := t.hospitals[id]
	if h == nil {
		h = &hospitalEntry{id: id, key: []byte(id), unit: hospital.New(id), index: -1, local: localSettings{unknown: map[int32]bool{}}}
		t.hospitals[id] = h
	}
	return h
}

// Decode decodes an observation from its Kafka record. Its error is a *[stream.PoisonError], which means that this
// release can never apply the record.
func Decode(r stream.Record) (*acuity.Observation, error) {
	return decoded(schemas.ReadInput(r.Key, r.Value))
}

func decoded(o *acuity.Observation, reason string, err error) (*acuity.Observation, error) {
	if err != nil {
		return nil, &stream.PoisonError{Reason: reason, Err: err}
	}
	return o, nil
}

func (t *task) Apply(r stream.Record) error {
	o, err := decoded(t.intake.Read(r.Key, r.Value))
	if err != nil {
		return err
	}
	h := t.hospital(o.Hospital)
	if err := t.fireDue(h, o.ReceivedAt, -1); err != nil {
		return err
	}
	return t.recordChange(h, h.unit.Apply(o, r.Offset))
}

func (t *task) Reject(r stream.Record, reason string) error {
	id := schemas.InputHospital(r.Key)
	h := t.hospital(id)
	if err := t.fireDue(h, acuity.At(r.Timestamp), -1); err != nil {
		return err
	}
	change := h.unit.Reject(reason, acuity.At(r.Timestamp), r.Offset)
	letter := schemas.DeadLetter{
		Topic: schemas.Observations().Name, Partition: r.Partition, Offset: r.Offset,
		Hospital: id, Version: change.Version, Reason: reason, At: change.AppliedAt,
	}
	letter.Schema, _ = schemas.IDOf(r.Value)
	value, err := schemas.DeadLetterCodec.Encode(nil, &letter)
	if err != nil {
		return fmt.Errorf("encode dead letter: %w", err)
	}
	t.changes = append(t.changes, output{DeadLetterKey(id, change.Version), value})
	return t.recordChange(h, change)
}

func (t *task) Due() time.Time {
	if len(t.timers) == 0 {
		return time.Time{}
	}
	return t.timers[0].due.Time()
}

func (t *task) Advance(now time.Time) error {
	at := acuity.At(now)
	for t.weight = 0; t.weight < advanceAtMost && len(t.timers) > 0 && t.timers[0].due <= at; {
		h := t.timers[0]
		applied, there := h.unit.Recall(at, recallAtOnce)
		t.weight += applied * eventWeight
		if !there {
			continue
		}
		if err := t.fireDue(h, at, 1); err != nil {
			return err
		}
	}
	return nil
}

// weigh returns the weight of the due instant that caused a change; see advanceAtMost. If the change has no snapshot,
// the weight is 1.
func weigh(c *acuity.Change) int {
	if c.Snapshot == nil {
		return 1
	}
	weight := hourWeight + len(c.Snapshot.Visits)/visitsPerWeight
	if c.Snapshot.Backfill > 0 {
		weight += pastWeight
	}
	return weight
}

// fireDue processes the due instants of a hospital up to and including upTo. most is the maximum number to process; a
// negative most means all.
func (t *task) fireDue(h *hospitalEntry, upTo acuity.Instant, most int) error {
	for ; most != 0; most-- {
		change, ok := h.unit.Advance(upTo)
		if !ok {
			t.schedule(h)
			return nil
		}
		t.weight += weigh(&change)
		if err := t.recordChange(h, change); err != nil {
			return err
		}
	}
	return nil
}

// recordChange encodes one change of a hospital for Outputs.
func (t *task) recordChange(h *hospitalEntry, change acuity.Change) error {
	seconds := h.levels.Add(&change)
	if change.Snapshot != nil {
		if err := t.recordSnapshot(h, change.Snapshot, seconds); err != nil {
			return err
		}
		change.Snapshot = nil // snapshots have their own topic
	}
	t.change = change // taking the parameter's address would allocate a change on the heap
	encoded, err := schemas.ChangeCodec.Encode(t.scratch[:0], &t.change)
	t.scratch = encoded
	if err != nil {
		return fmt.Errorf("encode change: %w", err)
	}
	h.head = append(h.head[:0], encoded...)
	t.changes = append(t.changes, output{h.key, t.keepRecord(encoded)})
	if change.Cause == acuity.CauseIngest {
		t.next = change.Offset + 1
	}
	if !h.touched {
		h.touched = true
		t.touched = append(t.touched, h)
	}
	t.schedule(h)
	return nil
}

func (t *task) Outputs(emit func(key, value []byte)) error {
	for _, o := range t.changes {
		emit(o.key, o.value)
	}
	clear(t.changes)
	t.changes = t.changes[:0]
	for _, h := range t.touched {
		h.touched = false
		var current facts.Record
		if err := t.emitStates(func(write func([]byte, facts.Record)) {
			h.unit.Dirty(func(key []byte, s facts.Record) {
				current = s
				write(key, s)
			})
		}, func(key, value []byte) {
			emit(key, value)
			if t.view != nil {
				h.local.addRecord(h.id, key, current, value)
			}
		}); err != nil {
			return err
		}
		if t.view != nil {
			chart, err := changedChart(h)
			if err != nil {
				return err
			}
			t.charts = append(t.charts, chart)
		}
	}
	t.touched = t.touched[:0]
	return nil
}

// keepRecord returns a copy of a record. The copy is valid until the record is durable. Small records share blocks of
// memory, because a processor writes three records for each input.
func (t *task) keepRecord(record []byte) []byte {
	const pieceSize = 16 << 10
	if len(record) > cap(t.piece)-len(t.piece) {
		t.piece = make([]byte, 0, max(pieceSize, len(record)))
	}
	begin := len(t.piece)
	t.piece = append(t.piece, record...)
	return slices.Clip(t.piece[begin:])
}

// emitStates emits the state records that fn passes to its callback. A nil record marks the deletion of its key.
func (t *task) emitStates(fn func(func([]byte, facts.Record)), emit func(key, value []byte)) (err error) {
	fn(func(key []byte, s facts.Record) {
		key = t.keepRecord(key)
		if s == nil {
			emit(key, nil)
			return
		}
		encoded, fault := schemas.EncodeState(t.scratch[:0], s)
		t.scratch = encoded
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("encode state: %w", fault))
			return
		}
		emit(key, t.keepRecord(encoded))
	})
	return err
}

func (t *task) Committed() {
	if t.view != nil {
		t.owned.Show(t.next-1, t.charts)
		t.charts = nil
	}
}

// Live returns a function that emits one hospital per call, so that a checkpoint of hundreds of hospitals does not
// delay inputs.
func (t *task) Live() func(emit func(key, value []byte)) (more bool, err error) {
	left := slices.Collect(maps.Values(t.hospitals))
	return func(emit func(key, value []byte)) (bool, error) {
		for len(left) > 0 {
			h := left[0]
			left = left[1:]
			if h.head == nil {
				continue
			}
			emit(h.key, slices.Clone(h.head))
			return len(left) > 0, t.emitStates(h.unit.Records, emit)
		}
		return false, nil
	}
}

func (t *task) Close() {
	if t.owned != nil {
		t.owned.Disown()
	}
}

// timers is a heap of hospitals by due instant, earliest first.
type timers []*hospitalEntry

func (t timers) Len() int           { return len(t) }
func (t timers) Less(a, b int) bool { return t[a].due < t[b].due }
func (t timers) Swap(a, b int)      { t[a], t[b] = t[b], t[a]; t[a].index, t[b].index = a, b }

func (t *timers) Push(x any) {
	h := x.(*hospitalEntry) //nolint:errcheck // the heap contains only this type
	h.index = len(*t)
	*t = append(*t, h)
}

func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	last.index = -1
	return last
}

// schedule sets the timer of a hospital to the next due instant of its unit.
func (t *task) schedule(h *hospitalEntry) {
	due := h.unit.Due()
	switch {
	case due == h.due && (due == 0) == (h.index < 0):
	case due == 0:
		heap.Remove(&t.timers, h.index)
		h.due = 0
	case h.index < 0:
		h.due = due
		heap.Push(&t.timers, h)
	default:
		h.due = due
		heap.Fix(&t.timers, h.index)
	}
}
