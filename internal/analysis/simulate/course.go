package simulate

import (
	"slices"
	"time"
)

// Turn is an instant from which on the time of the unit passes at another speed.
type Turn struct {
	Unit  time.Time `json:"unit"`  // of the unit
	Real  time.Time `json:"real"`  // what it is outside
	Speed float64   `json:"speed"` // seconds of the unit in a second
}

// Course is how the time of a unit passes outside: before its first turn as it is,
// then from turn to turn. Turns are in the order of time; speeds are above 0.
type Course []Turn

// Real returns the instant outside. It is the [Options.Clock] of a unit in motion.
func (c Course) Real(t time.Time) time.Time {
	i := c.last(func(one Turn) bool { return !one.Unit.After(t) })
	if i < 0 {
		return t
	}
	return c[i].Real.Add(scaled(t.Sub(c[i].Unit), 1/c[i].Speed))
}

// Unit returns the instant of the unit.
func (c Course) Unit(t time.Time) time.Time {
	i := c.last(func(one Turn) bool { return !one.Real.After(t) })
	if i < 0 {
		return t
	}
	return c[i].Unit.Add(scaled(t.Sub(c[i].Real), c[i].Speed))
}

// Turned returns the course with another speed from now on.
func (c Course) Turned(now time.Time, speed float64) Course {
	if n := len(c); n > 0 && c[n-1].Speed == speed {
		return c
	}
	return append(slices.Clone(c), Turn{c.Unit(now), now, speed})
}

// last returns the last turn that is over, -1 if none is.
func (c Course) last(is func(Turn) bool) int {
	for i, turn := range slices.Backward(c) {
		if is(turn) {
			return i
		}
	}
	return -1
}

func scaled(d time.Duration, factor float64) time.Duration {
	return time.Duration(float64(d) * factor)
}
