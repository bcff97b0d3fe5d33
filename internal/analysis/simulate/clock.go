package simulate

import (
	"slices"
	"time"
)

// clock is an instant in seconds since 1970 UTC, or a span in seconds.
type clock int64

const (
	second clock = 1
	minute       = 60 * second
	hour         = 60 * minute
	day          = 24 * hour
	week         = 7 * day
)

func at(t time.Time) clock { return clock(t.Unix()) }

func (c clock) time() time.Time { return time.Unix(int64(c), 0).UTC() }

// written converts an instant of the unit's time to the time that its messages contain.
func (u *unit) written(t clock) time.Time {
	if u.options.Clock == nil {
		return t.time()
	}
	return u.options.Clock(t.time()).UTC()
}

// Turn is an instant at which the unit's time begins to pass at a new speed.
type Turn struct {
	Unit  time.Time `json:"unit"`  // time of the unit
	Real  time.Time `json:"real"`  // real time
	Speed float64   `json:"speed"` // seconds of the unit per real second
}

// Course maps the unit's time to real time. Both are equal before the first turn, and each turn changes the speed.
// Turns are in ascending order, and their speeds are positive.
type Course []Turn

// Real returns the real time for an instant of the unit. A running unit uses it as [Options.Clock].
func (c Course) Real(t time.Time) time.Time {
	i := c.last(func(one Turn) bool { return !one.Unit.After(t) })
	if i < 0 {
		return t
	}
	return c[i].Real.Add(scaled(t.Sub(c[i].Unit), 1/c[i].Speed))
}

// Unit returns the unit's time for a real instant.
func (c Course) Unit(t time.Time) time.Time {
	i := c.last(func(one Turn) bool { return !one.Real.After(t) })
	if i < 0 {
		return t
	}
	return c[i].Unit.Add(scaled(t.Sub(c[i].Real), c[i].Speed))
}

// Turned returns the course with an additional turn, at which the unit's time begins to pass at the given speed. now
// is the real time of this turn. If the last turn already has the same speed, Turned returns the course unchanged.
func (c Course) Turned(now time.Time, speed float64) Course {
	if n := len(c); n > 0 && c[n-1].Speed == speed {
		return c
	}
	return append(slices.Clone(c), Turn{c.Unit(now), now, speed})
}

// last returns the index of the last turn that satisfies the predicate, or -1 if there is none.
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
