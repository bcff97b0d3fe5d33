// Package help says what would bring a unit to a better level, or make it less short of
// nurses: one more on duty, call staff, or the next step that time alone takes. It judges
// changed facts by the rules of the unit, and says nothing about a patient.
package help

import (
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/score"
)

// Kind is what would have to happen.
type Kind uint8

// The kinds, in the order in which they are listed.
const (
	Nurse  Kind = iota // one nurse more comes on duty
	Nurses             // two nurses more
	Call               // staff on call can come
	Clock              // time alone, if nothing new is told
)

var names = [...]string{"nurse", "nurses", "call", "clock"}

// String returns a stable name.
func (k Kind) String() string { return names[k] }

// Step is one thing that would help, and where the unit would stand then.
type Step struct {
	Kind      Kind
	At        acuity.Instant // when it would be so
	Level     acuity.Level
	Shortfall int32 // whole nurses
}

// How far ahead known clocks are followed, and at how many instants at most.
const (
	ahead  = 4 * time.Hour
	clocks = 48
)

// Steps returns what would lower the level or the shortfall of a unit as it stands now,
// at most one step of each kind. A step that only makes an axis unknown is left out: it
// helps nobody.
func Steps(chart *acuity.Chart, now acuity.Instant) []Step {
	v := score.Judge(chart, now)
	if v.Level == acuity.LevelGreen && v.Shortfall == 0 {
		return nil
	}
	var steps []Step
	try := func(kind Kind, before, after *score.Verdict, at acuity.Instant) bool {
		helps := better(before, after)
		if helps {
			steps = append(steps, Step{kind, at, after.Level, after.Shortfall})
		}
		return helps
	}
	if v.OnDuty >= 0 {
		one := staffed(chart, &v, 1, v.Call, now)
		two := staffed(chart, &v, 2, v.Call, now) //nolint:mnd // two nurses
		before := &v
		if try(Nurse, &v, one, now) {
			before = one
		}
		try(Nurses, before, two, now)
		if v.Call != acuity.Yes {
			try(Call, &v, staffed(chart, &v, 0, acuity.Yes, now), now)
		}
	}
	later := v
	for range clocks {
		at := later.Next
		if at == 0 || at > now.Add(ahead) {
			break
		}
		if later = score.Judge(chart, at); try(Clock, &v, &later, at) {
			break
		}
	}
	return steps
}

// staffed judges the unit with more nurses on duty.
func staffed(chart *acuity.Chart, v *score.Verdict, more int32, call acuity.Tristate, now acuity.Instant) *score.Verdict {
	u := chart.Unit
	plans := slices.IndexFunc(u.Staffing, func(s acuity.Staffing) bool { return s.AsOf > now })
	if plans < 0 {
		plans = len(u.Staffing)
	}
	u.Staffing = slices.Concat([]acuity.Staffing{{AsOf: now, Nurses: v.OnDuty + more, Call: call}}, u.Staffing[plans:])
	with := score.JudgeUnit(&u, v.Rooms, now)
	return &with
}

// better reports whether a unit stands better in one of level and shortfall, and worse in
// none, by all axes that are known before.
func better(before, after *score.Verdict) bool {
	for a := range before.Axes {
		if before.Axes[a].Known && !after.Axes[a].Known {
			return false
		}
	}
	if after.Level > before.Level || after.Shortfall > before.Shortfall {
		return false
	}
	return after.Level < before.Level || after.Shortfall < before.Shortfall
}
