package acuity

// mark is a set of things to do with a room or visit.
type mark uint16

const (
	dirtyTimeline   mark = 1 << iota // visit: build the timeline anew
	dirtyLocation                    // visit: join timeline and censuses anew
	dirtyOccupant                    // room: find anew who the occupant is
	dirtyAssignment                  // room: find anew whose the statements are
	dirtyChart                       // room: make the chart anew
	markProgress                     // room: bring the chart up to what was said of the lone patient
	markJudge                        // room: judge the chart anew
	markHeard                        // room: statements came
	markTouched                      // room: the input is about it
	markState                        // either: the record is to be written
	markView                         // room: the chart is to be written
)

// work lists what is marked, in the order of marking.
type work struct {
	visits  []*visit
	weave   []*visit
	adopt   []*room
	rebind  []*room
	heard   []*room
	rebuild []*room
	moving  []*room // with markProgress
	touched []*room
	judge   []*room // with markJudge
	judged  []*room // in the last step, by id; all of them if the layout changed
	differ  []*room // memory of differing
	before  []RoomVerdict
	rooms   []RoomVerdict // memory of the next verdict
	chart   RoomChart     // memory of the next chart
	spare   []judged
	retired []judged // free after this step
	alone   judged   // memory of the verdict of one of several patients of a room
	relaid  bool     // the rooms of the chart are not those of the verdict
	all     bool     // all rooms were put together anew in the last step
	layout  bool     // rooms came or went
	known   bool     // rooms were made known, or named by a census

	// What is to be done with the table of rooms before anything is derived.
	learn   bool        // make it anew from the facts
	relabel bool        // bring it up to the labels
	retable bool        // it tells other things now
	parts   bool        // decide again which patients are newborns: an Encounter that is part of another may be one
	unsaid  []*Location // places of events that are no more

	events  []intakeEvent // memory of the events of an input
	said    []Heard       // memory of the statements of an input
	settled []Heard       // memory of those of a room that are settled
	written HeardState    // memory of a record
	order   []int         // memory of an order of statements
	active  []Factor      // memory of the factors of a room
	weaving weaving
	spans   []sojourn
	present []sit  // of the room that is charted, see seePresent
	last    *visit // of them, the patient who came last
	own     []sojourn
	// withdrawn is memory of the rooms that a visit was said to be in.
	withdrawn []withdrawn
	moved     []Instant // memory of the moves of a visit
	came      []Instant // moves since the last step
	went      []Instant // and those that are no more
	// referrals are those marked.
	referrals []*referral
	episode   episode
	reader    reader
}

// markRoom notes things to do with a room.
func (u *Unit) markRoom(r *room, m mark) {
	fresh := m &^ r.marks
	r.marks |= m
	if fresh&dirtyOccupant != 0 {
		u.work.adopt = append(u.work.adopt, r)
	}
	if fresh&dirtyAssignment != 0 {
		u.work.rebind = append(u.work.rebind, r)
	}
	if fresh&dirtyChart != 0 {
		u.work.rebuild = append(u.work.rebuild, r)
	}
	if fresh&markProgress != 0 {
		u.work.moving = append(u.work.moving, r)
	}
	if fresh&markHeard != 0 {
		u.work.heard = append(u.work.heard, r)
	}
	if fresh&markTouched != 0 {
		u.work.touched = append(u.work.touched, r)
	}
	if fresh&markJudge != 0 {
		u.work.judge = append(u.work.judge, r)
	}
	if fresh&markState != 0 {
		u.dirty.rooms = append(u.dirty.rooms, r)
	}
	if fresh&markView != 0 {
		u.dirty.views = append(u.dirty.views, r)
	}
}

// markVisit notes things to do with a visit.
func (u *Unit) markVisit(v *visit, m mark) {
	fresh := m &^ v.marks
	v.marks |= m
	if fresh&dirtyTimeline != 0 {
		u.work.visits = append(u.work.visits, v)
	}
	if fresh&dirtyLocation != 0 {
		u.work.weave = append(u.work.weave, v)
	}
	if fresh&markState != 0 {
		u.dirty.visits = append(u.dirty.visits, v)
	}
}
