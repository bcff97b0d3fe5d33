package acuity

import "strings"

// answer is what a condition says of a value. A value that cannot be read, or
// whose range lies on both sides of a limit, changes nothing.
type answer uint8

const (
	unread answer = iota
	no
	yes
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// judge returns what a condition says of the value of a signal. The words of
// the display tell whether a number is a flow of oxygen or a fraction.
func (n Condition) judge(s *Signal) answer {
	v := s.Value
	switch n.Kind {
	case NeedsNothing:
		return yes
	case NeedsNumber:
		if v.Kind != ValueNumber || !unitFits(v.Unit, n.Unit) {
			return unread
		}
		return compare(v, n.Op, n.Than)
	case NeedsCategoryII, NeedsCategoryIII:
		c := categoryOf(v)
		if c == 0 {
			return unread
		}
		return answerOf(c == 2 && n.Kind == NeedsCategoryII || c == 3 && n.Kind == NeedsCategoryIII)
	case NeedsPositive:
		return positive(v)
	case NeedsOxygen:
		return oxygenRuns(s)
	case NeedsNotNo:
		return answerOf(!saysNo(v))
	}
	return unread
}

// unitFits reports whether a value in a unit may be compared with a limit in
// another. A missing unit is taken to be right (clinical-decisions S2).
func unitFits(given, wanted string) bool {
	return given == "" || given == wanted || wanted == "" && given == UnitScore
}

// said is the set of words of a value that conditions ask for.
type said uint32

const (
	saidNo said = 1 << iota // any denial
	saidNegative
	saidYes
	saidPositive
	saidEquivocal
	saidI
	saidII
	saidIII
	saidNormal
	saidIndeterminate
	saidAbnormal
	saidRoom
	saidAir
)

// saidWords is what the kept words of the vocabulary are to conditions.
var saidWords = map[string]said{
	"not": saidNo, "no": saidNo, "none": saidNo, "off": saidNo, "absent": saidNo, "negative": saidNo | saidNegative,
	"yes": saidYes, "detected": saidYes, "present": saidYes, "isolated": saidYes, "growth": saidYes,
	"reactive": saidYes, "positive": saidYes | saidPositive, "equivocal": saidEquivocal,
	"i": saidI, "ii": saidII, "iii": saidIII,
	"normal": saidNormal, "indeterminate": saidIndeterminate, "abnormal": saidAbnormal,
	"room": saidRoom, "air": saidAir,
}

// said returns the words of v.
func (v Value) said() said {
	var all said
	if v.Kind != ValueWords {
		return 0
	}
	for rest := v.Words; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		all |= saidWords[word]
	}
	return all
}

func (s said) any(of said) bool { return s&of != 0 }

func (s said) all(of said) bool { return s&of == of }

// categoryOf returns the category 1 … 3 of a fetal heart rate tracing that a
// value names; 0 if it names none, or denies one (scoring-decisions 52). III is
// looked for before II: a value that names both is III.
func categoryOf(v Value) int {
	if v.Kind == ValueNumber && v.Op == Equal && v.Unit == "" {
		switch v.Number { //nolint:exhaustive // numbers, not an enumeration
		case 1000, 2000, 3000:
			return int(v.Number / 1000)
		}
		return 0
	}
	switch words := v.said(); {
	case words.any(saidNo | saidEquivocal):
		return 0
	case words.any(saidIII | saidAbnormal):
		return 3
	case words.any(saidII | saidIndeterminate):
		return 2
	case words.any(saidI | saidNormal):
		return 1
	}
	return 0
}

// positive reads the result of a test. Negation comes first: "not detected" is not
// "detected" (C17). What is said to be and not to be says nothing.
func positive(v Value) answer {
	if v.said().any(saidEquivocal | saidIndeterminate) {
		return unread
	}
	denies, denied, is := false, false, false
	for w := range strings.FieldsSeq(v.Words) {
		switch s := saidWords[w]; {
		case s.any(saidNo):
			denies = true
			denied = denied || w != "not"
		case s.any(saidPositive) && v.said().any(saidNegative):
			return unread
		case s.any(saidYes) && denies:
			denied = true
		case s.any(saidYes):
			is = true
		}
	}
	switch {
	case is && denies:
		return unread
	case is:
		return yes
	case denied || denies:
		return no
	}
	return unread
}

// saysNo reports whether a value denies the mark that it stands with
// (scoring-decisions 53). Anything else, unreadable text too, leaves it be: the
// code alone says enough.
func saysNo(v Value) bool {
	return v.said().any(saidNo) || v.Kind == ValueNumber && v.Op == Equal && v.Number == 0 && v.Unit == ""
}

// The limits below which oxygen counts as room air: 21 %, as percent and as a
// fraction, in thousandths (scoring-decisions 23).
const (
	roomAirPercent  Milli = 21_000
	roomAirFraction Milli = 210
)

// oxygenRuns reads the value of a statement about oxygen: room air, none, off,
// no flow or a fraction of 21 % end it; no value at all is the plain mark.
func oxygenRuns(s *Signal) answer {
	v := s.Value
	if v.Kind != ValueNumber {
		words := v.said()
		if words.any(saidEquivocal) {
			return unread
		}
		return answerOf(!words.any(saidNo) && !words.all(saidRoom|saidAir))
	}
	limit := Milli(0)
	switch {
	case v.Unit == UnitPercent:
		limit = roomAirPercent
	case v.Unit == UnitLitersPerMinute:
	case v.Unit != "":
		return unread
	case saysFraction(s.Display):
		if limit = roomAirPercent; v.Number <= 1000 {
			limit = roomAirFraction
		}
	}
	return compare(v, Greater, limit)
}

// compare reports whether a number meets "op than": yes if every value that it
// stands for does, no if none does (clinical-decisions S3).
func compare(v Value, op Comparator, than Milli) answer {
	n := v.Number
	switch op {
	case Equal:
		return compareEqual(v, than)
	case Greater, GreaterOrEqual:
		open := op == Greater
		switch v.Op {
		case Equal:
			return answerOf(n > than || n == than && !open)
		case Greater:
			return yesOr(n >= than, unread)
		case GreaterOrEqual:
			return yesOr(n > than || n == than && !open, unread)
		case Less:
			return noOr(n <= than)
		case LessOrEqual:
			return noOr(n < than || n == than && open)
		}
	case Less, LessOrEqual:
		// x < L is not x >= L, and the other way round.
		opposite := GreaterOrEqual
		if op == LessOrEqual {
			opposite = Greater
		}
		switch compare(v, opposite, than) {
		case yes:
			return no
		case no:
			return yes
		case unread:
		}
	}
	return unread
}

func compareEqual(v Value, than Milli) answer {
	n := v.Number
	switch v.Op {
	case Equal:
		return answerOf(n == than)
	case Less:
		return noOr(than >= n)
	case LessOrEqual:
		return noOr(than > n)
	case Greater:
		return noOr(than <= n)
	case GreaterOrEqual:
		return noOr(than < n)
	}
	return unread
}

func yesOr(b bool, other answer) answer {
	if b {
		return yes
	}
	return other
}

func noOr(b bool) answer {
	if b {
		return no
	}
	return unread
}
