// Package help finds the changes that would improve a unit's level or shortfall: one or two more nurses on duty, call
// staff, or the passing of time. It evaluates modified charts by the same rules as the verdict. The results do not
// identify patients.
package help

import (
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/score"
)

// Kind is a kind of change.
type Kind uint8

// The kinds, in the order in which they are listed.
const (
	Nurse  Kind = iota // one more nurse on duty
	Nurses             // two more nurses on duty
	Call               // staff on call become available
	Clock              // time passes without new facts
)

var names = [...]string{"nurse", "nurses", "call", "clock"}

// String returns the stable name of the kind.
func (k Kind) String() string { return names[k] }

// Step is one change that would help, with the resulting level and shortfall.
type Step struct {
	Kind      Kind
	At        acuity.Instant // when the result would apply
	Level     acuity.Level
	Shortfall int32 // shortfall in whole nurses
}

// The period for which Steps evaluates the passing of time, and the maximum number of instants that it evaluates.
const (
	ahead  = 4 * time.Hour
	clocks = 48
)

// Steps returns the changes that would improve the current level or shortfall of a unit, with at most one change of
// each kind. It lists two more nurses only if they help more than one. It omits changes that make a known axis
// unknown.
func Steps(chart *acuity.Chart, now acuity.Instant) []Step {
	v := score.Judge(chart, now)
	if v.Level == acuity.LevelGreen && v.Shortfall == 0 {
		return nil
	}
	var steps []Step
	try := func(kind Kind, before, after *score.Verdict, at acuity.Instant) bool {
		helps := isBetter(before, after)
		if helps {
			steps = append(steps, Step{kind, at, after.Level, after.Shortfall})
		}
		return helps
	}
	if v.OnDuty >= 0 {
		one := judgeWithNurses(chart, &v, 1, v.Call, now)
		two := judgeWithNurses(chart, &v, 2, v.Call, now) //nolint:mnd // two more nurses
		before := &v
		if try(Nurse, &v, one, now) {
			before = one
		}
		try(Nurses, before, two, now)
		if v.Call != acuity.Yes {
			try(Call, &v, judgeWithNurses(chart, &v, 0, acuity.Yes, now), now)
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

// judgeWithNurses evaluates the unit with the given number of additional nurses on duty and the given call state.
func judgeWithNurses(chart *acuity.Chart, v *score.Verdict, more int32, call acuity.Tristate, now acuity.Instant) *score.Verdict {
	u := chart.Unit
	plans := slices.IndexFunc(u.Staffing, func(s acuity.Staffing) bool { return s.AsOf > now })
	if plans < 0 {
		plans = len(u.Staffing)
	}
	u.Staffing = slices.Concat([]acuity.Staffing{{AsOf: now, Nurses: v.OnDuty + more, Call: call}}, u.Staffing[plans:])
	with := score.JudgeUnit(&u, v.Rooms, now)
	return &with
}

// isBetter reports whether the second verdict has a better level or shortfall than the first, is not worse in either,
// and knows every axis that the first knows.
func isBetter(before, after *score.Verdict) bool {
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
