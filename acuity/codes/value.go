package codes

// Milli is a decimal number in thousandths, so that thresholds compare integers.
type Milli int64

// Comparator is how a value compares with a limit, or the comparator that was sent with
// a number.
type Comparator uint8

// The comparators. Equal is also the plain number.
const (
	Equal Comparator = iota
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// ValueKind is what the value of a signal could be reduced to.
type ValueKind uint8

// The kinds of value. A text that is neither a number nor known words is unreadable and
// is not kept: it could be about a person.
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
	Unit   string // of the closed list of units; "": none was given
	Words  string // vocabulary words, lower case, one space between
}
