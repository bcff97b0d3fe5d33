package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Change is the effect of one input, or of one due instant, on a unit. All downstream data is derived from changes.
// Each change increments the version, so every input is visible and effects are never merged.
type Change struct {
	Hospital  string
	Version   int64 // one counter per hospital, incremented by 1 and never reset
	Offset    int64 // offset of the input in its partition; for a due instant, the offset of the last input
	Cause     Cause
	AppliedAt Instant // the hospital's clock at this change

	Outcome Outcome
	Reason  string       // stable code for why the input was not applied; "": none
	Items   []ItemResult // one per event in the input, in the order of the input

	Level   Level // level after the change
	Effects []Effect

	Activated, Expired []FactorChange     // ordered by room, then factor id
	Active             []catalogue.Factor // active factors in the room of a clinical request, in display order
	RoomLabel          string             // label of the room of a clinical request
	Unmapped           []Unmapped
	Warnings           []Warning
	Removed            int32 // number of rooms that a census removed from the unit

	Preview *Preview // result of a dry run

	Snapshot *Snapshot // snapshot of an hour that has passed

	// Repeats is the version of the change made by the first request with the same identity, and RepeatsAt is that
	// change's time. Both are 0 if the request is not a repeat.
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

// Outcome is the result of processing an input.
type Outcome uint8

// The outcomes. Time is the outcome of a change without an input.
const (
	Applied Outcome = iota
	Duplicate
	Ignored
	Rejected
	Time
)

// ItemResult is the result for one event in an input.
type ItemResult struct {
	Outcome Outcome
	Reason  string // stable code for why the event was ignored or rejected
	HasRoom bool
	RoomID  int32 // room where the visit is after the event
}

// EffectKind is a kind of event about which partners are notified.
type EffectKind uint8

// The kinds of effect: surge.level_changed and room.rescored.
const (
	LevelChanged EffectKind = iota + 1
	RoomRescored
)

// Effect is one change of a verdict that partners are notified about. In a list of effects, the change of the level
// comes first, then the changes of rooms in order of room id.
type Effect struct {
	Kind EffectKind

	Level, Prior Level // only for LevelChanged
	Driving      Axis
	Ratio        int32 // nurses on duty per nurse required, in hundredths, as in score.Verdict
	Shortfall    int32

	RoomID            int32 // only for RoomRescored
	RoomLabel         string
	Color, PriorColor Color
	Score             int32
	Factors           []catalogue.Factor
	Nursing           string
}

// FactorChange is a factor that became active in a room or expired there.
type FactorChange struct {
	RoomID    int32
	RoomLabel string
	Factor    catalogue.Factor
	Ratio     string
	Since     Instant
	Kind      EvidenceKind
}

// Unmapped is a code in an input that matches neither a rule nor a mapping.
type Unmapped struct {
	System  codes.System
	Code    string
	Display string
}

// Preview is the effect that an observation would have on the verdict: the result of a dry run.
type Preview struct {
	Outcome Outcome
	Reason  string // stable code for why the observation would be refused

	Level              Level // level after the change
	Effects            []Effect
	Activated, Expired []FactorChange
	Warnings           []Warning
}
