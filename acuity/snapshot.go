package acuity

// Horizon is the number of hours that a snapshot looks ahead.
const Horizon = 8

// Snapshot is a unit at one full hour: all the input of the forecast. It identifies no patient: a visit is 8 bytes of
// its pseudonym.
type Snapshot struct {
	Hour         int32 // hours since 1970 UTC
	Generation   int32 // a higher generation of the same hour replaces it (backfill)
	Position     int64 // offset of the last input before it
	Backfill     int32 // hours of the same backfill still to come, including this one; 0: taken on time
	RulesVersion string
	Observed     bool // a unit state exists and its newest ADT, census, clinical or FHIR fact is at most 12 h old

	Visits   []SnapshotVisit   // open ones, at most 500
	Arrivals []SnapshotArrival // since the hour before
	Moves    int32             // as counted for the flow axis

	Occupied int32
	Rooms    int32 // total, 0: unknown
	Boarders int32
	Class4   [Horizon + 1]int32 // rooms with an emergency, now and at each hour ahead if only time passes
	Nurses   int32              // -1: unknown
	Call     Tristate
	Level    Level
}

// SnapshotVisit is one open visit and its demand at each hour ahead if only time passes.
type SnapshotVisit struct {
	Visit  uint64
	Class  StageClass
	Age    int32              // minutes in the stage
	Demand [Horizon + 1]uint8 // in 60ths of a nurse, now and at each hour ahead; at most 255
	Score  [Horizon + 1]uint8 // of its room; 0 for a visit that shares the room with another entry
}

// SnapshotArrival is a visit that arrived since the hour before.
type SnapshotArrival struct {
	Visit uint64
	Kind  ArrivalKind
}

// StageClass is the care stage of a visit, as the forecast distinguishes them. The first five are short; the others
// are long stays.
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

// The kinds.
const (
	ArrivesTriage ArrivalKind = iota
	ArrivesLabor              // early or active labor
	ArrivesBirth
	ArrivesOther
)
