package acuity

import "slices"

// Verdict is a chart judged at one instant.
type Verdict struct {
	Level   Level
	Driving Axis
	Run     LevelRun
	Axes    [AxisCount]AxisVerdict

	Required     Demand // of all rooms
	Shortfall    int32  // whole nurses
	ShortfallFTE Demand // in 60ths of a nurse
	OnDuty       int32  // -1: never sent
	Call         Tristate
	Ratio        int32 // nurses on duty per nurse required, in hundredths; -1: nothing required or nurses unknown

	Rooms  []RoomVerdict // as in the chart
	Roster *Roster       // as in the chart; see RosterStale
	// RosterStale: the roster is 12 h old or older; the skill axis is unknown.
	RosterStale bool

	Unplaced int32
	Quality  []Quality

	Version int64
	Rules   string  // version of the rules: see Catalogue.Version
	AsOf    Instant // since when this verdict holds
	Next    Instant // when time alone changes it; 0: never
}

// DrivingLabel returns for people what drives the level. At green nothing does: the name
// of an axis would sound like trouble.
func (v *Verdict) DrivingLabel() string {
	if v.Level == LevelGreen {
		return "Within limits"
	}
	return v.Driving.Label()
}

// AxisVerdict is one axis.
type AxisVerdict struct {
	Known    bool
	Level    Level
	Pressure int32  // 0 … 1000: tenths of a point
	Value    int64  // main variable in thousandths; see HasValue
	HasValue bool   // false: unknown, or infinite (no nurse)
	Rule     string // stable code of the condition that was reached

	numbers [4]int64 // of its line, see Verdict.Detail
}

// RoomVerdict is one room judged.
type RoomVerdict struct {
	ID      int32
	Status  RoomStatus
	Color   Color
	Primary Factor // 0: none
	Stale   bool
	Score   int32 // 0 … 100
	Demand  Demand
	Label   string
	Area    string

	Factors []FactorVerdict // by severity, then demand, then id
	Next    Instant

	STAT    bool // a factor of class 4 is active
	Assumed bool // the demand is a default because no primary is known
	Boarder bool // triage-admit for 120 min or more
	Double  bool // two patients for 15 min or more
	Birth   bool // in Labor or Cesarean: counts for the two-nurse minimum

	listed  bool    // counts for capacity
	fatigue bool    // a factor marks the nurse as tired
	due     Instant // when Boarder or Double becomes true; 0: never

	evidence []*Evidence // behind the factors, which say where
}

// Evidence returns what is behind a factor of the room: one piece for each source,
// in the order of the sources.
func (rv *RoomVerdict) Evidence(fv *FactorVerdict) []*Evidence {
	return rv.evidence[fv.from : int(fv.from)+int(fv.sources)]
}

// AssignedBy returns the rule that chose a primary of the room, a stable code; ""
// of a modifier.
func (rv *RoomVerdict) AssignedBy(fv *FactorVerdict) string {
	if int(fv.shown) < len(rv.evidence) && rv.evidence[fv.shown] != nil {
		return rv.evidence[fv.shown].AssignedBy
	}
	return ""
}

// FactorVerdict is one active factor of a room. A unit has hundreds, so there is no
// pointer in it, which the garbage collector would have to follow.
type FactorVerdict struct {
	Factor   Factor
	Kind     EvidenceKind
	Severity uint8 // class now, 0 … 4
	Stale    bool
	babies   uint8 // largest count of babies that an evidence gave

	// Places in the evidence of the room, which has far less than 65,536 pieces:
	// of the piece that is shown, and of the first of as many sources.
	shown, from, sources uint16

	Demand Demand // own demand or floor now; of an ADD-only factor its ADD
	Need   Demand // own demand or floor now; 0: it has none
	add    Demand // own ADD
	Since  Instant
	Next   Instant
	doubt  Instant // when Stale becomes true; 0: never
}

// Quality is a reason to trust the verdict less.
type Quality struct{ Code, Message string }

// ActiveFactors appends the active factors of a room in ascending order.
func (rv *RoomVerdict) ActiveFactors(dst []Factor) []Factor {
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
func (rv *RoomVerdict) Has(f Factor) bool { return rv.Find(f) != nil }

// Find returns an active factor; nil if it is not active.
func (rv *RoomVerdict) Find(f Factor) *FactorVerdict {
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
