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

var axisNames = [AxisCount][2]string{
	AxisStaffing: {"staffing", "Nurses short of ratio"},
	AxisCritical: {"critical", "1:1 and STAT concurrency"},
	AxisReserve:  {"reserve", "No reserve for the next patient"},
	AxisCapacity: {"capacity", "Rooms nearly full"},
	AxisAcuity:   {"acuity", "High acuity per nurse"},
	AxisFlow:     {"flow", "Rapid turnover"},
	AxisSkill:    {"skill", "Skill mix"},
}

// String returns the id on the wire.
func (a Axis) String() string { return axisNames[a][0] }

// Label returns the name for people.
func (a Axis) Label() string { return axisNames[a][1] }

// DrivingLabel says for people what drives the level. At green nothing does: the name
// of an axis would tell of trouble that there is none of.
func (v *Verdict) DrivingLabel() string {
	if v.Level == LevelGreen {
		return "Within limits"
	}
	return v.Driving.Label()
}
