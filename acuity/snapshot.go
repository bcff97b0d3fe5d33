package acuity

// Horizon is the number of hours that a snapshot looks ahead.
const Horizon = 8

// Snapshot is the state of a unit at a full hour. It contains all the input to the forecast. It does not identify
// patients: each visit is reduced to an 8-byte hash of its pseudonym.
type Snapshot struct {
	Hour         int32 // hours since 1970-01-01 UTC
	Generation   int32 // a snapshot of the same hour with a higher generation replaces this one (backfill)
	Position     int64 // offset of the last input before the snapshot
	Backfill     int32 // number of hours left in the backfill, including this one; 0: made on time
	RulesVersion string
	Observed     bool // whether the unit has a state, and its newest ADT, census, clinical or FHIR fact is at most 12 h old

	Visits   []SnapshotVisit   // open visits, at most 500
	Arrivals []SnapshotArrival // arrivals since the previous hour
	Moves    int32             // number of moves, as counted for the flow axis

	Occupied int32
	Rooms    int32 // total number of rooms; 0: unknown
	Boarders int32
	Class4   [Horizon + 1]int32 // number of rooms with a factor of class 4, now and, if no new facts arrive, at each hour ahead
	Nurses   int32              // -1: unknown
	Call     Tristate
	Level    Level
}

// SnapshotVisit is one open visit with its demand now and, if no new facts arrive, at each hour ahead.
type SnapshotVisit struct {
	Visit  uint64
	Class  StageClass
	Age    int32              // minutes since the start of the stage
	Demand [Horizon + 1]uint8 // in 60ths of a nurse, now and at each hour ahead; at most 255
	Score  [Horizon + 1]uint8 // score of the visit's room; 0 if the score is reported with another visit in the room
}

// SnapshotArrival is a visit that arrived since the previous hour.
type SnapshotArrival struct {
	Visit uint64
	Kind  ArrivalKind
}

// StageClass is a care stage that the forecast distinguishes. The first five stages are short; the others are long
// stays.
type StageClass uint8

// The classes, in the order of the forecast tables.
const (
	StageTriage StageClass = iota // triage, antepartum testing
	StageEarly                    // ripening, labor before 4 cm, ruptured membranes
	StageLabor                    // active labor
	StageBirth                    // birth, operating room, admitted for cesarean
	StageRecovery
	StageCouplet // mother and newborn
	StageAntepartum
	StageOther
	StageCoupletCesarean // mother and newborn after a cesarean
)

// ArrivalKind is the stage in which a visit began.
type ArrivalKind uint8

// The kinds of arrivals.
const (
	ArrivesTriage ArrivalKind = iota
	ArrivesLabor              // early or active labor
	ArrivesBirth
	ArrivesOther
)
