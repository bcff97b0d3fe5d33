package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Change is the effect of one input, or of one due instant, on a unit. All downstream data is derived from changes.
// Each change increments the version, so every input is visible and no two effects merge.
type Change struct {
	Hospital  string
	Version   int64 // one counter per hospital, incremented by 1 and never reset
	Offset    int64 // of the input in its partition; for a due instant, that of the last input
	Cause     Cause
	AppliedAt Instant // clock of the hospital at this change

	Outcome Outcome
	Reason  string       // of a rejection: its stable code
	Items   []ItemResult // one per event of the input, in the order of the input

	Level   Level // after the change
	Effects []Effect

	Activated, Expired []FactorChange     // by room, then factor id
	Active             []catalogue.Factor // of the room of a clinical request, in order of display
	RoomLabel          string             // of that room
	Unmapped           []Unmapped
	Warnings           []Warning
	Removed            int32 // rooms that a census took out of the unit

	Preview *Preview // of a dry run

	Snapshot *Snapshot // of a full hour that has passed

	// Repeats is the version of the change that the first request with the same identity made, and RepeatsAt its
	// time. 0: the request is not a repeat.
	Repeats   int64
	RepeatsAt Instant
}

// Cause is the reason why a verdict was recomputed.
type Cause uint8

// The causes.
const (
	CauseIngest Cause = iota
	CauseTime
)

// Outcome is the result of an input.
type Outcome uint8

// The outcomes. Time is the outcome of a change without an input.
const (
	Applied Outcome = iota
	Duplicate
	Ignored
	Rejected
	Time
)

// ItemResult is the result of one event of an input.
type ItemResult struct {
	Outcome Outcome
	Reason  string // stable code of an ignored or rejected event
	HasRoom bool
	RoomID  int32 // where the visit is after the event
}

// EffectKind is a kind of event that partners are notified of.
type EffectKind uint8

// The kinds of effect: surge.level_changed and room.rescored.
const (
	LevelChanged EffectKind = iota + 1
	RoomRescored
)

// Effect is one change of the verdict that partners are notified of: first the level, then the rooms by id.
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

// Unmapped is a code of an input that matches no rule and no mapping.
type Unmapped struct {
	System  codes.System
	Code    string
	Display string
}

// Preview is the effect that an observation would have on the verdict: the result of a dry run.
type Preview struct {
	Outcome Outcome
	Reason  string // of an observation that would be refused

	Level              Level // after the change
	Effects            []Effect
	Activated, Expired []FactorChange
	Warnings           []Warning
}
