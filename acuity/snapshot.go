package acuity

// Horizon is how many hours ahead a snapshot looks.
const Horizon = 8

// Snapshot is a unit at one full hour: everything that the forecast learns from and
// predicts from. It names no patient: a visit is 8 bytes of its pseudonym.
type Snapshot struct {
	Hour         int32 // hours since 1970 UTC
	Generation   int32 // a later one of the same hour replaces it: backfill
	Position     int64 // offset of the last input before it
	Backfill     int32 // hours of the same backfill still to come, this one included; 0: cut on time
	RulesVersion string
	Observed     bool // a unit state exists and its last ADT, census, clinical or FHIR fact is at most 12 h old

	Visits   []SnapshotVisit   // open ones, at most 500
	Arrivals []SnapshotArrival // since the hour before
	Moves    int32             // as the axis of flow counts them

	Occupied int32
	Rooms    int32 // in all, 0: unknown
	Boarders int32
	Class4   [Horizon + 1]int32 // rooms with an emergency in them, now and on the frozen path
	Nurses   int32              // -1: unknown
	Call     Tristate
	Level    Level
}

// SnapshotVisit is one open visit and what it will need if nothing happens but that time
// goes on.
type SnapshotVisit struct {
	Visit  uint64
	Class  StageClass
	Age    int32              // minutes in the stage
	Demand [Horizon + 1]uint8 // in 60ths of a nurse, now and at each hour ahead; at most 255
	Score  [Horizon + 1]uint8 // of its room, 0 beside a visit that stands for the room
}

// SnapshotArrival is a visit that came since the hour before.
type SnapshotArrival struct {
	Visit uint64
	Kind  ArrivalKind
}

// StageClass is the stage of a visit as the forecast distinguishes stages. The first five
// are short, the others are long stays.
type StageClass uint8

// The classes, in the order of the tables of the forecast.
const (
	StageTriage          StageClass = iota // triage, antepartum testing
	StageEarly                             // ripening, labour before 4 cm, ruptured membranes
	StageLabor                             // active labour
	StageBirth                             // birth, operating room, admitted for cesarean
	StageRecovery                          //
	StageCouplet                           // mother and newborn
	StageAntepartum                        //
	StageOther                             //
	StageCoupletCesarean                   // mother and newborn after a cesarean
)

// ArrivalKind is the stage in which a visit began.
type ArrivalKind uint8

// The kinds.
const (
	ArrivesTriage ArrivalKind = iota
	ArrivesLabor              // early or active labour
	ArrivesBirth
	ArrivesOther
)
