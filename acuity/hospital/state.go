// Package hospital applies observations to the state of one hospital.
//
// [State.Apply] applies one observation, updates all derived state, and returns the change. A patient's place depends
// on the set of events, never on their order. The package never reads the clock: the caller passes the current time.
// [NewPlain] is the reference implementation.
package hospital

import (
	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/charts"
	"svc/acuity/codes"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/registry"
	"svc/acuity/score"
	"svc/acuity/stays"
)

// State is the state of one hospital: its facts and the state derived from them. It is not safe for concurrent use.
//
// Only observations, and housekeeping on the hospital's clock, change the facts. Everything else is derived in four
// steps: the timeline of a visit, the visit's stays in rooms, the statements that belong to the visit, and the chart of
// a room.
//
// Each component owns some of the state, shares the registry with all others, and points to the components that it
// needs. A component never points to the State.
type State struct {
	registry registry.Registry

	// The facts and their indexes.
	settings   facts.LocalSettings
	matcher    identity.Matcher
	dedup      facts.Deduplication
	worklist   identity.Worklist
	names      identity.Names
	joins      identity.Joins
	events     eventStore
	statements stays.Statements
	clinical   clinicalIntake
	capacity   capacity

	// The results of the steps of derive, in order.
	locations identity.Locations
	timelines identity.Timelines
	stays     stays.Builder
	charts    charts.Builder
	scoring   scoring
	hours     observedHours

	changed bool // whether the unit's record must be written
}

// New returns the unit of a hospital without facts.
func New(hospital string) *State {
	u := &State{matcher: identity.Matcher{Cat: catalogue.Default()}, registry: registry.Registry{
		Keys: facts.Keys{Hospital: hospital}, Limits: registry.Usual,
		Visits: map[string]*registry.Visit{}, Unknown: map[*registry.Visit]struct{}{}, Checks: map[int32][]*registry.Visit{},
	}}
	g := &u.registry
	u.settings = facts.LocalSettings{Unit: &g.Facts}
	u.settings.Rows, u.settings.Key = map[facts.SettingKey]facts.Setting{}, g.Keys.Setting
	u.dedup = facts.Deduplication{Unit: &g.Facts}
	u.dedup.ByID.Rows, u.dedup.ByID.Key = map[string]*facts.DedupState{}, g.Keys.Dedup
	u.worklist = identity.Worklist{Registry: g, Matcher: &u.matcher}
	u.worklist.Codes.Rows, u.worklist.Codes.Key = map[string]*facts.CodeState{}, g.Keys.Code
	u.names = identity.Names{
		Registry: g, Matcher: &u.matcher, Worklist: &u.worklist, Joins: &u.joins,
		References: facts.Table[string, *facts.ReferenceState]{Rows: map[string]*facts.ReferenceState{}, Key: g.Keys.Reference},
		Persons:    map[string][]string{}, Patients: map[string][]*registry.Visit{},
		BySubject: map[registry.SubjectName]*registry.Unassigned{}, ByPatient: map[string][]*registry.Unassigned{},
	}
	u.joins = identity.Joins{Registry: g, Names: &u.names, Accounts: map[string][]*registry.Visit{}, Wholes: map[string][]*registry.Visit{}}
	u.events = eventStore{
		Registry: g, dedup: &u.dedup, names: &u.names, joins: &u.joins, statements: &u.statements, locations: &u.locations,
		capacity: &u.capacity, worklist: &u.worklist, settings: &u.settings,
	}
	u.statements = stays.Statements{
		Registry: g, Names: &u.names, Matcher: &u.matcher, Worklist: &u.worklist, Withdrawn: stays.WithdrawnRooms{},
	}
	u.clinical = clinicalIntake{
		Registry: g, names: &u.names, matcher: &u.matcher, worklist: &u.worklist, statements: &u.statements, capacity: &u.capacity,
	}
	u.capacity = capacity{Registry: g, names: &u.names, locations: &u.locations}
	u.locations = identity.Locations{Registry: g, Located: map[acuity.Location]*identity.LocatedPlace{}}
	table := &u.locations.Table
	u.locations.Options = adt.Options{SameRoom: table.SameRoom, IsWard: table.IsWard, IsOutside: table.IsOutside}
	u.timelines = identity.Timelines{Registry: g, Names: &u.names, Joins: &u.joins, Settings: &u.settings, Locations: &u.locations}
	u.stays = stays.Builder{
		Registry: g, Names: &u.names, Timelines: &u.timelines, Locations: &u.locations, Statements: &u.statements,
		Listed: map[string]bool{},
	}
	u.charts = charts.Builder{
		Registry: g, Names: &u.names, Matcher: &u.matcher, Locations: &u.locations, Statements: &u.statements,
	}
	u.scoring = scoring{Registry: g, matcher: &u.matcher}
	u.hours = observedHours{Registry: g}
	u.compile()
	u.names.Index()
	u.registry.Chart.Hospital = hospital
	u.scoring.verdict = score.Judge(&u.registry.Chart, 0)
	return u
}

// Chart returns the current chart. The chart is valid until the next call to Apply, Advance or Reject; the caller
// must not change it.
func (u *State) Chart() *acuity.Chart { return &u.registry.Chart }

// Verdict returns the verdict as of the last step. The verdict is valid until the next call to Apply, Advance or
// Reject; the caller must not change it.
func (u *State) Verdict() *score.Verdict { return &u.scoring.verdict }

// Due returns the wall-clock instant at which the caller must call Advance, or 0 if there is none. The instant may be
// in the past. It is the earliest of three instants: when a timer changes the verdict, when the next snapshot of a
// backfill is due, and hourGrace after the next whole hour. An input usually triggers an hour's snapshot earlier.
func (u *State) Due() acuity.Instant {
	hour := u.hours.hourDue()
	if hour != 0 {
		hour += hourGrace
	}
	return codes.Soonest(codes.Soonest(u.scoring.verdictDue(), u.hours.backfillDue()), hour)
}

// verdictDue returns the next instant at which a timer changes the verdict, or 0 if there is none.
func (k *scoring) verdictDue() acuity.Instant {
	if k.overdue {
		return max(k.Facts.Clock, 1)
	}
	if k.verdict.Next == 0 {
		return 0
	}
	return max(k.verdict.Next, k.Facts.Clock+1)
}

// Advance processes the earliest due instant that is not after now. If there is none, it returns false and does
// nothing. Call it until it returns false: before each Apply with the observation's clock, and regularly with the
// wall clock.
func (u *State) Advance(now acuity.Instant) (acuity.Change, bool) {
	hour, backfill := u.hours.hourDue(), u.hours.backfillDue()
	due := codes.Soonest(codes.Soonest(u.scoring.verdictDue(), backfill), hour)
	if due == 0 || due > now {
		return acuity.Change{}, false
	}
	u.begin(due, u.registry.Facts.Offset)
	in := registry.Intake{Change: acuity.Change{Cause: acuity.CauseTime, Outcome: acuity.Time}}
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

// Reject records an input that cannot be decoded: it makes a change and increments the version, but adds no facts. As
// with Apply, the caller must first have advanced the unit to the given instant.
func (u *State) Reject(reason string, at acuity.Instant, offset int64) acuity.Change {
	u.begin(max(u.registry.Facts.Clock, at), offset)
	in := registry.Intake{Change: acuity.Change{Outcome: acuity.Rejected, Reason: reason}}
	u.derive()
	u.conclude(&in)
	return in.Change
}

// begin sets the clock and the log position for a step. In the first step of an hour, it also applies retention,
// except in a replay of past hours.
func (u *State) begin(now acuity.Instant, offset int64) {
	before := u.registry.Facts.Clock
	u.registry.Facts.Clock, u.registry.Facts.Offset = now, offset
	if before != 0 && now/registry.HourOf != before/registry.HourOf && !u.hours.isPast {
		u.applyRetention(now)
		u.derive() // inputs read derived state
	}
}
