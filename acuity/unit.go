package acuity

import (
	"cmp"
	"slices"
	"strings"
)

// Unit is the state of one hospital: its facts, and what was derived from them
// and can be derived again. One goroutine uses it.
//
// Facts are in the records of state.go and change by an observation, or by
// housekeeping on the hospital's clock. All else is derived, in four steps that
// each look only at what the step before has changed: the timeline of a visit, its
// stays in rooms, the clinical statements that belong to it, the chart of a room.
type Unit struct {
	hospital string
	cat      *Catalogue
	limits   limits

	site
	facts  UnitState
	shared shared
	slots  slots
	rooms  []*room // ascending by id
	visits map[string]*visit
	seen   map[string]*SeenState
	codes  map[string]*CodeState
	saved  []heardRecord // statements that are being restored

	referents map[string]*ReferentState // by name
	persons   map[string][]string       // further names of a patient, by name: as Patients tell them

	referrals map[referralName]*referral

	newborns []*visit            // ascending by id
	parts    []*visit            // of another visit, perhaps the mother's; ascending by id
	patients map[string][]*visit // by pseudonym
	// referred are the referrals by the names of their patients.
	referred       map[string][]*referral
	versions       map[string]*visit  // which has the events of a version of an Encounter, by resource
	encounters     map[string]*visit  // by the names of their Encounters
	resources      map[string]holder  // who keeps the statements of a resource
	unknown        unknownVisits      // that statements name
	fresh          []*visit           // known since housekeeping
	looks          map[int32][]*visit // at the others, by the hour in which they may be over
	recent         []*visit           // about which something was said since housekeeping, at least
	kept           int                // statements
	eventBytes     int                // of the events of all visits, about
	aging          []*SeenState       // as seen, ascending by receipt
	waits          bool               // what waits is to be counted anew
	cancels        []*visit           // of which cancels may wait
	moves          []Instant          // of the last 120 min, ascending
	unplaced       int32              // visits without a room
	listed         map[string]bool    // newborns whom a census lists with a mother
	maps           *mappings
	matchedSignals matchedSignals
	// identities has one of each of those read.
	identities map[identity]*identity
	table      roomTable
	located    map[Location]*locatedPlace
	withdrawn  withdrawnRooms
	chart      Chart
	verdict    Verdict
	lately     lately
	belonging  int  // rooms that belong to the unit
	crowded    bool // those are more than it may have
	sums       sums // of the rooms of the verdict
	before     gist // of the verdict before

	work    work
	dirty   dirty
	keyed   []byte // memory of a key
	plain   bool   // derive everything anew at each step, see Fold
	overdue bool   // the verdict differs from what was last told

	past   *past // of a backfill that goes on; nil: to be made
	isPast bool  // it is the unit of one: it is cut when that asks, and forgets nothing
}

// room is a room with what is derived for it.
type room struct {
	RoomState
	threads threads // statements about whoever is here
	sits    []sit   // of visits that are or were here, by arrival
	here    []sit   // those of them that go on
	claims  []claim // visits that may be the occupant without visit
	adopter *visit  // the one who is
	inUnit  bool
	belongs bool // to the unit, if there are not too many that do
	spare   bool // there are, and it is not in use
	again   bool // judged anew in this step
	was     int  // index in work.before; -1: it was not in the unit; or asIs
	is      int  // index in the verdict; -1: not in it
	store   judged
	lone    *visit // the only patient, if she is a visit, without a newborn beside her
	folds   *folds // of whoever is here without a visit, or of the room itself
	chart   RoomChart
	chartAt int // index of the chart in that of the unit, if it is in the unit
	marks   mark
}

// asIs says of a room that its verdict was what it is.
const asIs = -2

// visit is a visit with what is derived for it.
type visit struct {
	visitFacts
	slot     int32   // see slots
	threads  threads // statements settled with it
	filed    []filed // statements of resources, in order of arrival
	timeline timeline
	spans    []sojourn // stays by ADT and census together, ascending
	ended    Instant   // see weaving.ended
	claimed  *room     // where it may be the occupant without visit
	adopts   *room     // where it is
	mother   *visit    // of a newborn
	babies   []*visit  // whose mother she is
	folds    *folds
	primary  chosen
	names    []string // as in the index by patient
	born     bool     // a newborn, as its events say
	order    uint8    // birth order of a newborn who has a Patient resource of its own
	baby     bool     // as in the index of newborns
	lost     bool     // as in the count of those without a room
	recent   bool     // as in the list of those that were touched
	gone     bool     // forgotten
	bytes    int      // of its facts, about
	babyAt   int      // its place among the babies of its mother
	watched  bool     // housekeeping is to look at it
	cancels  bool     // as in the list of those of which cancels may wait
	// withdrawn is as in the index of the unit.
	withdrawn []withdrawn
	marks     mark
}

// chosen is a primary by a timeline.
type chosen struct {
	known, cesarean bool
	birth           Instant
	choice          choice
}

// NewUnit returns the unit of a hospital of which nothing is known.
func NewUnit(hospital string) *Unit {
	u := &Unit{
		hospital:  hospital,
		cat:       Default(),
		limits:    usual,
		visits:    map[string]*visit{},
		site:      newSite(),
		seen:      map[string]*SeenState{},
		codes:     map[string]*CodeState{},
		patients:  map[string][]*visit{},
		referrals: map[referralName]*referral{},
		referred:  map[string][]*referral{},
		listed:    map[string]bool{},
		looks:     map[int32][]*visit{},
		unknown:   unknownVisits{},
		located:   map[Location]*locatedPlace{},
		withdrawn: withdrawnRooms{},
	}
	u.compile()
	u.index()
	u.chart.Hospital = hospital
	u.verdict = u.chart.Verdict(0)
	return u
}

// Chart returns the chart as it is now. It is valid until the next call of
// Apply, Advance or Reject, and the caller does not change it.
func (u *Unit) Chart() *Chart { return &u.chart }

// Verdict returns the verdict as of the last step. It is valid until the next
// call of Apply, Advance or Reject, and the caller does not change it.
func (u *Unit) Verdict() *Verdict { return &u.verdict }

// Due returns the instant from which on the wall clock is to call Advance; 0
// means never. It may have passed. It is when time alone will change the verdict
// next, or some seconds after a full hour, which is cut sooner by what comes
// after it.
func (u *Unit) Due() Instant {
	hour := u.hourDue()
	if hour != 0 {
		hour += hourGrace
	}
	return Soonest(Soonest(u.verdictDue(), u.backfillDue()), hour)
}

// verdictDue returns when time alone will change the verdict next; 0: never.
func (u *Unit) verdictDue() Instant {
	if u.overdue {
		return max(u.facts.Clock, 1)
	}
	if u.verdict.Next == 0 {
		return 0
	}
	return max(u.verdict.Next, u.facts.Clock+1)
}

// Advance takes the earliest due instant that is not after now. It returns
// false, and does nothing, if there is none: call it until then before each
// Apply, with the clock of the observation, and by the wall clock.
func (u *Unit) Advance(now Instant) (Change, bool) {
	hour, backfill := u.hourDue(), u.backfillDue()
	due := Soonest(Soonest(u.verdictDue(), backfill), hour)
	if due == 0 || due > now {
		return Change{}, false
	}
	u.begin(due, u.facts.Offset)
	in := intake{Change: Change{Cause: CauseTime, Outcome: Time}}
	u.derive()
	full := due == hour
	if full {
		u.cut()
	} else if due == backfill {
		u.cutPast(&in)
	}
	u.conclude(&in)
	if full {
		u.snap(&in)
	}
	return in.Change, true
}

// Elapse is Advance by the wall clock: it leaves a full hour to the inputs that
// were received before it and are still under way, until it is [Unit.Due].
func (u *Unit) Elapse(now Instant) (Change, bool) {
	if due := u.Due(); due == 0 || due > now {
		return Change{}, false
	}
	return u.Advance(now)
}

// Reject takes note of an input that cannot be decoded: it changes nothing but
// the version. As before Apply the caller has taken what was due up to at.
func (u *Unit) Reject(reason string, at Instant, offset int64) Change {
	u.begin(max(u.facts.Clock, at), offset)
	in := intake{Change: Change{Outcome: Rejected, Reason: reason}}
	u.derive()
	u.conclude(&in)
	return in.Change
}

// begin sets clock and position of a step.
func (u *Unit) begin(now Instant, offset int64) {
	before := u.facts.Clock
	u.facts.Clock, u.facts.Offset = now, offset
	if before != 0 && now/hourOf != before/hourOf && !u.isPast {
		u.applyRetention(now)
		u.derive() // an input reads what is derived
	}
}

// room returns the room with an id; nil if it is not known. Where ids follow
// each other it is where its id says.
func (u *Unit) room(id int32) *room {
	if n := int64(len(u.rooms)); n > 0 {
		if at := int64(id) - int64(u.rooms[0].ID); at >= 0 && at < n && u.rooms[at].ID == id {
			return u.rooms[at]
		}
	}
	if i, ok := slices.BinarySearchFunc(u.rooms, id, byRoomID); ok {
		return u.rooms[i]
	}
	return nil
}

func byID(a, b *room) int { return cmp.Compare(a.ID, b.ID) }

func byRoomID(r *room, id int32) int { return cmp.Compare(r.ID, id) }

// addRoom makes a room known. Whether there is room for it was asked when the input
// that names it was taken.
func (u *Unit) addRoom(s RoomState) *room {
	i, _ := slices.BinarySearchFunc(u.rooms, s.ID, byRoomID)
	r := &room{RoomState: s, was: -1, is: -1}
	u.rooms = slices.Insert(u.rooms, i, r)
	u.work.layout, u.work.known = true, true
	u.past = nil
	u.markRoom(r, markState|dirtyOccupant|dirtyAssignment|dirtyChart)
	return r
}

// visit returns a visit, made known if it was not.
func (u *Unit) visit(id string) *visit {
	v := u.visits[id]
	if v == nil {
		v = &visit{visitFacts: visitFacts{ID: strings.Clone(id)}} // not the observation that named it
		u.visits[v.ID] = v
		u.slots.take(v)
		u.indexKnown(v)
		u.markVisit(v, markState|dirtyTimeline)
	}
	return v
}
