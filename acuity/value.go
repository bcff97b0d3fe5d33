package acuity

// Milli is a decimal number in thousandths, so that thresholds compare integers.
type Milli int64

// Comparator is how a value compares with a limit, or how a number was qualified.
type Comparator uint8

// The comparators. Equal is also the plain number.
const (
	Equal Comparator = iota
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// ValueKind is what could be made of the value of a signal.
type ValueKind uint8

// The kinds of value. What is neither a number nor made of known words is
// unreadable and its text is not kept: it could be about a person.
const (
	ValueNone ValueKind = iota
	ValueNumber
	ValueWords
	ValueUnreadable
)

// Value is the value of a signal, reduced to a number with comparator and unit
// or to words of the closed vocabulary.
type Value struct {
	Kind   ValueKind
	Op     Comparator
	Number Milli
	Unit   string // of the closed list of units, as spelled there; "" if none was given
	Words  string // vocabulary words, lower case, one space between
}
