package acuity

var levelNames = [...]string{"green", "yellow", "orange", "red"}

// String returns the name on the wire.
func (l Level) String() string { return levelNames[l] }

var colorNames = [...]string{"gray", "green", "yellow", "orange", "red"}

// String returns the name on the wire.
func (c Color) String() string { return colorNames[c] }

var statusNames = [...]string{"unknown", "occupied", "empty", "blocked"}

// String returns the name on the wire.
func (s RoomStatus) String() string { return statusNames[s] }

var evidenceNames = [...]string{"", "signal", "diagnosis", "site", "manual", "adt", "census"}

// String returns the name on the wire.
func (k EvidenceKind) String() string { return evidenceNames[k] }

var axisNames = [AxisCount]struct {
	id, label string
	rules     []string
}{
	AxisStaffing: {"staffing", "Nurses short of ratio", []string{"shortfall", "no_nurse", "coverage"}},
	AxisCritical: {"critical", "1:1 and STAT concurrency", []string{"c4", "c4_one_to_one", "one_to_one"}},
	AxisReserve:  {"reserve", "No reserve for the next patient", []string{"slack", "minimum_two"}},
	AxisCapacity: {"capacity", "Rooms nearly full", []string{"open_zero_waiting", "occupancy", "open_zero"}},
	AxisAcuity:   {"acuity", "High acuity per nurse", []string{"score"}},
	AxisFlow:     {"flow", "Rapid turnover", []string{"turnover", "boarders"}},
	AxisSkill:    {"skill", "Skill mix", []string{"novices_alone", "novices", "no_expert", "load", "fatigue"}},
}

// String returns the id on the wire.
func (a Axis) String() string { return axisNames[a].id }

// Label returns the name for people.
func (a Axis) Label() string { return axisNames[a].label }

// An axis on which no condition holds has the first rule, an axis that is not known the second.
const (
	ruleWithinLimits = "within_limits"
	ruleUnknown      = "unknown"
)

// Rules returns the codes that the rule of the axis may have. They are for programs that
// say in their own words which condition the axis has reached, and never change.
func (a Axis) Rules() []string {
	return append([]string{ruleWithinLimits, ruleUnknown}, axisNames[a].rules...)
}

// DrivingLabel returns for people what drives the level. At green nothing does: the name
// of an axis would sound like trouble.
func (v *Verdict) DrivingLabel() string {
	if v.Level == LevelGreen {
		return "Within limits"
	}
	return v.Driving.Label()
}
