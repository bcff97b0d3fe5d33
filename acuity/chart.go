package acuity

import (
	"slices"

	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Chart is who is in which room with what evidence. A verdict is made of it and of an
// instant. Time alone changes nothing in it. The view in Redis holds it, so that a read can
// judge it at its own instant.
type Chart struct {
	Hospital string
	Unit     UnitChart
	Rooms    []RoomChart // ascending by ID
}

// UnitChart is what concerns the unit as a whole.
type UnitChart struct {
	Version int64   // of the last change
	Since   Instant // when the verdict last changed in anything it shows
	Clock   Instant // of the hospital at Version
	Run     LevelRun
	// ObservedAt is the time of the newest fact about a patient; 0: there was none.
	ObservedAt Instant

	// Staffing in force first, then plans ahead in order of AsOf. Empty: never sent.
	Staffing []Staffing
	Roster   *Roster

	HasCensus  bool
	CensusAt   Instant
	TotalRooms int32 // max(totalRooms, rooms listed) of the newest census, blocked ones included

	Moves            []Instant // event times of live A01 A02 A03 A04 that may lie within the last 120 min, ascending
	Unplaced         int32     // open visits without a place
	UnknownLocations int32     // registered by themselves, not confirmed

	// So many wait for what they name, as counted at the last full hour of Clock. Nothing
	// waits longer than 24 h.
	CancelsWaiting    int32 // cancels, for the event that they cancel
	StatementsWaiting int32 // clinical statements, for their visit or patient

	Rules              []catalogue.Rule // of the hospital, beside the catalogue; ascending by factor
	StaffingFromRoster bool             // without a staffing record the roster tells the nurses on duty
}

// Catalogue returns the catalogue by which the unit is judged: the default, with
// the rules of its hospital. Charts with equal rules have the same one.
func (u *UnitChart) Catalogue() *catalogue.Catalogue { return catalogue.Default().With(u.Rules) }

// RoomChart is one room.
type RoomChart struct {
	ID     int32
	Label  string
	Area   string
	Status RoomStatus
	Listed bool // in the newest census, or placed by ADT: counts for capacity

	// NewestSignal is the order time of the newest signal of a room that only
	// clinical ingest knows; 48 h later the room is stale. 0: another room.
	NewestSignal Instant

	// Patients are the mothers (or other patients) in the room, in order of
	// arrival; newborns are part of their mother's entry. A room with newborns
	// alone has one entry for all of them. A room that only clinical ingest
	// knows has one entry if any evidence is active.
	Patients []PatientChart
}

// PatientChart is one patient with her newborns.
type PatientChart struct {
	Visit   string  // pseudonym, or "room:<id>" of an occupant without a visit
	Arrived Instant // in this room
	Birth   Instant // from then on modifiers with the window "birth" are off; 0: none yet
	Mother  bool    // false: the entry is of newborns alone

	// UnnamedFetus reports whether a tracing of a multiple gestation names no fetus. The
	// newest such tracing counts, so it may have ended that of another fetus.
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

// Equal reports whether two charts say the same.
func (r *RoomChart) Equal(o *RoomChart) bool {
	return r.ID == o.ID && r.Status == o.Status && r.Listed == o.Listed && r.NewestSignal == o.NewestSignal &&
		r.Label == o.Label && r.Area == o.Area && slices.EqualFunc(r.Patients, o.Patients, func(a, b PatientChart) bool {
		return a.Visit == b.Visit && a.Arrived == b.Arrived && a.Birth == b.Birth && a.Mother == b.Mother && a.UnnamedFetus == b.UnnamedFetus &&
			slices.Equal(a.Evidence, b.Evidence)
	})
}

// EvidenceKind is where a piece of evidence comes from. If two pieces are equal, the one
// with the lower kind is shown.
type EvidenceKind uint8

// The kinds, in the order in which they are preferred for display.
const (
	BySignal EvidenceKind = iota + 1
	ByDiagnosis
	ByLocalRule
	ByManual
	ByADT
	ByCensus
)

// Evidence is what one source says about one factor of one patient, after codes were
// matched, older statements replaced and contradictions settled. It is running: a source
// that ended leaves none.
type Evidence struct {
	Factor  catalogue.Factor
	Variant uint8 // form of the factor in the catalogue; 0 is the plain one
	Count   uint8 // babies, for labor-multiple-gestation
	Baby    uint8 // 0 the mother, n her n-th newborn
	Kind    EvidenceKind

	Start Instant // first assertion of the unbroken run: the clock of steps
	Last  Instant // newest assertion: the clock of silence

	AssignedBy string // of a primary: the rule that chose it, a stable code
	Source     Source
	Fetus      string // of a fetus: its label "A" to "I", or a pseudonym; empty: none is named
}

// Source names the statement behind a piece of evidence.
type Source struct {
	Feed   Channel
	System codes.System
	Code   string
}

// Written returns the code of the source as people write it: an ICD-10-CM code
// is kept without its dot, so that one compares by bytes.
func (s Source) Written() string {
	if s.System == codes.ICD10CM && len(s.Code) > 3 {
		return s.Code[:3] + "." + s.Code[3:]
	}
	return s.Code
}

// Level is how strained a unit is.
type Level uint8

// The levels. Their numbers are levelRank of the API.
const (
	LevelGreen Level = iota
	LevelYellow
	LevelOrange
	LevelRed
)

// LevelRun tells since when a unit has its level, and which level it had before.
type LevelRun struct {
	Since    Instant // 0: unknown
	Prior    Level
	HasPrior bool // false: it had none before, or that is unknown
}

// Color is how demanding a room is.
type Color uint8

// The colours. Gray is a room that is empty, blocked or not assessed.
const (
	ColorGray Color = iota
	ColorGreen
	ColorYellow
	ColorOrange
	ColorRed
)

// Axis is one of the seven measures of a unit, in the order of the table of axes, which
// also breaks ties.
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

// String returns the name on the wire.
func (l Level) String() string { return levelNames[l] }

var colorNames = [...]string{"gray", "green", "yellow", "orange", "red"}

// String returns the name on the wire.
func (c Color) String() string { return colorNames[c] }

var evidenceNames = [...]string{"", "signal", "diagnosis", "site", "manual", "adt", "census"}

// String returns the name on the wire.
func (k EvidenceKind) String() string { return evidenceNames[k] }

var axisNames = [AxisCount]struct{ id, label string }{
	AxisStaffing: {"staffing", "Nurses short of ratio"},
	AxisCritical: {"critical", "1:1 and STAT concurrency"},
	AxisReserve:  {"reserve", "No reserve for the next patient"},
	AxisCapacity: {"capacity", "Rooms nearly full"},
	AxisAcuity:   {"acuity", "High acuity per nurse"},
	AxisFlow:     {"flow", "Rapid turnover"},
	AxisSkill:    {"skill", "Skill mix"},
}

// String returns the id on the wire.
func (a Axis) String() string { return axisNames[a].id }

// Label returns the name for people.
func (a Axis) Label() string { return axisNames[a].label }
