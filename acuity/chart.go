package acuity

import (
	"slices"

	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Chart is the rooms of a unit, their patients and the evidence of each patient. A verdict is computed from a chart and
// an instant; a chart itself does not change with time. It is stored in Redis, so that every read can evaluate it at
// the time of the read.
type Chart struct {
	Hospital string
	Unit     UnitChart
	Rooms    []RoomChart // ascending by ID
}

// UnitChart is the part of a chart that concerns the unit as a whole.
type UnitChart struct {
	Version int64   // of the last change
	Since   Instant // when anything that the verdict shows last changed
	Clock   Instant // clock of the hospital at Version
	Run     LevelRun
	// ObservedAt is the time of the newest fact about a patient; 0: there is none.
	ObservedAt Instant

	// Staffing lists the current staffing first, then plans in order of AsOf. Empty: no staffing was ever sent.
	Staffing []Staffing
	Roster   *Roster

	HasCensus  bool
	CensusAt   Instant
	TotalRooms int32 // max(totalRooms, rooms listed) of the newest census, including blocked rooms

	Moves            []Instant // event times of A01 to A04 events in effect that may lie within the last 120 min, ascending
	Unplaced         int32     // open visits without a location
	UnknownLocations int32     // created from a feed, not confirmed by an administrator

	// Facts that wait for the entity they refer to, as counted at the last full hour of Clock. Facts wait at most 24
	// h.
	CancelsWaiting    int32 // cancels, for the event that they cancel
	StatementsWaiting int32 // clinical statements, for their visit or patient

	Rules              []catalogue.Rule // of the hospital, which override the catalogue; ascending by factor
	StaffingFromRoster bool             // without a staffing record, nurses on duty are counted from the roster
}

// Catalogue returns the catalogue for this unit: the default catalogue with the rules of its hospital. Charts with
// equal rules share one catalogue.
func (u *UnitChart) Catalogue() *catalogue.Catalogue { return catalogue.Default().With(u.Rules) }

// RoomChart is one room.
type RoomChart struct {
	ID     int32
	Label  string
	Area   string
	Status RoomStatus
	Listed bool // in the newest census, or has a patient placed by ADT: counts toward capacity

	// NewestSignal is the order time of the newest signal of a room that is known only from clinical signals; the
	// room is stale 48 h later. 0: any other room.
	NewestSignal Instant

	// Patients lists the mothers (or other patients) in the room, in order of arrival; newborns are part of their
	// mother's entry. A room with only newborns has one entry for all of them. A room known only from clinical
	// signals has one entry if any evidence is active.
	Patients []PatientChart
}

// PatientChart is one patient with her newborns.
type PatientChart struct {
	Visit   string  // pseudonym, or "room:<id>" of an occupant without a visit
	Arrived Instant // in this room
	Birth   Instant // from this instant on, modifiers with the window "birth" are inactive; 0: no birth yet
	Mother  bool    // false: the entry has only newborns

	// UnnamedFetus reports whether a tracing of a multiple gestation does not identify its fetus. Only the newest
	// such tracing counts, so it may have replaced the tracing of another fetus.
	UnnamedFetus bool

	Evidence []Evidence
}

// CountEvidence returns the number of pieces of evidence.
func (r *RoomChart) CountEvidence() int {
	n := 0
	for i := range r.Patients {
		n += len(r.Patients[i].Evidence)
	}
	return n
}

// Equal reports whether two charts have equal content.
func (r *RoomChart) Equal(o *RoomChart) bool {
	return r.ID == o.ID && r.Status == o.Status && r.Listed == o.Listed && r.NewestSignal == o.NewestSignal &&
		r.Label == o.Label && r.Area == o.Area && slices.EqualFunc(r.Patients, o.Patients, func(a, b PatientChart) bool {
		return a.Visit == b.Visit && a.Arrived == b.Arrived && a.Birth == b.Birth && a.Mother == b.Mother && a.UnnamedFetus == b.UnnamedFetus &&
			slices.Equal(a.Evidence, b.Evidence)
	})
}

// EvidenceKind is the kind of source of a piece of evidence. Of two equal pieces, the one with the lower kind is
// displayed.
type EvidenceKind uint8

// The kinds, in order of preference for display.
const (
	BySignal EvidenceKind = iota + 1
	ByDiagnosis
	ByLocalRule
	ByManual
	ByADT
	ByCensus
)

// Evidence is what one source reports about one factor of one patient, after codes were matched, older statements
// replaced and contradictions resolved. Only active evidence is kept.
type Evidence struct {
	Factor  catalogue.Factor
	Variant uint8 // variant of the factor in the catalogue; 0: none
	Count   uint8 // number of babies, for labor-multiple-gestation
	Baby    uint8 // 0: the mother; n: her n-th newborn
	Kind    EvidenceKind

	Start Instant // first assertion of the unbroken run, from which steps are timed
	Last  Instant // newest assertion, from which staleness is timed

	AssignedBy string // of a primary factor: the rule that chose it, a stable code
	Source     Source
	Fetus      string // of a fetus: its label "A" to "I", or a pseudonym; empty: no fetus is named
}

// Source names the statement behind a piece of evidence.
type Source struct {
	Feed   Channel
	System codes.System
	Code   string
}

// Written returns the code of the source in its usual notation. ICD-10-CM codes are stored without the dot, so that
// they can be compared by bytes.
func (s Source) Written() string {
	if s.System == codes.ICD10CM && len(s.Code) > 3 {
		return s.Code[:3] + "." + s.Code[3:]
	}
	return s.Code
}

// Level is the strain of a unit.
type Level uint8

// The levels. Their numbers are levelRank of the API.
const (
	LevelGreen Level = iota
	LevelYellow
	LevelOrange
	LevelRed
)

// LevelRun is the time since which a unit has its level, and the level before it.
type LevelRun struct {
	Since    Instant // 0: unknown
	Prior    Level
	HasPrior bool // false: there was no earlier level, or it is unknown
}

// Color is the acuity of a room.
type Color uint8

// The colors. Gray is a room that is empty, blocked or not assessed.
const (
	ColorGray Color = iota
	ColorGreen
	ColorYellow
	ColorOrange
	ColorRed
)

// Axis is one of the seven measures of a unit. If two axes are equal, the lower number has priority.
type Axis uint8

// The axes.
const (
	AxisStaffing Axis = iota
	AxisCritical
	AxisReserve
	AxisCapacity
	AxisAcuity
	AxisFlow
	AxisSkill
	AxisCount = 7
)

var levelNames = [...]string{"green", "yellow", "orange", "red"}

// String returns the name used in the API.
func (l Level) String() string { return levelNames[l] }

var colorNames = [...]string{"gray", "green", "yellow", "orange", "red"}

// String returns the name used in the API.
func (c Color) String() string { return colorNames[c] }

var evidenceNames = [...]string{"", "signal", "diagnosis", "site", "manual", "adt", "census"}

// String returns the name used in the API.
func (k EvidenceKind) String() string { return evidenceNames[k] }

var axisNames = [AxisCount]struct{ id, label, problem string }{
	AxisStaffing: {"staffing", "Staffing to ratio", "Short-staffed"},
	AxisCritical: {"critical", "1:1 care and STAT events", "Many 1:1 or STAT patients"},
	AxisReserve:  {"reserve", "Staff for the next admission", "No staff for the next admission"},
	AxisCapacity: {"capacity", "Room capacity", "Rooms nearly full"},
	AxisAcuity:   {"acuity", "Acuity per nurse", "High acuity per nurse"},
	AxisFlow:     {"flow", "Admissions, transfers, discharges", "High patient turnover"},
	AxisSkill:    {"skill", "Skill mix", "Skill mix below target"},
}

// String returns the id used in the API.
func (a Axis) String() string { return axisNames[a].id }

// Label returns the English display name: a noun that suggests no problem, at any level.
func (a Axis) Label() string { return axisNames[a].label }

// Problem returns the English headline of a unit that this axis has raised above green.
func (a Axis) Problem() string { return axisNames[a].problem }
