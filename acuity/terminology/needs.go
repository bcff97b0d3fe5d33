package terminology

import (
	"math"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// answer is what a condition says of a value. An unreadable value, or one whose range
// lies on both sides of a limit, changes nothing.
type answer uint8

const (
	unread answer = iota
	no
	yes
)

// answerOf returns yes or no.
func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// meets returns what a condition says of the value of a signal. The words of
// the display tell whether a number is a flow of oxygen or a fraction.
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
		return positive(v)
	case catalogue.NeedsOxygen:
		return oxygenRuns(s)
	case catalogue.NeedsNotNo:
		return answerOf(!saysNo(v))
	}
	return unread
}

// unitFits reports whether a value in a unit may be compared with a limit in
// another. A missing unit is taken to be right (docs/decisions.md#missing-units).
func unitFits(given, wanted string) bool {
	return given == "" || given == wanted || wanted == "" && given == codes.UnitScore
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

// saidWords is the meaning of kept words of the vocabulary for conditions.
var saidWords = map[string]said{
	"not": saidNo, "no": saidNo, "none": saidNo, "off": saidNo, "absent": saidNo, "negative": saidNo | saidNegative,
	"yes": saidYes, "detected": saidYes, "present": saidYes, "isolated": saidYes, "growth": saidYes,
	"reactive": saidYes, "positive": saidYes | saidPositive, "equivocal": saidEquivocal,
	"i": saidI, "ii": saidII, "iii": saidIII,
	"normal": saidNormal, "indeterminate": saidIndeterminate, "abnormal": saidAbnormal,
	"room": saidRoom, "air": saidAir,
}

// saidBy returns the words of v.
func saidBy(v codes.Value) said {
	var all said
	if v.Kind == codes.ValueWords {
		for word := range strings.SplitSeq(v.Words, " ") {
			all |= saidWords[word]
		}
	}
	return all
}

func (s said) any(of said) bool { return s&of != 0 }

func (s said) all(of said) bool { return s&of == of }

// categoryOf returns the category 1 … 3 of a fetal heart rate tracing that a
// value names; 0 if it names none, or denies one (docs/decisions.md#negated-values). III is
// looked for before II: a value that names both is III.
func categoryOf(v codes.Value) int {
	if v.Kind == codes.ValueNumber && v.Op == codes.Equal && v.Unit == "" {
		switch v.Number {
		case 1000, 2000, 3000:
			return int(v.Number / 1000)
		}
		return 0
	}
	switch words := saidBy(v); {
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
// "detected" (docs/decisions.md#negation-first). A contradictory value says nothing.
func positive(v codes.Value) answer {
	if saidBy(v).any(saidEquivocal | saidIndeterminate) {
		return unread
	}
	denies, denied, is := false, false, false
	for w := range strings.FieldsSeq(v.Words) {
		switch s := saidWords[w]; {
		case s.any(saidNo):
			denies = true
			denied = denied || w != "not"
		case s.any(saidPositive) && saidBy(v).any(saidNegative):
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
// (docs/decisions.md#no-as-value). Anything else, also unreadable text, lets it stand: the code alone says enough.
func saysNo(v codes.Value) bool {
	return saidBy(v).any(saidNo) || v.Kind == codes.ValueNumber && v.Op == codes.Equal && v.Number == 0 && v.Unit == ""
}

// The limits below which oxygen counts as room air: 21 %, as percent and as a
// fraction, in thousandths (docs/decisions.md#oxygen-therapy).
const (
	roomAirPercent  codes.Milli = 21_000
	roomAirFraction codes.Milli = 210
)

// oxygenRuns reads the value of a statement about oxygen. Room air, none, off, no flow
// or a fraction of 21 % end it; no value is the plain mark.
func oxygenRuns(s *acuity.Signal) answer {
	v := s.Value
	if v.Kind != codes.ValueNumber {
		words := saidBy(v)
		if words.any(saidEquivocal) {
			return unread
		}
		return answerOf(!words.any(saidNo) && !words.all(saidRoom|saidAir))
	}
	limit := codes.Milli(0)
	switch {
	case v.Unit == codes.UnitPercent:
		limit = roomAirPercent
	case v.Unit == codes.UnitLitersPerMinute:
	case v.Unit != "":
		return unread
	case saysFraction(s.Display):
		if limit = roomAirPercent; v.Number <= 1000 {
			limit = roomAirFraction
		}
	}
	return compare(v, codes.Greater, limit)
}

// compare reports whether a measured value, which may be an interval such as "> 4", meets "op than":
// yes if the whole interval does, no if none of it does (docs/decisions.md#comparators).
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

// bounds returns the least and the greatest number in the interval "op n", in units of 1/2000: numbers
// greater than n begin 1/2000 above it.
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

// UnitOf returns the unit in which a rule of the catalogue reads the value of a code;
// "": no rule asks for a unit.
func UnitOf(system codes.System, code string) (unit string) {
	CatalogueIndex().signals.Table(system).Each(codes.Normal(system, code), func(r *route) {
		if r.Needs.Unit != "" {
			unit = r.Needs.Unit
		}
	})
	return unit
}
