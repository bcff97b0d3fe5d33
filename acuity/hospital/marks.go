package hospital

import (
	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/evidence"
	"svc/acuity/score"
)

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
)

// work lists what is marked, in the order of marking, and holds memory for the next
// step.
type work struct {
	visits         []*visit
	relocated      []*visit
	occupants      []*room
	reassigned     []*room
	withStatements []*room
	rebuild        []*room
	touched        []*room
	judge          []*room  // rooms with markJudge
	changedRooms   []*room  // rooms with markState
	changedVisits  []*visit // visits with markState
	changedViews   []*room  // rooms with markView
	judged         []*room  // rooms of the last step, by id; all rooms if the layout changed
	differ         []*room  // memory for differing
	before         []score.RoomVerdict
	rooms          []score.RoomVerdict // memory for the next verdict
	chart          acuity.RoomChart    // memory for the next chart
	relaid         bool                // the chart has other rooms than the verdict
	all            bool                // the last step put all rooms together anew
	layout         bool                // rooms came or went
	known          bool                // rooms were made known, or named by a census
	waits          bool                // the statements and cancels that wait must be counted anew
	newPast        bool                // the past of a backfill must be made anew

	plain bool // derive everything anew at each step, see Fold

	// What the room table needs before anything is derived.
	learn   bool               // rebuild it from the facts
	relabel bool               // update it with the labels
	retable bool               // its answers changed
	parts   bool               // decide again which patients are newborns: an Encounter that is part of another may be one
	unsaid  []*acuity.Location // places of dropped events

	events        []intakeEvent        // memory for the events of an input
	newStatements []evidence.Statement // memory for the statements of an input
	settled       []evidence.Statement // memory for the settled statements of a room
	active        []catalogue.Factor   // memory for the factors of a room
	merge         locationMerge
	spans         []locationSpan
	present       []roomStay // of the room whose chart is built, see seePresent
	last          *visit     // the patient of them who came last
	own           []locationSpan
	// withdrawn is memory for the withdrawn rooms of a visit.
	withdrawn []withdrawn
	moved     []acuity.Instant // memory for the moves of a visit
	came      []acuity.Instant // moves since the last step
	went      []acuity.Instant // moves that were dropped since the last step
	// unassigned are the marked ones.
	unassigned    []*unassigned
	evidenceInput evidence.Input
}

// markRoom adds marks to a room.
func (w *work) markRoom(r *room, m mark) {
	fresh := m &^ r.marks
	r.marks |= m
	if fresh&dirtyOccupant != 0 {
		w.occupants = append(w.occupants, r)
	}
	if fresh&dirtyAssignment != 0 {
		w.reassigned = append(w.reassigned, r)
	}
	if fresh&dirtyChart != 0 {
		w.rebuild = append(w.rebuild, r)
	}
	if fresh&markStatements != 0 {
		w.withStatements = append(w.withStatements, r)
	}
	if fresh&markTouched != 0 {
		w.touched = append(w.touched, r)
	}
	if fresh&markJudge != 0 {
		w.judge = append(w.judge, r)
	}
	if fresh&markState != 0 {
		w.changedRooms = append(w.changedRooms, r)
	}
	if fresh&markView != 0 {
		w.changedViews = append(w.changedViews, r)
	}
}

// markVisit adds marks to a visit.
func (w *work) markVisit(v *visit, m mark) {
	fresh := m &^ v.marks
	v.marks |= m
	if fresh&dirtyTimeline != 0 {
		w.visits = append(w.visits, v)
	}
	if fresh&dirtyLocation != 0 {
		w.relocated = append(w.relocated, v)
	}
	if fresh&markState != 0 {
		w.changedVisits = append(w.changedVisits, v)
	}
}
