package terminology

import (
	"math"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// answer is the result of applying a condition to a value: yes, no or unread. It is unread if the value is
// unreadable, or is a range with values on both sides of the limit. A statement whose answer is unread has no effect.
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

// meets applies a condition to the value of a signal. For oxygen, the display name decides whether a number is a flow
// or a fraction.
func meets(n catalogue.Condition, s *acuity.Signal) answer {
	v := s.Value
	switch n.Kind {
	case catalogue.NeedsNothing:
		return yes
	case catalogue.NeedsNumber:
		if v.Kind != codes.ValueNumber || !unitFits(v.Unit, n.Unit) {
			return unread
		}
		return compare(v, n.Op, n.Than)
	case catalogue.NeedsCategoryII, catalogue.NeedsCategoryIII:
		c := categoryOf(v)
		if c == 0 {
			return unread
		}
		return answerOf(c == 2 && n.Kind == catalogue.NeedsCategoryII || c == 3 && n.Kind == catalogue.NeedsCategoryIII)
	case catalogue.NeedsPositive:
		return readPositive(v)
	case catalogue.NeedsOxygen:
		return oxygenRuns(s)
	case catalogue.NeedsNotNo:
		return answerOf(!isNo(v))
	}
	return unread
}

// unitFits reports whether a value can be compared with a limit. given is the unit of the value, and wanted is the unit
// of the limit. A value without a unit is assumed to have the unit of the limit (docs/decisions.md#missing-units).
func unitFits(given, wanted string) bool {
	return given == "" || given == wanted || wanted == "" && given == codes.UnitScore
}

// answerWords is a set of the meanings that the words in a value can have for conditions.
type answerWords uint32

const (
	answerNo answerWords = 1 << iota // any negation
	answerNegative
	answerYes
	answerPositive
	answerEquivocal
	answerI
	answerII
	answerIII
	answerNormal
	answerIndeterminate
	answerAbnormal
	answerRoom
	answerAir
)

// answerMeanings maps the words that a value may contain to their meanings for conditions.
var answerMeanings = map[string]answerWords{
	"not": answerNo, "no": answerNo, "none": answerNo, "off": answerNo, "absent": answerNo, "negative": answerNo | answerNegative,
	"yes": answerYes, "detected": answerYes, "present": answerYes, "isolated": answerYes, "growth": answerYes,
	"reactive": answerYes, "positive": answerYes | answerPositive, "equivocal": answerEquivocal,
	"i": answerI, "ii": answerII, "iii": answerIII,
	"normal": answerNormal, "indeterminate": answerIndeterminate, "abnormal": answerAbnormal,
	"room": answerRoom, "air": answerAir,
}

// meaningOf returns the meanings of the words of v.
func meaningOf(v codes.Value) answerWords {
	var all answerWords
	if v.Kind == codes.ValueWords {
		for word := range strings.SplitSeq(v.Words, " ") {
			all |= answerMeanings[word]
		}
	}
	return all
}

func (s answerWords) any(of answerWords) bool { return s&of != 0 }

func (s answerWords) all(of answerWords) bool { return s&of == of }

// categoryOf returns the category (1 … 3) of a fetal heart rate tracing that a value names. The words "normal",
// "indeterminate" and "abnormal" mean I, II and III. A value that names both II and III counts as III. categoryOf
// returns 0 if the value names no category, or negates or doubts one (docs/decisions.md#negated-values).
func categoryOf(v codes.Value) int {
	if v.Kind == codes.ValueNumber && v.Op == codes.Equal && v.Unit == "" {
		switch v.Number {
		case 1000, 2000, 3000:
			return int(v.Number / 1000)
		}
		return 0
	}
	switch words := meaningOf(v); {
	case words.any(answerNo | answerEquivocal):
		return 0
	case words.any(answerIII | answerAbnormal):
		return 3
	case words.any(answerII | answerIndeterminate):
		return 2
	case words.any(answerI | answerNormal):
		return 1
	}
	return 0
}

// readPositive reads the result of a test. A word such as "detected" does not count after a negation
// (docs/decisions.md#negation-first). The answer for a contradictory or doubtful value is unread.
func readPositive(v codes.Value) answer {
	if meaningOf(v).any(answerEquivocal | answerIndeterminate) {
		return unread
	}
	denies, denied, is := false, false, false
	for w := range strings.FieldsSeq(v.Words) {
		switch s := answerMeanings[w]; {
		case s.any(answerNo):
			denies = true
			denied = denied || w != "not"
		case s.any(answerPositive) && meaningOf(v).any(answerNegative):
			return unread
		case s.any(answerYes) && denies:
			denied = true
		case s.any(answerYes):
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

// isNo reports whether the value of a code that needs no value is a negation or 0 (docs/decisions.md#no-as-value). Any
// other value, even an unreadable one, leaves the signal active, because its code alone activates the factor.
func isNo(v codes.Value) bool {
	return meaningOf(v).any(answerNo) || v.Kind == codes.ValueNumber && v.Op == codes.Equal && v.Number == 0 && v.Unit == ""
}

// The limits up to which oxygen counts as room air: 21%, as a percentage and as a fraction, both in thousandths
// (docs/decisions.md#oxygen-therapy).
const (
	roomAirPercent  codes.Milli = 21_000
	roomAirFraction codes.Milli = 210
)

// oxygenRuns reads the value of a statement about oxygen. Room air, a negation, a flow of 0 and a fraction of at most
// 21% mean no. A missing value and any other words mean yes. The answer is unread for an equivocal value, for an
// unknown unit, and for a range that includes the limit.
func oxygenRuns(s *acuity.Signal) answer {
	v := s.Value
	if v.Kind != codes.ValueNumber {
		words := meaningOf(v)
		if words.any(answerEquivocal) {
			return unread
		}
		return answerOf(!words.any(answerNo) && !words.all(answerRoom|answerAir))
	}
	limit := codes.Milli(0)
	switch {
	case v.Unit == codes.UnitPercent:
		limit = roomAirPercent
	case v.Unit == codes.UnitLitersPerMinute:
	case v.Unit != "":
		return unread
	case meansFraction(s.Display):
		if limit = roomAirPercent; v.Number <= 1000 {
			limit = roomAirFraction
		}
	}
	return compare(v, codes.Greater, limit)
}

// compare applies the condition "op than" to a measured value, which may be an interval such as "> 4". It returns yes
// if every number in the interval meets the condition, no if none does, and unread if only some do
// (docs/decisions.md#comparators).
func compare(v codes.Value, op codes.Comparator, than codes.Milli) answer {
	low, high := bounds(v.Op, v.Number)
	least, most := bounds(op, than)
	switch {
	case least <= low && high <= most:
		return yes
	case high < least || most < low:
		return no
	}
	return unread
}

// bounds returns the least and the greatest number in the interval "op n", in units of 1/2000. The interval "> n"
// begins half a thousandth above n, and the interval "< n" ends half a thousandth below n.
func bounds(op codes.Comparator, n codes.Milli) (low, high codes.Milli) {
	low, high = math.MinInt64, math.MaxInt64
	switch op {
	case codes.Equal:
		return 2 * n, 2 * n
	case codes.Less:
		high = 2*n - 1
	case codes.LessOrEqual:
		high = 2 * n
	case codes.Greater:
		low = 2*n + 1
	case codes.GreaterOrEqual:
		low = 2 * n
	}
	return low, high
}

// UnitOf returns the unit in which a catalogue route reads the value of a code, or "" if no route has a unit.
func UnitOf(system codes.System, code string) (unit string) {
	CatalogueIndex().signals.Table(system).Each(codes.Normal(system, code), func(r *route) {
		if r.Needs.Unit != "" {
			unit = r.Needs.Unit
		}
	})
	return unit
}
