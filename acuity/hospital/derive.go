package hospital

import (
	"math/bits"

	"svc/acuity"
	"svc/acuity/evidence"
)

// derive brings everything derived up to the facts, and touches only what is marked. The
// result does not depend on the order of the marks.
func (u *State) derive() {
	u.settleTable()
	if u.work.plain {
		u.forgetDerived()
		u.markAll()
	}
	u.stays.buildTimelines()
	u.stays.chooseOccupants()
	u.stays.placeVisits()
	u.statements.assignStatements()
	for _, r := range u.work.rooms.with(dirtyAssignment) {
		r.marks &^= dirtyAssignment
		u.statements.reassignStatements(r)
	}
	u.work.rooms.reset(dirtyAssignment)
	for _, r := range u.work.rooms.with(markStatements) {
		r.marks &^= markStatements
		u.statements.assignNew(r)
	}
	u.work.rooms.reset(markStatements)
	for _, r := range u.work.rooms.with(dirtyChart) {
		r.marks &^= dirtyChart
		before := r.chart
		r.chart, u.work.chart = u.work.chart, acuity.RoomChart{}
		u.charts.rebuild(r)
		if r.chart.Equal(&before) {
			r.chart, before = before, r.chart
		} else {
			u.work.markRoom(r, markView|markJudge)
		}
		u.work.chart = before
	}
	u.charts.arrange()
}

// markAll marks everything: after a restore, a first census, or a change of the local
// settings.
func (u *State) markAll() {
	for _, v := range u.visits {
		u.work.markVisit(v, dirtyTimeline|dirtyLocation)
	}
	for _, r := range u.rooms {
		u.work.markRoom(r, dirtyOccupant|dirtyAssignment|dirtyChart)
	}
	for _, r := range u.names.bySubject {
		u.work.markUnassigned(r)
	}
}

// mark is a set of things to do for a room or a visit.
type mark uint16

const (
	dirtyTimeline   mark = 1 << iota // visit: build the timeline anew
	dirtyLocation                    // visit: merge timeline and censuses anew
	dirtyOccupant                    // room: choose the visit of the occupant anew
	dirtyAssignment                  // room: decide anew who owns the statements
	dirtyChart                       // room: rebuild the chart
	markJudge                        // room: judge the chart anew
	markStatements                   // room: new statements need an owner
	markTouched                      // room: the input is about it
	markState                        // room or visit: write the record
	markView                         // room: write the chart

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
	rearrange      bool // rooms came or went
	recountUnknown bool // rooms were made known, or named by a census
	recountWaiting bool // the statements and cancels that wait must be counted anew
	dropPast       bool // the past of a backfill must be made anew

	plain bool // derive everything anew at each step, see Fold

	// What the room table needs before anything is derived.
	rebuildTable  bool               // rebuild it from the facts
	relabel       bool               // update it with the labels
	tableChanged  bool               // its answers changed
	recheckParts  bool               // decide again which patients are newborns: an Encounter that is part of another may be one
	droppedPlaces []*acuity.Location // places of dropped events

	unassigned   []*unassigned    // statements to be assigned anew
	addedMoves   []acuity.Instant // moves since the last step
	droppedMoves []acuity.Instant // moves that were dropped since the last step

	// Memory for the next step.
	events        []intakeEvent        // of an input
	newStatements []evidence.Statement // of an input
	settled       []evidence.Statement // of a room
	chart         acuity.RoomChart
	merge         locationMerge
	spans, own    []locationSpan
	present       []roomStay // of the room whose chart is built, see seePresent
	lastComer     *visit     // the patient of them who came last
	withdrawn     []withdrawn
	moved         []acuity.Instant // moves of a visit
	evidenceInput evidence.Input
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
