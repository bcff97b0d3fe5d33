package acuity

// State is one record of the changelog: a piece of the facts of one hospital.
// The kinds are [UnitState], [RoomState], [VisitState], [HeardState],
// [SeenState], [CodeState], and of the site [MappingState], [RuleState],
// [PlaceState] and [SwitchesState], and [ReferentState]; each stays below 64 KiB by the caps of
// caps.go. What [Unit.Dirty] hands out is valid until its callback returns.
type State interface{ state() }

func (*UnitState) state()    {}
func (*RoomState) state()    {}
func (*VisitState) state()   {}
func (*HeardState) state()   {}
func (*SeenState) state()    {}
func (*MappingState) state() {}
func (*CodeState) state()    {}

// UnitState is what concerns the hospital as a whole. Its key is the hospital.
// Version, Since and Level are conclusions: they cannot be made again from
// facts, because they tell what was said at a time that has passed.
type UnitState struct {
	Version int64   // of the last change
	Offset  int64   // of the last input in its partition
	Clock   Instant // never runs backwards
	Since   Instant // when the verdict last changed in anything it shows
	Level   Level   // as last told
	Heard   int64   // clinical statements that were kept, ever: the number of the last

	Staffing []Staffing // in force first, then plans ahead in order of AsOf
	Roster   *Roster    // the newest

	HasCensus  bool
	CensusAt   Instant // of the newest census, at most its receipt
	TotalRooms int32   // max(totalRooms, rooms listed) of the newest census

	ObservedAt Instant    // newest fact about a patient, at most its receipt
	Generation int32      // of snapshots: one more with each backfill
	Live       []HourSpan // observed hours of the last 28 days that were cut when they came, ascending
	Backfill   Backfill
}

// HourSpan is hours that follow each other, both ends included.
type HourSpan struct{ From, To int32 } // since 1970 UTC

// Backfill is the past hours that are still to be cut, by the times of events
// that came late; a Due of 0: none.
type Backfill struct {
	Due         Instant // when the next hour is cut
	From, Until int32   // hours, both included
	Next        int32   // hour; before the first is cut it is From
}

// RoomState is one room: what is known of it, and what a census said of it last.
type RoomState struct {
	ID    int32
	Label string
	Area  string

	// A room that ADT made known by itself, until a census lists it: by its
	// location, or, if Room is empty, by a room id.
	Registered  bool
	PointOfCare string // as sent
	Room        string // PV1-3.2 as sent

	Listed   bool       // in the newest census
	Status   RoomStatus // what that census said
	Clinical bool       // named by clinical ingest since the newest census
	Placed   bool       // an ADT visit that is forgotten by now was here since the newest census

	Occupant *Occupant // whom a census sees here without a visit
	Past     []Stay    // of occupants without a visit who left, within the last 24 h

	Color  Color    // as last told
	Active []Factor // active at the end of the last ingest, ascending
}

// Occupant is somebody whom a census reports in a room without saying which
// visit it is.
type Occupant struct {
	Stay
	Facts CensusFacts
}

// Stay is how long a census has seen somebody in a room.
type Stay struct {
	Room  int32
	From  Instant // just after the census before, which did not see it
	First Instant // first census that saw it
	Last  Instant // newest census that saw it
	To    Instant // first census that did not see it any more; 0: none yet
}

// CensusFacts is what censuses say about one patient. A census that does not
// mention something leaves it as it was.
type CensusFacts struct {
	Area         string // of the row
	Class        byte
	Service      string
	Primary      Factor // explicit; 0: none
	PrimarySince Instant
	DeliveredAt  Instant
	Cesarean     bool

	Listed    []Listed
	Diagnoses []Standing
	Newborns  []NewbornSeen
}

// Listed is a modifier that the newest census lists.
type Listed struct {
	Factor      Factor
	Since, Last Instant // first census of the unbroken run that lists it, and the newest
}

// Standing is a diagnosis that the newest census lists.
type Standing struct {
	Diagnosis
	Start, Last Instant // onset, else first census that lists it; newest census that does
}

// NewbornSeen is a newborn whom a census lists with its mother.
type NewbornSeen struct {
	Visit   string // pseudonym; may be empty
	Primary Factor // 0: by default
	Since   Instant
}

// HeardState is one clinical statement as it was received. Each has a record of
// its own: a room hears dozens a day, and a new one does not write the others
// again.
type HeardState struct {
	Number int64 // in order of arrival; one counter per hospital
	// Signal.Visit is the visit that the statement belongs to for good; empty: it
	// is kept with the patient whom it names, else with its room.
	Signal
	ReceivedAt Instant
	Feed       Channel
	// Settled: 24 h have passed since the receipt, so that whom it belongs to
	// is decided for good: to the visit, or to the room.
	Settled bool
}

// VisitState is one visit: the set of its ADT events, and what censuses say
// about it.
type VisitState struct {
	ID      string // pseudonym
	Events  []Event
	Folded  int32   // oldest events that were folded into Events[0]
	FoldAt  Instant // event time of the last one folded; 0: none
	Touched Instant // clock of the hospital when something was last said about the visit

	Facts *CensusFacts // nil: no census has named the visit
	Stays []Stay       // by census, ascending; the newest eight
}

// SeenState is the identity of an event, or of a request, that was taken in
// within the last 24 h.
type SeenState struct {
	ID, Digest string
	At         Instant // receipt
	Version    int64   // of the change that a request made; 0 of an event
}

// MappingState is a row of the terminology map of the hospital.
type MappingState struct {
	Mapping
	Version int64   // of the change that set it
	By      string  // id of the key that set it
	At      Instant // receipt
}

// CodeState is a code that no rule and no mapping knew when it was last seen.
type CodeState struct {
	System    System
	Code      string
	Display   string
	Kind      SignalKind // 0: a diagnosis
	Feed      Channel
	Count     int64 // ever
	FirstSeen Instant
	LastSeen  Instant
	Rooms     []int32     // ascending, the first twenty
	Hours     []HourCount // ascending, of the last 24 h
	Ignored   bool        // nobody need look at it

	dirty bool // is to be written
}

// HourCount is how often something came in one hour of the hospital's clock.
type HourCount struct {
	Hour  int32 // hours since the Unix epoch
	Count int32
}
