package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Change is what one input, or one due instant, did to a unit. Everything downstream is
// derived from these records. Each has the next version, so no input is silent and no
// two effects merge.
type Change struct {
	Hospital  string
	Version   int64   // one counter per hospital, + 1 each, never reset
	Offset    int64   // of the input in its partition; a due instant has that of the last input
	Cause     Cause   //
	AppliedAt Instant // clock of the hospital at this change

	Outcome Outcome
	Reason  string       // of a rejection: a stable code
	Items   []ItemResult // one per event of the input, in its order

	Level   Level // after
	Effects []Effect

	Activated, Expired []FactorChange     // by room, then factor id
	Active             []catalogue.Factor // of the room of a clinical request, in order of display
	RoomLabel          string             // of that room
	Unmapped           []Unmapped
	Warnings           []Warning
	Removed            int32 // rooms that a census took out of the unit

	Preview *Preview // of a dry run

	Snapshot *Snapshot // of a full hour that was due

	// Repeats is the version of the change that the first request with the same identity
	// made, RepeatsAt its time. 0: the request repeats none.
	Repeats   int64
	RepeatsAt Instant
}

// Cause is why a verdict was made anew.
type Cause uint8

// The causes.
const (
	CauseIngest Cause = iota
	CauseTime
)

// Outcome is what became of an input.
type Outcome uint8

// The outcomes. Time is that of a change without input.
const (
	Applied Outcome = iota
	Duplicate
	Ignored
	Rejected
	Time
)

// ItemResult is what became of one event of an input.
type ItemResult struct {
	Outcome Outcome
	Reason  string // stable code, of an ignored or rejected one
	HasRoom bool
	RoomID  int32 // where the visit is after the event
}

// EffectKind is what a partner is told about.
type EffectKind uint8

// The kinds of effect: surge.level_changed and room.rescored.
const (
	LevelChanged EffectKind = iota + 1
	RoomRescored
)

// Effect is one change of the verdict that partners are told: first the level, then the
// rooms by id.
type Effect struct {
	Kind EffectKind

	Level, Prior Level // LevelChanged
	Driving      Axis
	Ratio        int32 // as in Verdict
	Shortfall    int32

	RoomID            int32 // RoomRescored
	RoomLabel         string
	Color, PriorColor Color
	Score             int32
	Factors           []catalogue.Factor
	Nursing           string
}

// FactorChange is a factor that became active in a room, or expired.
type FactorChange struct {
	RoomID    int32
	RoomLabel string
	Factor    catalogue.Factor
	Ratio     string
	Since     Instant
	Kind      EvidenceKind
}

// Unmapped is a code of an input that no rule and no mapping knows.
type Unmapped struct {
	System  codes.System
	Code    string
	Display string
}

// Preview is what an observation would do to the verdict. A dry run answers with it.
type Preview struct {
	Outcome Outcome
	Reason  string // of an observation that would not be taken

	Level              Level // after
	Effects            []Effect
	Activated, Expired []FactorChange
	Warnings           []Warning
}
