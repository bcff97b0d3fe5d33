// Package facts keeps what was recorded of one hospital, by whom.
//
// A [Record] is a piece of the changelog: a restart reads all of them back. [LocalSettings] are the
// rows that administrators set, [Deduplication] has the identities of the requests and events of the
// last 24 h. Nothing here is derived.
package facts

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
)

// ReasonExists is the reason of a part of an observation that was to be created only if it
// does not exist: the hospital knows it, so nothing changed.
const ReasonExists = reasonExists

const reasonExists = "exists"

// Record is one record of the changelog: a piece of the facts of one hospital.
// The kinds are [UnitState], [RoomState], [VisitState], [StatementState],
// [ReferenceState], [DedupState] and [CodeState]; [MappingState], [RuleState],
// [PlaceState] and [SwitchesState] are local settings. The caps of the packages above keep
// each below 64 KiB. A Record of [State.Dirty] is valid until its callback returns.
type Record interface{ state() }

func (*UnitState) state() {}

func (*RoomState) state() {}

func (*VisitState) state() {}

func (*StatementState) state() {}

func (*DedupState) state() {}

func (*MappingState) state() {}

func (*CodeState) state() {}

func (*RuleState) state() {}

func (*PlaceState) state() {}

func (*SwitchesState) state() {}

func (*ReferenceState) state() {}

// UnitState is what concerns the hospital as a whole. Its key is the hospital. Version,
// Since, Level and Run are conclusions: facts cannot give them again, because they say what
// was told at a time that has passed.
type UnitState struct {
	Version    int64          // of the last change
	Offset     int64          // of the last input in its partition
	Clock      acuity.Instant // never runs backwards
	Since      acuity.Instant // when the verdict last changed in anything it shows
	Level      acuity.Level   // as last told
	Run        acuity.LevelRun
	Statements int64 // number of the last clinical statement that was kept

	Staffing []acuity.Staffing // in force first, then plans ahead in order of AsOf
	Roster   *acuity.Roster    // the newest

	HasCensus  bool
	CensusAt   acuity.Instant // of the newest census, at most its receipt
	TotalRooms int32          // max(TotalRooms, rooms listed) of the newest census

	ObservedAt acuity.Instant // newest fact about a patient, at most its receipt
	Generation int32          // of snapshots: one more with each backfill
	Live       []HourSpan     // observed hours of the last 28 days that were cut on time, ascending
	Backfill   Backfill
}

// HourSpan is a run of hours, both ends included.
type HourSpan struct{ From, To int32 } // since 1970 UTC

// Backfill is the run of past hours that late events still have to cut; a Due of 0:
// none.
type Backfill struct {
	Due         acuity.Instant // when the next hour is cut
	From, Until int32          // hours, both included
	Next        int32          // hour; before the first is cut it is From
}

// RoomState is one room: what is known of it, and what the newest census said of it.
type RoomState struct {
	ID    int32
	Label string
	Area  string

	// Only ADT knows the room, until a census lists it: by its location, or by a
	// room id if Room is empty.
	Registered  bool
	PointOfCare string // as sent
	Room        string // PV1-3.2 as sent

	Listed   bool              // in the newest census
	Status   acuity.RoomStatus // what that census said
	Clinical bool              // named by clinical ingest since the newest census
	Placed   bool              // since the newest census an ADT visit was here that is forgotten by now

	Occupant *Occupant    // the occupant whom a census sees without a visit
	Past     []CensusStay // of occupants without a visit who left within the last 24 h

	Color  acuity.Color       // as last told
	Active []catalogue.Factor // active at the end of the last ingest, ascending
}

// Occupant is a patient whom a census reports in a room without a visit.
type Occupant struct {
	CensusStay
	Facts CensusFacts
}

// CensusStay is how long censuses saw a patient in a room.
type CensusStay struct {
	Room  int32
	From  acuity.Instant // just after the previous census, which did not see the patient
	First acuity.Instant // first census that saw the patient
	Last  acuity.Instant // newest census that saw the patient
	To    acuity.Instant // first census that no longer saw the patient; 0: none yet
}

// CensusFacts is what censuses say about one patient. What a census does not mention
// stays as it was.
type CensusFacts struct {
	Area         string // of the row
	Class        byte
	Service      string
	Primary      catalogue.Factor // explicit; 0: none
	PrimarySince acuity.Instant
	DeliveredAt  acuity.Instant
	Cesarean     bool

	Listed    []evidence.Listed
	Diagnoses []Standing
	Newborns  []ListedNewborn
}

// Standing is a diagnosis that the newest census lists.
type Standing struct {
	acuity.Diagnosis
	Start, Last acuity.Instant // Start is the onset, else the first census that lists it; Last is the newest
}

// ListedNewborn is a newborn whom a census lists with its mother.
type ListedNewborn struct {
	Visit   string           // pseudonym; may be empty
	Primary catalogue.Factor // 0: by default
	Since   acuity.Instant
}

// StatementState is one clinical statement as it was received. Each has its own record:
// a room gets dozens a day, and a new one must not rewrite the others.
type StatementState struct {
	Number int64 // in order of arrival; one counter per hospital
	// Signal.Visit is the visit that owns the statement for good. If it is empty,
	// the statement is kept with the patient whom it names, else with its room.
	acuity.Signal
	ReceivedAt acuity.Instant
	Feed       acuity.Channel
	// Settled: 24 h after the receipt the owner is final, the visit or the room.
	Settled bool
}

// VisitState is one visit: the set of its ADT events, and what censuses say
// about it.
type VisitState struct {
	ID      string // pseudonym
	Events  []acuity.Event
	Folded  int32          // oldest events that were folded into Events[0]
	FoldAt  acuity.Instant // event time of the last one folded; 0: none
	Touched acuity.Instant // clock of the hospital at the last fact about the visit

	Facts *CensusFacts // nil: no census has named the visit
	Stays []CensusStay // by census, ascending; the newest eight
}

// DedupState is the identity of an event or a request of the last 24 h.
type DedupState struct {
	ID, Digest string
	At         acuity.Instant // receipt
	Version    int64          // of the change that a request made; 0: an event
}

// MappingState is a row of the terminology map of the hospital.
type MappingState struct {
	acuity.Mapping
	Version int64          // of the change that set it
	By      string         // id of the key that set it
	At      acuity.Instant // receipt
}

// CodeState is a code that no rule and no mapping knew when it was last seen.
type CodeState struct {
	System    codes.System
	Code      string
	Display   string
	Kind      catalogue.SignalKind // 0: a diagnosis
	Feed      acuity.Channel
	Count     int64 // ever
	FirstSeen acuity.Instant
	LastSeen  acuity.Instant
	Rooms     []int32     // ascending, the first twenty
	Hours     []HourCount // ascending, of the last 24 h
	Ignored   bool        // an administrator took it off the worklist
}

// HourCount is how often a code came in one hour of the hospital's clock.
type HourCount struct {
	Hour  int32 // hours since the Unix epoch
	Count int32
}

// RuleState is a rule of the hospital in force.
type RuleState struct {
	catalogue.Rule
	Version int64          // of the change that set it
	By      string         // id of the key that set it
	At      acuity.Instant // receipt
}

// PlaceState is a row of the location table of the hospital.
type PlaceState struct {
	acuity.Place
	Version int64          // of the change that set it
	By      string         // id of the key that set it
	At      acuity.Instant // receipt
}

// SwitchesState is the switches of the hospital.
type SwitchesState struct {
	acuity.Switches
	Version int64          // of the change that set them
	By      string         // id of the key that set them
	At      acuity.Instant // receipt
}

// ReferenceState is the newest state of a reference.
type ReferenceState struct {
	acuity.Reference
	Version int64 // of the change that set it
}

// Says reports whether the state equals a reference. For a newborn the time is a part of
// it.
func (s *ReferenceState) Says(r *acuity.Reference) bool {
	return s.Place == r.Place && s.Patient == r.Patient && slices.Equal(s.Codings, r.Codings) && (!r.IsNeonate() || s.UpdatedAt == r.UpdatedAt)
}
