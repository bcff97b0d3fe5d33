package acuity

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
