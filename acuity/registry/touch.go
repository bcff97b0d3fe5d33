package registry

import (
	"maps"
	"math/bits"
	"slices"

	"svc/acuity"
)

// mark is a set of marks on a room or a visit. Touched requests that the state of the room or visit be derived again.
// The other marks record what has changed and what must still be written.
type mark uint16

// The marks.
const (
	Touched mark = 1 << iota // room or visit: everything must be derived again
	Rejudge                  // room: its chart has changed since the last verdict
	Named                    // room: the input concerns this room
	Unsaved                  // room or visit: its record is not written yet
	Unshown                  // room: its chart is not written yet

	marks = iota // number of marks
)

// marked contains, for each mark, a list of the rooms or visits that have the mark, in the order in which they were
// marked.
type marked[T any] [marks][]T

// With returns the rooms or visits with a mark.
func (l *marked[T]) With(m mark) []T { return l[m.Bit()] }

// Reset clears the list of a mark. It reuses the memory, unless the list is very long.
func (l *marked[T]) Reset(m mark) {
	list := &l[m.Bit()]
	clear(*list)
	if *list = (*list)[:0]; cap(*list) > keptMarks {
		*list = nil
	}
}

// keptMarks is the maximum length of a list whose memory is reused.
const keptMarks = 1024

// add adds a room or a visit to the lists of the given marks.
func (l *marked[T]) add(of T, several mark) {
	for ; several != 0; several &= several - 1 {
		l[several.Bit()] = append(l[several.Bit()], of)
	}
}

// Bit returns the bit number of the lowest mark in the set.
func (m mark) Bit() int { return bits.TrailingZeros16(uint16(m)) }

// work lists the work for the next steps, and holds buffers for these steps.
type work struct {
	Rooms  marked[*Room]
	Visits marked[*Visit]

	Rearranged     bool // whether the rooms in the chart differ from those in the verdict
	RecountWaiting bool // whether the waiting statements and cancels must be counted again
	DropPast       bool // whether the replay of past hours must be created again

	Plain bool // whether everything is derived again at each step, as in a unit from hospital.NewPlain

	// The fields below describe the pending work on the room table, which is done before anything is derived.
	RebuildTable  bool               // whether to rebuild the table from the facts
	Relabel       bool               // whether to update the table with the labels
	TableChanged  bool               // whether the table's results have changed
	DroppedPlaces []*acuity.Location // places of dropped events

	Unassigned   []*Unassigned    // patients whose statements must be assigned again
	AddedMoves   []acuity.Instant // moves added since the last step
	DroppedMoves []acuity.Instant // moves dropped since the last step

	Moved []acuity.Instant // buffer for the moves of a visit
}

// MarkRoom adds marks to a room.
func (w *work) MarkRoom(r *Room, m mark) {
	w.Rooms.add(r, m&^r.Marks)
	r.Marks |= m
}

// MarkVisit adds marks to a visit.
func (w *work) MarkVisit(v *Visit, m mark) {
	w.Visits.add(v, m&^v.Marks)
	v.Marks |= m
}

// RecordFact records that a fact about a visit was applied at the current time of the hospital's clock.
func (g *Registry) RecordFact(v *Visit) {
	v.Touched = g.Facts.Clock
	if !v.InRecent {
		v.InRecent, g.Recent = true, append(g.Recent, v)
	}
}

// TouchedAfter returns the visits whose last fact was applied after an instant, or all visits if Plain is set. The
// instants of successive calls must not decrease. The result is valid until the next call.
func (g *Registry) TouchedAfter(at acuity.Instant) []*Visit {
	if g.Work.Plain {
		return slices.Collect(maps.Values(g.Visits))
	}
	g.Recent = slices.DeleteFunc(g.Recent, func(v *Visit) bool {
		v.InRecent = v.Touched > at && g.Visits[v.ID] == v
		return !v.InRecent
	})
	return g.Recent
}

// RecordMoves records that the moves of a visit changed from one list to another. Usually, one move was added.
func (w *work) RecordMoves(from, to []acuity.Instant) {
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	w.DroppedMoves, w.AddedMoves = append(w.DroppedMoves, from...), append(w.AddedMoves, to...)
}

// TouchUnassigned makes the next derivation assign the statements of a patient again.
func (w *work) TouchUnassigned(r *Unassigned) {
	if !r.Marked {
		r.Marked = true
		w.Unassigned = append(w.Unassigned, r)
	}
}
