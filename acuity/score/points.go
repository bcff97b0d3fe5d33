package score

import (
	"math/big"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// The lowest scores of the colors, which are defaults of this project. A room with a factor of class 4 is always red:
// the factor adds 60·0.85 points, and the demand of at least one nurse adds 20, which is 71 in total.
const (
	yellowScore = 20
	orangeScore = 40
	redScore    = 70
)

func colorOf(score int32) acuity.Color {
	switch {
	case score >= redScore:
		return acuity.ColorRed
	case score >= orangeScore:
		return acuity.ColorOrange
	case score >= yellowScore:
		return acuity.ColorYellow
	default:
		return acuity.ColorGreen
	}
}

// leaves maps each class to the fraction of the remaining severity that is left after a factor of that class. The
// weight of a class is 1 minus this fraction. The weights are 0, .08, .25, .50 and .85, which are defaults of this
// project.
var leaves = [5][2]uint64{{1, 1}, {23, 25}, {3, 4}, {1, 2}, {3, 20}}

// scoreRoom returns a score of up to 40 points for demand and 60 for severity: 20·min(D,2) + 60·(1-Π(1-w)), rounded
// half up from exact fractions. D is the demand in nurses, and w is the weight of each factor's class. An additional
// factor never lowers the score.
func scoreRoom(c *catalogue.Catalogue, rv *RoomVerdict) int32 {
	num, den, small := uint64(1), uint64(1), true
	for i := range rv.Factors {
		fv := &rv.Factors[i]
		if fv.Severity == 0 || repeatsTwin(c, rv, i) {
			continue
		}
		part := leaves[fv.Severity]
		product := den * part[1] // cannot overflow: den is at most 1<<53, and the factor at most 25
		if product > 1<<53 {
			small = false
			break
		}
		num, den = num*part[0], product
	}
	points := uint64(min(rv.Demand, 2*catalogue.Nurse)) * 2 //nolint:gosec // never negative; in sixths of a point, as are the numbers below
	if small {
		return int32(((points+363)*den - 360*num) / (6 * den)) //nolint:gosec // 0 to 100
	}
	return scoreMany(c, rv, points)
}

// ShareSeverity returns the severity points that each factor of a room adds to the score, in the order of rv.Factors.
// Each factor gets its weight times the part of the 60 points that the previous factors left. A factor that only
// repeats its twin gets 0.
func ShareSeverity(c *catalogue.Catalogue, rv *RoomVerdict) []float64 {
	shares, left := make([]float64, len(rv.Factors)), 60.0
	for i := range rv.Factors {
		if !repeatsTwin(c, rv, i) {
			part := leaves[rv.Factors[i].Severity]
			after := left * float64(part[0]) / float64(part[1])
			shares[i], left = left-after, after
		}
	}
	return shares
}

// scoreMany is like scoreRoom, with arbitrary precision, for long lists of factors.
func scoreMany(c *catalogue.Catalogue, rv *RoomVerdict, points uint64) int32 {
	num, den := big.NewInt(1), big.NewInt(1)
	for i := range rv.Factors {
		if part := leaves[rv.Factors[i].Severity]; !repeatsTwin(c, rv, i) {
			num.Mul(num, new(big.Int).SetUint64(part[0]))
			den.Mul(den, new(big.Int).SetUint64(part[1]))
		}
	}
	num.Mul(num, big.NewInt(-360))
	num.Add(num, new(big.Int).Mul(den, new(big.Int).SetUint64(points+363)))
	return int32(num.Div(num, den.Mul(den, big.NewInt(6))).Int64()) //nolint:gosec // 0 to 100
}

// repeatsTwin reports whether the i-th factor only repeats its twin, which precedes it in rv.Factors: all sources of
// one of the two factors are also sources of the other. Such a factor does not count toward the score.
func repeatsTwin(c *catalogue.Catalogue, rv *RoomVerdict, i int) bool {
	a := &rv.Factors[i]
	if !c.Traits(a.Factor).HasTwin() {
		return false
	}
	for j := range rv.Factors {
		b := &rv.Factors[j]
		if c.Requirement(a.Factor, 0).Twin != b.Factor && c.Requirement(b.Factor, 0).Twin != a.Factor {
			continue
		}
		// The list is ordered by severity, so the first of the two has the greater severity.
		mine, its := rv.Evidence(a), rv.Evidence(b)
		return j < i && (within(mine, its) || within(its, mine))
	}
	return false
}

// within reports whether every source in a has a code that also occurs in b. A source without a code, such as a
// factor in a census row, never occurs in b.
func within(a, b []acuity.Evidence) bool {
	for i := range a {
		s := &a[i].Source
		if s.Code == "" || !slices.ContainsFunc(b, func(e acuity.Evidence) bool {
			return s.Code == e.Source.Code && s.System == e.Source.System
		}) {
			return false
		}
	}
	return true
}
