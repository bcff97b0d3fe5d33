package score

import "math/bits"

// fraction is a number that is never negative, with den > 0.
type fraction struct{ num, den int64 }

// less compares exactly, without a common denominator that could overflow.
func (a fraction) less(b fraction) bool {
	ah, al := bits.Mul64(uint64(a.num), uint64(b.den)) //nolint:gosec // no part is negative
	bh, bl := bits.Mul64(uint64(b.num), uint64(a.den)) //nolint:gosec // no part is negative
	return ah < bh || ah == bh && al < bl
}

// thresholds are the values of the main variable of an axis at pressure 0, 25, 50, 75
// and 100, in 600ths.
type thresholds [5]int64

const cutUnit = 600

// pressure is how far an axis is, 0 … 100: linear between the thresholds, and kept
// inside the quarter of the level.
func (r *axisReading) pressure() fraction {
	floor, ceiling := 25*int64(r.level), 25*int64(r.level)+25
	if !r.measured || r.level > r.main {
		return fraction{floor, 1} // green, or a level reached by a side condition only
	}
	if r.infinite {
		return fraction{ceiling, 1}
	}
	x, den := cutUnit*r.num, r.den // the main variable in 600ths, times den
	if x < r.thresholds[0]*den {
		return fraction{floor, 1}
	}
	p := fraction{100, 1}
	for i := range 4 {
		low, high := r.thresholds[i], r.thresholds[i+1]
		if x < high*den {
			width := (high - low) * den
			p = fraction{25*int64(i)*width + 25*(x-low*den), width}
			break
		}
	}
	switch {
	case p.less(fraction{floor, 1}):
		return fraction{floor, 1}
	case fraction{ceiling, 1}.less(p):
		return fraction{ceiling, 1}
	}
	return p
}

// rounded is num/den in units of 1/scale, half up, also below zero.
func rounded(num, den, scale int64) int64 {
	if den == 1 { // a division costs more than all else here
		return num * scale
	}
	n, d := 2*num*scale+den, 2*den
	q := n / d
	if n < q*d {
		q--
	}
	return q
}
