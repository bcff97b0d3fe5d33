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
