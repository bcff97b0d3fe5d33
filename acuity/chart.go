package acuity

import (
	"slices"

	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Chart contains the rooms of a unit, the patients in them and the evidence about each patient. A verdict is computed
// from a chart and an instant; a chart itself does not change with time. It is stored in Redis, so that every read can
// evaluate it at the time of the read.
type Chart struct {
	Hospital string
	Unit     UnitChart
	Rooms    []RoomChart // ascending by ID
}

// UnitChart is the part of a chart that concerns the unit as a whole.
type UnitChart struct {
	Version int64   // version of the last change
	Since   Instant // when the displayed verdict last changed
	Clock   Instant // clock of the hospital at Version
	Run     LevelRun
	// ObservedAt is the time of the newest fact about a patient, or 0 if there is none.
	ObservedAt Instant

	// Staffing lists the current staffing first, then plans in order of AsOf. It is empty if no staffing was ever
	// sent.
	Staffing []Staffing
	Roster   *Roster

	HasCensus  bool
	CensusAt   Instant
	TotalRooms int32 // the larger of totalRooms and the number of rooms listed in the newest census, including blocked rooms

	Moves            []Instant // times of the moves that count toward turnover, ascending; at least those of the last 120 min
	Unplaced         int32     // open visits without a location
	UnknownLocations int32     // locations that a feed has named and no administrator has confirmed

	// Numbers of facts that wait for the entity they refer to, as of the last whole hour up to Clock. A fact waits for
	// at most 24 h.
	CancelsWaiting    int32 // cancels that wait for the event they refer to
	StatementsWaiting int32 // clinical statements that wait for their visit or patient

	Rules              []catalogue.Rule // the hospital's rules, which override the catalogue; ascending by factor
	StaffingFromRoster bool             // whether the roster gives the nurses on duty if there is no staffing record
}

// Catalogue returns the default catalogue with the rules of the unit's hospital. Hospitals with equal rules share one
// cached catalogue.
func (u *UnitChart) Catalogue() *catalogue.Catalogue { return catalogue.Default().With(u.Rules) }

// RoomChart is one room.
type RoomChart struct {
	ID     int32
	Label  string
	Area   string
	Status RoomStatus
	Listed bool // whether the room counts toward capacity: the newest census lists it, or ADT or a census has reported a patient there

	// NewestSignal is the order time of the newest signal in a room that is known only from clinical signals. Such a
	// room is stale 48 h later. NewestSignal is 0 if the room is known from other facts.
	NewestSignal Instant

	// Patients lists the mothers (or other patients) in the room, in order of arrival; newborns are part of their
	// mother's entry. A room with only newborns has one entry for all of them. A room known only from clinical
	// signals has one entry if any evidence is active.
	Patients []PatientChart
}

// PatientChart is one patient and her newborns.
type PatientChart struct {
	Visit   string  // pseudonym, or "room:<id>" for an occupant without a visit
	Arrived Instant // when the patient arrived in this room
	Birth   Instant // time of the first birth; 0: no birth yet
	Mother  bool    // whether the entry has a mother; if not, it has only newborns

	// UnnamedFetus reports whether, in a multiple gestation, several statements about a fetus do not identify the
	// fetus. Only the newest of these statements counts, although the others may be about other fetuses.
	UnnamedFetus bool
	// Unborn reports whether, after the first birth of a multiple gestation, another fetus may be unborn. If so, that
	// birth does not end evidence that concerns the labor or a later fetus.
	Unborn bool

	Evidence []Evidence
}

// CountEvidence returns the number of pieces of evidence in the room.
func (r *RoomChart) CountEvidence() int {
	n := 0
	for i := range r.Patients {
		n += len(r.Patients[i].Evidence)
	}
	return n
}

// Equal reports whether the charts of two rooms have equal content.
func (r *RoomChart) Equal(o *RoomChart) bool {
	return r.ID == o.ID && r.Status == o.Status && r.Listed == o.Listed && r.NewestSignal == o.NewestSignal &&
		r.Label == o.Label && r.Area == o.Area && slices.EqualFunc(r.Patients, o.Patients, func(a, b PatientChart) bool {
		return a.Visit == b.Visit && a.Arrived == b.Arrived && a.Birth == b.Birth && a.Mother == b.Mother &&
			a.UnnamedFetus == b.UnnamedFetus && a.Unborn == b.Unborn && slices.Equal(a.Evidence, b.Evidence)
	})
}

// EvidenceKind is the kind of source that a piece of evidence comes from. If two pieces of evidence are otherwise
// equal, the one with the lower kind is displayed.
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

// Evidence is what one source reports about one factor of one patient, after matching codes, replacing older statements
// and resolving contradictions. Only active evidence is kept.
type Evidence struct {
	Factor  catalogue.Factor
	Variant uint8 // variant of the factor in the catalogue; 0: none
	Count   uint8 // number of babies, for labor-multiple-gestation
	Baby    uint8 // 0: the mother; n: her n-th newborn
	Kind    EvidenceKind

	Start Instant // first assertion of the unbroken run, from which steps are timed
	Last  Instant // newest assertion, from which staleness is timed

	AssignedBy string // for a primary factor, the stable code of the rule that chose it
	Source     Source
	Fetus      string // label "A" to "I" or pseudonym of the fetus that the evidence concerns; empty: no fetus is named
}

// Source identifies the statement that a piece of evidence comes from.
type Source struct {
	Feed   Channel
	System codes.System
	Code   string
}

// Written returns the source's code in its usual notation. ICD-10-CM codes are stored without the dot, so that they can
// be compared byte by byte.
func (s Source) Written() string {
	if s.System == codes.ICD10CM && len(s.Code) > 3 {
		return s.Code[:3] + "." + s.Code[3:]
	}
	return s.Code
}

// Level is how strained a unit is.
type Level uint8

// The levels. Their values are the API's levelRank.
const (
	LevelGreen Level = iota
	LevelYellow
	LevelOrange
	LevelRed
)

// LevelRun describes the current level of a unit: when the unit reached it, and which level the unit had before.
type LevelRun struct {
	Since    Instant // 0: unknown
	Prior    Level
	HasPrior bool // whether an earlier level is known
}

// Color is the acuity of a room.
type Color uint8

// The colors. Gray is the color of a room that is empty, blocked or not assessed.
const (
	ColorGray Color = iota
	ColorGreen
	ColorYellow
	ColorOrange
	ColorRed
)

// Axis is one of the seven measures of a unit. If two axes are equally severe, the one with the lower number has
// priority.
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

// Label returns the English display name: a neutral noun, which does not suggest a problem at any level.
func (a Axis) Label() string { return axisNames[a].label }

// Problem returns the English headline for a unit that this axis has raised above green.
func (a Axis) Problem() string { return axisNames[a].problem }
