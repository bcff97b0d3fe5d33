package hospital

import (
	"math/bits"

	"svc/acuity"
)

// derive brings everything derived up to the facts. Each step derives all of the touched visits or
// rooms anew, and may touch others for the steps after it. The result does not depend on the order
// in which they were touched.
func (u *State) derive() {
	u.settleTable()
	if u.work.plain {
		u.forgetDerived()
		u.touchAll()
	}
	u.timelines.buildTimelines()
	u.stays.chooseOccupants()
	u.stays.placeVisits()
	for _, v := range u.work.visits.with(touched) {
		v.marks &^= touched
	}
	u.work.visits.reset(touched)
	u.statements.assignUnassigned()
	for i := 0; i < len(u.work.rooms.with(touched)); i++ { // a statement may touch the room where its owner is
		u.statements.assignStatements(u.work.rooms.with(touched)[i])
	}
	u.charts.rebuildAll(u.work.rooms.with(touched))
	u.charts.arrange(u.work.rooms.with(touched))
	u.work.rooms.reset(touched)
}

// touchAll touches everything: after a restore, a first census, or a change of the local
// settings.
func (u *State) touchAll() {
	for _, v := range u.visits {
		u.work.markVisit(v, touched)
	}
	for _, r := range u.rooms {
		u.work.markRoom(r, touched)
	}
	for _, r := range u.names.bySubject {
		u.work.touchUnassigned(r)
	}
}

// mark is a set of marks of a room or a visit. Only touched asks for work of derive; the others list
// what it made.
type mark uint16

const (
	touched mark = 1 << iota // room or visit: derive all of it anew
	rejudge                  // room: its chart changed since it was judged
	named                    // room: the input is about it
	unsaved                  // room or visit: its record is not written yet
	unshown                  // room: its chart is not written yet

	marks = iota // number of marks
)

// marked has the rooms or visits with each mark, in the order of marking.
type marked[T any] [marks][]T

// with returns those with a mark.
func (l *marked[T]) with(m mark) []T { return l[m.bit()] }

// reset forgets those with a mark. It keeps the memory, unless everything of a large unit was
// marked.
func (l *marked[T]) reset(m mark) {
	list := &l[m.bit()]
	clear(*list)
	if *list = (*list)[:0]; cap(*list) > keptMarks {
		*list = nil
	}
}

// keptMarks is the longest list whose memory is kept.
const keptMarks = 1024

// add adds a room or a visit to the lists of several marks.
func (l *marked[T]) add(of T, several mark) {
	for ; several != 0; several &= several - 1 {
		l[several.bit()] = append(l[several.bit()], of)
	}
}

// bit is the number of the lowest mark.
func (m mark) bit() int { return bits.TrailingZeros16(uint16(m)) }

// work lists what the next steps must do, and holds memory for them.
type work struct {
	rooms  marked[*room]
	visits marked[*visit]

	rearranged     bool // the chart has other rooms than the verdict
	recountWaiting bool // the statements and cancels that wait must be counted anew
	dropPast       bool // the past of a backfill must be made anew

	plain bool // derive everything anew at each step, see Fold

	// What the room table needs before anything is derived.
	rebuildTable  bool               // rebuild it from the facts
	relabel       bool               // update it with the labels
	tableChanged  bool               // its answers changed
	droppedPlaces []*acuity.Location // places of dropped events

	unassigned   []*unassigned    // statements to be assigned anew
	addedMoves   []acuity.Instant // moves since the last step
	droppedMoves []acuity.Instant // moves that were dropped since the last step

	moved []acuity.Instant // memory for the moves of a visit
}

// markRoom adds marks to a room.
func (w *work) markRoom(r *room, m mark) {
	w.rooms.add(r, m&^r.marks)
	r.marks |= m
}

// markVisit adds marks to a visit.
func (w *work) markVisit(v *visit, m mark) {
	w.visits.add(v, m&^v.marks)
	v.marks |= m
}
