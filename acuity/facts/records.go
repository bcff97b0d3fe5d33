// Package facts defines the recorded facts of one hospital.
//
// A [Record] is a changelog record; a restart reads all of them. [LocalSettings] contains the rows that
// administrators set. [Deduplication] contains the identities of the requests and events from the last 24 h. The
// package contains no derived state.
package facts

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
)

// ReasonExists is the reason for skipping a conditional create: the hospital already has the resource, so nothing
// changed.
const ReasonExists = "exists"

// Record is one changelog record. It contains facts about one hospital. The kinds are [UnitState], [RoomState],
// [VisitState], [StatementState], [ReferenceState], [DedupState], [CodeState] and [PastStaffingState]; [MappingState],
// [RuleState], [PlaceState] and [SwitchesState] are local settings. The limits in the importing packages keep each
// record below 64 KiB. A Record from hospital.State.Dirty is valid until the callback returns.
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

func (*PastStaffingState) state() {}

// UnitState is the state of the hospital as a whole. Version, Since, Level and Run are derived but stored, because
// they record what was published in the past and cannot be recomputed from the facts.
type UnitState struct {
	Version    int64          // version of the last change
	Offset     int64          // offset of the last input in its partition
	Clock      acuity.Instant // clock of the hospital, which never runs backward
	Since      acuity.Instant // when the shown verdict last changed
	Level      acuity.Level   // last published level
	Run        acuity.LevelRun
	Statements int64 // number of the latest clinical statement stored

	Staffing []acuity.Staffing // the current entry first, then future plans in order of AsOf
	Roster   *acuity.Roster    // the newest roster

	HasCensus  bool
	CensusAt   acuity.Instant // time of the newest census, no later than its receipt
	TotalRooms int32          // the larger of totalRooms and the number of rooms listed in the newest census

	ObservedAt acuity.Instant // time of the newest fact about a patient, no later than its receipt
	Generation int32          // generation of the snapshots; each backfill increments it
	Live       []HourSpan     // observed hours in the last 28 days whose snapshots were made on time, ascending
	Backfill   Backfill
}

// HourSpan is a range of hours, both ends inclusive.
type HourSpan struct{ From, To int32 } // in hours since 1970-01-01 UTC

// Backfill is the range of past hours that need a new snapshot because of late events. If Due is 0, there is no
// backfill.
type Backfill struct {
	Due         acuity.Instant // when the next snapshot is made
	From, Until int32          // range of hours, both ends inclusive
	Next        int32          // hour of the next snapshot; equal to From before the first one
}

// RoomState is the state of one room, including its row in the newest census.
type RoomState struct {
	ID    int32
	Label string
	Area  string

	// Registered means that only ADT has named the room and no census has listed it. ADT named the room by the
	// location in PointOfCare and Room or, if Room is empty, by its room id.
	Registered  bool
	PointOfCare string // point of care as sent
	Room        string // PV1-3.2 as sent

	Listed   bool              // whether the newest census lists the room
	Status   acuity.RoomStatus // status in the newest census
	Clinical bool              // whether clinical ingest has named the room since the newest census
	Placed   bool              // whether an ADT visit that is no longer stored was here after the newest census

	Occupant *Occupant    // occupant whom a census reports without a visit
	Past     []CensusStay // ended stays of occupants without a visit, stored for 24 h after their end

	Color  acuity.Color       // last published color
	Active []catalogue.Factor // factors that were active after the last input, ascending
}

// Occupant is a patient whom a census reports in a room without a visit.
type Occupant struct {
	CensusStay
	Facts CensusFacts
}

// CensusStay is the time during which censuses reported a patient in a room.
type CensusStay struct {
	Room  int32
	From  acuity.Instant // just after the previous census, which did not report the patient
	First acuity.Instant // time of the first census that reported the patient
	Last  acuity.Instant // time of the newest census that reported the patient
	To    acuity.Instant // time of the first census that no longer reported the patient; 0: none yet
}

// CensusFacts are the facts that censuses have reported about one patient. A census does not change the fields that
// it omits, except that a different area, service or class ends an explicit primary factor.
type CensusFacts struct {
	Area         string // area in the patient's row
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
	Start, Last acuity.Instant // Start: onset or, if missing, first census that lists the diagnosis; Last: newest census that lists it
}

// ListedNewborn is a newborn whom a census lists with the mother.
type ListedNewborn struct {
	Visit   string           // pseudonym; may be empty
	Primary catalogue.Factor // 0: the default primary factor
	Since   acuity.Instant
}

// StatementState is one clinical statement as it was received. Each statement has its own record: a room gets dozens a
// day, and storing one must not rewrite the others.
type StatementState struct {
	Number int64 // sequence number by arrival; one counter per hospital
	// Signal.Visit is the visit that permanently owns the statement. If Signal.Visit is empty, the statement belongs to
	// the patient it names or, if it names none, to its room.
	acuity.Signal
	ReceivedAt acuity.Instant
	Feed       acuity.Channel
	// Settled reports whether 24 h have passed since the receipt, so that the statement's owner (a visit or a room)
	// is final.
	Settled bool
}

// VisitState is one visit: its ADT events, and the facts that censuses have reported about it.
type VisitState struct {
	ID      string // pseudonym
	Events  []acuity.Event
	Folded  int32          // total number of events that were folded
	FoldAt  acuity.Instant // when the newest folded event counts; 0: none
	Touched acuity.Instant // the hospital's clock at the last fact about the visit

	Facts *CensusFacts // nil: no census has named the visit
	Stays []CensusStay // the newest eight stays according to censuses, ascending
}

// DedupState is the identity of an event or a request received in the last 24 h.
type DedupState struct {
	ID, Digest string
	At         acuity.Instant // time of receipt
	Version    int64          // version of the change that the request made; 0 for an event
}

// MappingState is a row of the hospital's terminology map.
type MappingState struct {
	acuity.Mapping
	Version int64          // version of the change that set the row
	By      string         // id of the API key that set the row
	At      acuity.Instant // time of receipt
}

// CodeState is a code that matched no rule and no mapping when it was last received.
type CodeState struct {
	System    codes.System
	Code      string
	Display   string
	Kind      catalogue.SignalKind // kind of signal; 0: a diagnosis
	Feed      acuity.Channel
	Count     int64 // total number of occurrences
	FirstSeen acuity.Instant
	LastSeen  acuity.Instant
	Rooms     []int32     // first twenty rooms in which the code occurred, ascending
	Hours     []HourCount // occurrences in each hour of the last 24 h, ascending
	Ignored   bool        // whether an administrator removed the code from the worklist
}

// HourCount is the number of occurrences of a code in one hour by the hospital's clock.
type HourCount struct {
	Hour  int32 // whole hours since the Unix epoch
	Count int32
}

// RuleState is a rule in effect at the hospital.
type RuleState struct {
	catalogue.Rule
	Version int64          // version of the change that set the rule
	By      string         // id of the API key that set the rule
	At      acuity.Instant // time of receipt
}

// PlaceState is a row of the hospital's location table.
type PlaceState struct {
	acuity.Place
	Version int64          // version of the change that set the row
	By      string         // id of the API key that set the row
	At      acuity.Instant // time of receipt
}

// SwitchesState contains the hospital's switches.
type SwitchesState struct {
	acuity.Switches
	Version int64          // version of the change that set the switches
	By      string         // id of the API key that set the switches
	At      acuity.Instant // time of receipt
}

// ReferenceState is the newest state of a reference.
type ReferenceState struct {
	acuity.Reference
	Version int64 // version of the change that set the reference
}

// Matches reports whether the stored reference has the same content as r. For a newborn, the times must also be equal.
func (s *ReferenceState) Matches(r *acuity.Reference) bool {
	return s.Place == r.Place && s.Patient == r.Patient && slices.Equal(s.Codings, r.Codings) && (!r.IsNeonate() || s.UpdatedAt == r.UpdatedAt)
}
