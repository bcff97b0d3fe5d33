// Package verdict turns observations into changes. It is the work on one partition of
// the observations: it keeps the facts of each hospital of the partition, and turns
// every observation and every due instant into one change. Once the changes are
// durable it gives the changed charts to the view.
//
// Its memory is a function of the changelog. Package acuity/hospital makes the changes. Package
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

// kindDeadLetter marks the key of an output that is a dead letter.
const kindDeadLetter = "dead-letter"

// DeadLetterKey returns the key of the dead letter of a change, by its hospital and version.
func DeadLetterKey(hospital string, version int64) []byte {
	return []byte(schemas.Key{Hospital: hospital, Kind: kindDeadLetter, ID: strconv.FormatInt(version, 10)}.String())
}

// IsDeadLetter reports whether an output with this key is a dead letter. It goes to
// the dead-letter topic and not to the changelog.
func IsDeadLetter(key []byte) bool {
	_, rest, _ := bytes.Cut(key, []byte("/"))
	return bytes.HasPrefix(rest, []byte(kindDeadLetter+"/"))
}

// View receives the charts of the hospitals as they become durable. Its methods
// return at once. It keeps a chart that it cannot write yet, the latest of each
// hospital.
type View interface {
	// Own gives a partition with the charts of all its hospitals to the calling task.
	// The task that owned it before may still be closing: calls of its own OwnedView
	// have no effect any more.
	Own(partition int32, applied int64, charts []Chart) OwnedView
}

// OwnedView is a partition of the view that one task owns.
type OwnedView interface {
	// Show passes the charts that one transaction changed.
	Show(applied int64, charts []Chart)
	// Disown ends the ownership.
	Disown()
}

// Chart is the encoded chart of one hospital, or its changes.
type Chart struct {
	Hospital string
	Version  int64
	Unit     []byte
	Rooms    map[int32][]byte // nil value: the room is gone
	// LocalSettings holds the records that administrators see in lists, by key
	// without the hospital; nil value: the record is gone.
	LocalSettings map[string][]byte
}

// Tasks returns the function that makes the task of a partition. The view may be nil.
func Tasks(view View) func(partition int32) stream.Task {
	return func(partition int32) stream.Task {
		return &task{partition: partition, view: view, hospitals: map[string]*hospitalEntry{}}
	}
}

// advanceAtMost bounds the due instants that fire between two polls, so that overdue
// timers of many hospitals do not starve the input: 200 take about 10 ms. A full hour
// is due at all hospitals at once. It counts as hourWeight instants, and one more for
// each visitsPerWeight visits. An hour of a backfill counts pastWeight more, because
// it is judged a second time.
const (
	advanceAtMost   = 200
	hourWeight      = 4
	pastWeight      = 4
	visitsPerWeight = 8

	// The past of a backfill is applied again in pieces of recallAtOnce events. An
	// event takes 50 µs, or 120 µs in a unit of 7,000 births.
	recallAtOnce = 40
	eventWeight  = 2
)

// task is the work on one partition. [stream.Task] describes the calls of its methods.
type task struct {
	partition int32
	view      View          // nil: there is none
	owned     OwnedView     // from Restored on
	change    acuity.Change // that is being encoded
	hospitals map[string]*hospitalEntry
	timers    timers
	next      int64 // input offset not yet applied
	weight    int   // of the instants that fired in this Advance
	intake    schemas.Intake

	changes []output         // of this transaction, in order
	touched []*hospitalEntry // in this transaction
	charts  []Chart          // charts of the last Outputs, until they are durable
	scratch []byte           // for records
	piece   []byte           // of memory, see keepRecord
}

// hospital is one tenant of the partition.
type hospitalEntry struct {
	id      string
	key     []byte
	unit    *hospital.State
	head    []byte         // newest record of a change, for a checkpoint
	due     acuity.Instant // sort key in timers
	index   int            // in timers; -1: not there
	touched bool
	scratch []byte // for charts
	local   localSettings

	restoring []restoring // until Restored
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

// Decode reads an observation from its record. The error is a
// *[stream.PoisonError]: the record can never be applied by this release.
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

// weigh returns the cost of a due instant. A judgment alone costs 1.
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

// fireDue fires the due instants of a hospital up to upTo: no more than most, or
// all if most is negative.
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
	t.change = change // a pointer to the parameter would be a new change on the heap
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

// keepRecord returns a copy of a record until it is durable. Small records share pieces of
// memory: a processor writes three of them for each input.
func (t *task) keepRecord(record []byte) []byte {
	const pieceSize = 16 << 10
	if len(record) > cap(t.piece)-len(t.piece) {
		t.piece = make([]byte, 0, max(pieceSize, len(record)))
	}
	begin := len(t.piece)
	t.piece = append(t.piece, record...)
	return slices.Clip(t.piece[begin:])
}

// emitStates emits the state records of a hospital that each yields.
func (t *task) emitStates(each func(func([]byte, facts.Record)), emit func(key, value []byte)) (err error) {
	each(func(key []byte, s facts.Record) {
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

// Live emits one hospital at a time, so that a checkpoint of hundreds does not delay
// inputs.
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
	h := x.(*hospitalEntry) //nolint:errcheck // container/heap gives back what it was given
	h.index = len(*t)
	*t = append(*t, h)
}

func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	last.index = -1
	return last
}

// schedule sets the timer of a hospital to the due instant of its unit.
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
