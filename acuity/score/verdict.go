// Package score judges a chart at an instant.
//
//   - [Judge] turns a chart into a [Verdict]. It never asks what time it is: the caller
//     passes now. Same chart, same moment, same verdict.
//   - [JudgeRoom] judges one room: its active factors, its demand, its score.
//   - [JudgeUnit] sums rooms up, reads the seven axes, finds the level.
//   - [TakeSnapshot] adds what each patient will need in the hours ahead.
//
// Every constant names its source.
package score

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Verdict is a chart judged at one instant.
type Verdict struct {
	Level   acuity.Level
	Driving acuity.Axis
	Run     acuity.LevelRun
	Axes    [acuity.AxisCount]AxisVerdict

	Required     catalogue.Demand // of all rooms
	Shortfall    int32            // whole nurses
	ShortfallFTE catalogue.Demand // in 60ths of a nurse
	OnDuty       int32            // -1: never sent
	Call         acuity.Tristate
	Ratio        int32 // nurses on duty per nurse required, in hundredths; -1: nothing required or nurses unknown

	Rooms  []RoomVerdict  // as in the chart
	Roster *acuity.Roster // as in the chart; see RosterStale
	// RosterStale: the roster is 12 h old or older; the skill axis is unknown.
	RosterStale bool

	Unplaced int32
	Quality  QualitySet

	Version int64
	Rules   string         // version of the rules: see Catalogue.Version
	AsOf    acuity.Instant // since when this verdict holds
	Next    acuity.Instant // when time alone changes it; 0: never
}

// DrivingLabel returns for people what drives the level. At green nothing does: the name
// of an axis would sound like trouble.
func (v *Verdict) DrivingLabel() string {
	if v.Level == acuity.LevelGreen {
		return "Within limits"
	}
	return v.Driving.Label()
}

// AxisVerdict is one axis.
type AxisVerdict struct {
	Known    bool
	Level    acuity.Level
	Pressure int32  // 0 … 1000: tenths of a point
	Value    int64  // main variable in thousandths; see HasValue
	HasValue bool   // false: unknown, or infinite (no nurse)
	Rule     string // stable code of the condition that was reached

	numbers [4]int64 // of its line, see Verdict.Detail
}

// RoomVerdict is one room judged.
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

	Factors []FactorVerdict // by severity, then demand, then id
	Next    acuity.Instant

	STAT    bool // a factor of class 4 is active
	Assumed bool // the demand is a default because no primary is known
	Boarder bool // triage-admit for 120 min or more
	Double  bool // two patients for 15 min or more
	Birth   bool // in Labor or Cesarean: counts for the two-nurse minimum

	UnnamedFetus bool // see acuity.PatientChart; until the birth

	listed  bool           // counts for capacity
	fatigue bool           // a factor marks the nurse as tired
	due     acuity.Instant // when Boarder or Double becomes true; 0: never

	evidence []acuity.Evidence // behind the factors, which say where
}

// Until returns the instant at which time alone ends the verdict: then the room, or its
// share of the unit, may change. 0: never.
func (rv *RoomVerdict) Until() acuity.Instant { return codes.Soonest(rv.Next, rv.due) }

// Evidence returns what is behind a factor of the room: one piece for each source,
// in the order of the sources.
func (rv *RoomVerdict) Evidence(fv *FactorVerdict) []acuity.Evidence {
	return rv.evidence[fv.from : int(fv.from)+int(fv.sources)]
}

// AssignedBy returns the rule that chose a primary of the room, a stable code; ""
// of a modifier.
func (rv *RoomVerdict) AssignedBy(fv *FactorVerdict) string {
	if int(fv.shown) < len(rv.evidence) {
		return rv.evidence[fv.shown].AssignedBy
	}
	return ""
}

// FactorVerdict is one active factor of a room. A unit has hundreds, so there is no
// pointer in it, which the garbage collector would have to follow.
type FactorVerdict struct {
	Factor   catalogue.Factor
	Kind     acuity.EvidenceKind
	Severity uint8 // class now, 0 … 4
	Stale    bool
	Past     bool  // it asked for a nurse and asks for none any more; it is never stale
	babies   uint8 // largest count of babies that an evidence gave

	// Places in the evidence of the room, which has far less than 65,536 pieces:
	// of the piece that is shown, and of the first of as many sources.
	shown, from, sources uint16

	Demand catalogue.Demand // own demand or floor now; of an ADD-only factor its ADD
	Need   catalogue.Demand // own demand or floor now; 0: it has none
	add    catalogue.Demand // own ADD
	Since  acuity.Instant
	Next   acuity.Instant
	doubt  acuity.Instant // when Stale becomes true; 0: never
}

// ActiveFactors appends the active factors of a room in ascending order.
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

// Has reports whether a factor is active; nil has none.
func (rv *RoomVerdict) Has(f catalogue.Factor) bool { return rv.Find(f) != nil }

// Find returns an active factor; nil if it is not active.
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

// ShowsSame reports whether two verdicts of one room show the same to people.
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

// QualitySet is a set of reasons: bit i stands for the i-th of qualities.
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
	skillUnknown:         {"skill_unknown", "There is no roster: the skill mix is not evaluated."},
	rosterStale:          {"roster_stale", "The roster is 12 hours old or older: the skill mix is not evaluated."},
	doubleOccupied:       {"double_occupied", "Two patients have been in one room for 15 minutes or more; both count."},
	roomsUnplaced:        {"rooms_unplaced", "Patients without a room are not counted in the demand."},
	locationsUnconfirmed: {"locations_unconfirmed", "Rooms seen in the feeds need an administrator's confirmation."},
	primaryAssumed:       {"primary_assumed", "The kind of patient in a room is unknown: half a nurse is assumed."},
	evidenceStale:        {"evidence_stale", "Some findings have not been updated on time; they still count."},
	fetusUnnamed:         {"fetus_unnamed", "Reports about one of several fetuses do not identify it: only the newest of them counts."},
}

// Quality returns why the verdict of the room deserves less trust.
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

// quality returns why the verdict deserves less trust.
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

// List returns the reasons in their order.
func (s QualitySet) List() []Quality {
	list := make([]Quality, 0, len(qualities))
	for i, q := range qualities {
		if s&(1<<i) != 0 {
			list = append(list, q)
		}
	}
	return list
}

// Has reports whether the set has the reason with a code.
func (s QualitySet) Has(code string) bool {
	for i, q := range qualities {
		if q.Code == code {
			return s&(1<<i) != 0
		}
	}
	return false
}
