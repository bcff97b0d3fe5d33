// Package score evaluates a chart at an instant.
//
//   - [Judge] turns a chart into a [Verdict]. It does not read the clock: the caller passes the current time. The same
//     chart and instant always give the same verdict.
//   - [JudgeRoom] evaluates one room: its active factors, its demand, its score.
//   - [JudgeUnit] adds up the rooms, and computes the seven axes and the level.
//   - [MakeSnapshot] records the state of a unit, with the demand of each patient now and in the hours ahead.
//
// Every constant cites its source.
package score

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Verdict is the evaluation of a chart at one instant.
type Verdict struct {
	Level   acuity.Level
	Driving acuity.Axis
	Run     acuity.LevelRun
	Axes    [acuity.AxisCount]AxisVerdict

	Required     catalogue.Demand // total demand of all rooms
	Shortfall    int32            // in whole nurses
	ShortfallFTE catalogue.Demand // in 60ths of a nurse
	OnDuty       int32            // -1: no staffing was sent
	Call         acuity.Tristate
	Ratio        int32 // nurses on duty per nurse required, in hundredths; -1: nothing required or nurses unknown

	Rooms  []RoomVerdict  // in chart order
	Roster *acuity.Roster // roster of the chart; see RosterStale
	// RosterStale reports whether the roster is at least 12 h old. If so, the skill axis is unknown.
	RosterStale bool

	Unplaced int32
	Quality  QualitySet

	Version int64
	Rules   string         // version of the rules, see Catalogue.Version
	AsOf    acuity.Instant // when the verdict last changed
	Next    acuity.Instant // when the verdict next changes if no new facts arrive; 0: never
}

// DrivingLabel returns the headline of the level: the driving axis's problem, or "Within limits" at green.
func (v *Verdict) DrivingLabel() string {
	if v.Level == acuity.LevelGreen {
		return "Within limits"
	}
	return v.Driving.Problem()
}

// AxisVerdict is the result for one axis.
type AxisVerdict struct {
	Known    bool
	Level    acuity.Level
	Pressure int32  // in tenths of a point, 0 … 1000
	Value    int64  // value of the main variable, in thousandths; see HasValue
	HasValue bool   // whether the main variable is known and finite; without any nurse, it is infinite
	Rule     string // stable code of the condition that set the level

	numbers [4]int64 // numbers for Verdict.Detail
}

// RoomVerdict is the evaluation of one room.
type RoomVerdict struct {
	ID      int32
	Status  acuity.RoomStatus
	Color   acuity.Color
	Primary catalogue.Factor // 0: none
	Stale   bool
	Score   int32 // 0 … 100
	Demand  catalogue.Demand
	Label   string
	Area    string

	Factors []FactorVerdict // ordered by severity, then demand (both descending), then id
	Next    acuity.Instant

	STAT    bool // whether a factor of class 4 is active
	Assumed bool // whether the demand is a default because no primary factor is known
	Boarder bool // whether a patient has had the factor triage-admit for at least 120 min
	Double  bool // whether two mothers have been in the room together for at least 15 min
	Birth   bool // whether a patient has a factor from the Labor or Cesarean section; such a room counts toward the two-nurse minimum

	UnnamedFetus bool // whether a tracing does not identify its fetus, see acuity.PatientChart; false after the birth

	listed  bool           // whether the room counts toward capacity
	fatigue bool           // whether a factor marks the nurse as fatigued
	due     acuity.Instant // when Boarder or Double next becomes true; 0: never

	evidence []acuity.Evidence // evidence of all factors, see FactorVerdict.from
}

// Until returns the instant at which the verdict expires, because the room or its contribution to the unit then
// changes although no new facts arrive. It returns 0 if the verdict does not expire.
func (rv *RoomVerdict) Until() acuity.Instant { return codes.Soonest(rv.Next, rv.due) }

// Evidence returns the evidence of a factor of the room: one piece for each source, in the order of the sources.
func (rv *RoomVerdict) Evidence(fv *FactorVerdict) []acuity.Evidence {
	return rv.evidence[fv.from : int(fv.from)+int(fv.sources)]
}

// AssignedBy returns the stable code of the rule that chose a primary factor of the room, or "" for a modifier.
func (rv *RoomVerdict) AssignedBy(fv *FactorVerdict) string {
	if int(fv.shown) < len(rv.evidence) {
		return rv.evidence[fv.shown].AssignedBy
	}
	return ""
}

// FactorVerdict is one active factor of a room. It has no pointers that the garbage collector would have to follow,
// because a unit has hundreds of factors.
type FactorVerdict struct {
	Factor   catalogue.Factor
	Kind     acuity.EvidenceKind
	Severity uint8 // current class, 0 … 4
	Stale    bool
	Past     bool  // whether the factor had a demand when it began but no longer has one; a past factor is never stale
	babies   uint8 // largest number of babies in the evidence

	// shown, from and sources locate the factor's evidence within the room's evidence: shown is the index of the
	// piece that is shown, from is the index of the first source's piece, and sources is the number of sources. A
	// room has far fewer than 65,536 pieces of evidence.
	shown, from, sources uint16

	Demand catalogue.Demand // current demand or floor of this factor; for an ADD-only factor, its ADD
	Need   catalogue.Demand // current demand or floor of this factor; 0: none
	add    catalogue.Demand // ADD of this factor
	Since  acuity.Instant
	Next   acuity.Instant
	doubt  acuity.Instant // when Stale becomes true; 0: never
}

// ActiveFactors appends the active factors of a room to dst in ascending order.
func (rv *RoomVerdict) ActiveFactors(dst []catalogue.Factor) []catalogue.Factor {
	if rv == nil {
		return dst
	}
	for i := range rv.Factors {
		dst = append(dst, rv.Factors[i].Factor)
	}
	slices.Sort(dst)
	return dst
}

// Has reports whether a factor is active. A nil verdict has no factors.
func (rv *RoomVerdict) Has(f catalogue.Factor) bool { return rv.Find(f) != nil }

// Find returns the verdict of a factor, or nil if the factor is not active. A nil room verdict has no factors.
func (rv *RoomVerdict) Find(f catalogue.Factor) *FactorVerdict {
	if rv == nil {
		return nil
	}
	for i := range rv.Factors {
		if rv.Factors[i].Factor == f {
			return &rv.Factors[i]
		}
	}
	return nil
}

// ShowsSame reports whether two verdicts for one room look the same to readers.
func ShowsSame(a, b *RoomVerdict) bool {
	if a.ID != b.ID || a.Label != b.Label || a.Area != b.Area || a.Status != b.Status || a.Color != b.Color ||
		a.Score != b.Score || a.Demand != b.Demand || a.Primary != b.Primary ||
		a.Next != b.Next || a.Stale != b.Stale || a.UnnamedFetus != b.UnnamedFetus || len(a.Factors) != len(b.Factors) {
		return false
	}
	for i := range a.Factors {
		f, g := &a.Factors[i], &b.Factors[i]
		if f.Factor != g.Factor || f.Since != g.Since || f.Kind != g.Kind || f.Severity != g.Severity || f.Next != g.Next || f.Past != g.Past ||
			a.AssignedBy(f) != b.AssignedBy(g) || f.Need.Ratio() != g.Need.Ratio() || !sameSources(a.Evidence(f), b.Evidence(g)) {
			return false
		}
	}
	return true
}

// Quality is a reason to trust a verdict less. Its code is stable.
type Quality struct{ Code, Message string }

// QualitySet is a set of quality reasons: bit i represents the i-th entry of qualities.
type QualitySet uint16

const (
	staffingUnknown = iota
	staffingFromRoster
	capacityUnknown
	skillUnknown
	rosterStale
	doubleOccupied
	roomsUnplaced
	locationsUnconfirmed
	primaryAssumed
	evidenceStale
	fetusUnnamed
)

var qualities = [...]Quality{
	staffingUnknown:      {"staffing_unknown", "Nurses on duty are unknown: staffing, reserve and acuity are not evaluated."},
	staffingFromRoster:   {"staffing_from_roster", "Nurses on duty are counted from the roster: no staffing record was sent."},
	capacityUnknown:      {"capacity_unknown", "No census was received: capacity is not evaluated."},
	skillUnknown:         {"skill_unknown", "No roster was received: the skill mix is not evaluated."},
	rosterStale:          {"roster_stale", "The roster is at least 12 hours old: the skill mix is not evaluated."},
	doubleOccupied:       {"double_occupied", "Two patients have been in one room for 15 minutes or more; both count."},
	roomsUnplaced:        {"rooms_unplaced", "Patients without a room are not counted in the demand."},
	locationsUnconfirmed: {"locations_unconfirmed", "Rooms seen in the feeds need an administrator's confirmation."},
	primaryAssumed:       {"primary_assumed", "The type of patient in a room is unknown: half a nurse is assumed."},
	evidenceStale:        {"evidence_stale", "Some findings have not been updated on time; they still count."},
	fetusUnnamed:         {"fetus_unnamed", "Some reports for a multiple gestation do not name the fetus; only the latest of them counts."},
}

// Quality returns the reasons to trust the room's verdict less.
func (rv *RoomVerdict) Quality() (set QualitySet) {
	for i, holds := range [len(qualities)]bool{
		doubleOccupied: rv.Double, primaryAssumed: rv.Assumed, evidenceStale: rv.Stale, fetusUnnamed: rv.UnnamedFetus,
	} {
		if holds {
			set |= 1 << i
		}
	}
	return set
}

// quality returns the reasons to trust the unit's verdict less.
func (t *axisInput) quality(u *acuity.UnitChart, v *Verdict) (set QualitySet) {
	for i, holds := range [len(qualities)]bool{
		staffingUnknown:      !t.staffed,
		staffingFromRoster:   t.rostered,
		capacityUnknown:      !t.census,
		skillUnknown:         u.Roster == nil || len(u.Roster.Nurses) == 0,
		rosterStale:          v.RosterStale,
		doubleOccupied:       t.doubles > 0,
		roomsUnplaced:        t.unplaced > 0,
		locationsUnconfirmed: u.UnknownLocations > 0,
		primaryAssumed:       t.assumed > 0,
		evidenceStale:        t.stale > 0,
		fetusUnnamed:         t.unnamed > 0,
	} {
		if holds {
			set |= 1 << i
		}
	}
	return set
}

// List returns the reasons in the order of qualities.
func (s QualitySet) List() []Quality {
	list := make([]Quality, 0, len(qualities))
	for i, q := range qualities {
		if s&(1<<i) != 0 {
			list = append(list, q)
		}
	}
	return list
}

// Has reports whether the set contains the reason with the given code.
func (s QualitySet) Has(code string) bool {
	for i, q := range qualities {
		if q.Code == code {
			return s&(1<<i) != 0
		}
	}
	return false
}
