// Package hospital keeps the facts of one hospital as the chart of its maternity unit.
//
// A [State] takes observations, and tells of each what it changed. The place of a patient
// is a function of the set of events, never of their order. It never asks what time it
// is: the caller passes now. [Fold] is the plain reference.
//
// What a set of events means, which room a location is, and what statements amount to, is
// for the packages adt, location and evidence. This one knows who is where, and whose a
// statement is.
package hospital

import (
	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/score"
)

// State is the state of one hospital: its facts, and what is derived from them. One
// goroutine uses it.
//
// Facts are the records of records.go. An observation changes them, or housekeeping on the
// hospital's clock. Everything else is derived in four steps: the timeline of a visit,
// its stays in rooms, the statements that belong to it, the chart of a room. A step
// looks only at what the step before changed.
//
// Each part owns some of the state, shares the registry with all others, and points to the
// parts that it needs. A part never points to the State.
type State struct {
	registry

	// Facts, and the indexes of them.
	settings   localSettings
	matcher    matcher
	dedup      deduplication
	worklist   worklist
	names      names
	joins      joins
	events     eventStore
	statements statements
	clinical   clinicalIntake
	capacity   capacity

	// What the steps of derive make, in their order.
	locations locations
	timelines timelines
	stays     stayBuilder
	charts    chartBuilder
	scoring   scoring
	hours     observedHours

	changed bool // the record of the unit must be written
}

// room is a room with what is derived for it.
type room struct {
	RoomState
	statements    evidence.Statements // statements about whoever is here
	stays         []roomStay          // of the visits that are or were here, by arrival
	here          []roomStay          // the stays that go on
	candidates    []candidate         // visits that may be the occupant without a visit
	occupantVisit *visit              // the visit that is the occupant
	inUnit        bool
	belongs       bool               // to the unit, unless too many rooms do
	crowdedOut    bool               // too many rooms belong to the unit, and this one is not in use
	judged        bool               // anew in this step
	compared      bool               // the verdict may differ from the step before
	before        *score.RoomVerdict // of a compared room; nil: it was not in the unit
	cache         *evidence.Cache    // of the occupant without a visit, or of the room itself
	chart         acuity.RoomChart
	chartAt       int // index of the chart in that of the unit, if it is in the unit
	marks         mark
}

// visit is a visit with what is derived for it.
type visit struct {
	visitFacts
	slot               int32               // see slots
	statements         evidence.Statements // settled with this visit
	resourceStatements evidence.ResourceStatements
	timeline           adt.Timeline
	spans              []locationSpan // stays by ADT and census together, ascending
	lastPlaced         acuity.Instant // see locationMerge.lastSaid
	candidateFor       *room          // the room where the visit may be the occupant
	occupantOf         *room          // the room where the visit is the occupant
	mother             *visit         // of a newborn
	babies             []*visit       // newborns of this mother
	cache              *evidence.Cache
	primary            chosen
	names              []string // as in the index by patient
	newbornByEvents    bool     // a newborn, as its events say
	birthOrder         uint8    // birth order of a newborn who has a Patient resource of its own
	inNewborns         bool     // is in the index of newborns
	countedUnplaced    bool     // is counted as without a room
	inRecent           bool     // is in the list of recent visits
	forgotten          bool     // by retention
	bytes              int      // approximate size of the facts
	babyIndex          int      // index among the babies of the mother
	inChecks           bool     // housekeeping will check it
	inCancels          bool     // is in the list of visits with waiting cancels
	// withdrawn is what the index of the unit has of this visit.
	withdrawn []withdrawn
	joined    joined
	marks     mark
}

// chosen is a primary that a timeline gave, with what it was chosen from.
type chosen struct {
	known, cesarean bool
	birth           acuity.Instant
	choice          adt.Primary
}

// New returns the unit of a hospital without facts.
func New(hospital string) *State {
	u := &State{matcher: matcher{cat: catalogue.Default()}, registry: registry{
		keys: stateKeys{hospital: hospital}, limits: usual,
		visits: map[string]*visit{}, unknown: map[*visit]struct{}{}, checks: map[int32][]*visit{},
	}}
	g := &u.registry
	u.settings = localSettings{unit: &g.facts, keys: &g.keys, rows: map[settingKey]setting{}}
	u.dedup = deduplication{unit: &g.facts, keys: &g.keys, byID: map[string]*DedupState{}}
	u.worklist = worklist{registry: g, matcher: &u.matcher, codes: map[string]*CodeState{}}
	u.names = names{
		registry: g, matcher: &u.matcher, worklist: &u.worklist, joins: &u.joins,
		references: map[string]*ReferenceState{}, persons: map[string][]string{}, patients: map[string][]*visit{},
		bySubject: map[subjectName]*unassigned{}, byPatient: map[string][]*unassigned{},
	}
	u.joins = joins{registry: g, names: &u.names, accounts: map[string][]*visit{}, wholes: map[string][]*visit{}}
	u.events = eventStore{
		registry: g, dedup: &u.dedup, names: &u.names, joins: &u.joins, statements: &u.statements, locations: &u.locations,
		capacity: &u.capacity, worklist: &u.worklist, settings: &u.settings,
	}
	u.statements = statements{
		registry: g, names: &u.names, matcher: &u.matcher, worklist: &u.worklist, withdrawn: withdrawnRooms{},
	}
	u.clinical = clinicalIntake{
		registry: g, names: &u.names, matcher: &u.matcher, worklist: &u.worklist, statements: &u.statements, capacity: &u.capacity,
	}
	u.capacity = capacity{registry: g, names: &u.names, locations: &u.locations}
	u.locations = locations{registry: g, located: map[acuity.Location]*locatedPlace{}}
	u.locations.options = adt.Options{SameRoom: u.locations.table.SameRoom, IsWard: u.locations.table.IsWard}
	u.timelines = timelines{registry: g, names: &u.names, joins: &u.joins, settings: &u.settings, locations: &u.locations}
	u.stays = stayBuilder{
		registry: g, names: &u.names, timelines: &u.timelines, locations: &u.locations, statements: &u.statements,
		listed: map[string]bool{},
	}
	u.charts = chartBuilder{
		registry: g, names: &u.names, matcher: &u.matcher, locations: &u.locations, statements: &u.statements,
	}
	u.scoring = scoring{registry: g, matcher: &u.matcher}
	u.hours = observedHours{registry: g}
	u.compile()
	u.names.index()
	u.chart.Hospital = hospital
	u.scoring.verdict = score.Judge(&u.chart, 0)
	return u
}

// Chart returns the chart as it is now. It is valid until the next call of
// Apply, Advance or Reject, and the caller does not change it.
func (u *State) Chart() *acuity.Chart { return &u.chart }

// Verdict returns the verdict as of the last step. It is valid until the next
// call of Apply, Advance or Reject, and the caller does not change it.
func (u *State) Verdict() *score.Verdict { return &u.scoring.verdict }

// Due returns the instant at which the wall clock must call Advance; 0: never. It may
// have passed. It is the instant at which time alone changes the verdict, or some
// seconds after a full hour: inputs of that hour cut it sooner.
func (u *State) Due() acuity.Instant {
	hour := u.hours.hourDue()
	if hour != 0 {
		hour += hourGrace
	}
	return codes.Soonest(codes.Soonest(u.scoring.verdictDue(), u.hours.backfillDue()), hour)
}

// verdictDue returns the instant at which time alone changes the verdict next; 0: never.
func (k *scoring) verdictDue() acuity.Instant {
	if k.overdue {
		return max(k.facts.Clock, 1)
	}
	if k.verdict.Next == 0 {
		return 0
	}
	return max(k.verdict.Next, k.facts.Clock+1)
}

// Advance takes the earliest due instant that is not after now. It returns false, and
// does nothing, if there is none. Call it until it returns false: before each Apply with
// the clock of the observation, and by the wall clock.
func (u *State) Advance(now acuity.Instant) (acuity.Change, bool) {
	hour, backfill := u.hours.hourDue(), u.hours.backfillDue()
	due := codes.Soonest(codes.Soonest(u.scoring.verdictDue(), backfill), hour)
	if due == 0 || due > now {
		return acuity.Change{}, false
	}
	u.begin(due, u.facts.Offset)
	in := intake{Change: acuity.Change{Cause: acuity.CauseTime, Outcome: acuity.Time}}
	u.derive()
	full := due == hour
	if full {
		u.hours.markLive()
	} else if due == backfill {
		u.cutPast(&in)
	}
	u.conclude(&in)
	if full {
		u.hours.addSnapshot(&in)
	}
	return in.Change, true
}

// Elapse is Advance by the wall clock. It waits with a full hour until [State.Due]:
// inputs that were received before the hour may still be under way.
func (u *State) Elapse(now acuity.Instant) (acuity.Change, bool) {
	if due := u.Due(); due == 0 || due > now {
		return acuity.Change{}, false
	}
	return u.Advance(now)
}

// Reject records an input that cannot be decoded. It changes nothing but the version. As
// before Apply, the caller has advanced to at.
func (u *State) Reject(reason string, at acuity.Instant, offset int64) acuity.Change {
	u.begin(max(u.facts.Clock, at), offset)
	in := intake{Change: acuity.Change{Outcome: acuity.Rejected, Reason: reason}}
	u.derive()
	u.conclude(&in)
	return in.Change
}

// begin sets the clock and the position of a step.
func (u *State) begin(now acuity.Instant, offset int64) {
	before := u.facts.Clock
	u.facts.Clock, u.facts.Offset = now, offset
	if before != 0 && now/hourOf != before/hourOf && !u.hours.isPast {
		u.applyRetention(now)
		u.derive() // an input reads what is derived
	}
}
