// Package hospitaltest folds a log of observations with the reference implementation, for tests.
package hospitaltest

import (
	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/score"
)

// Folded is the result of folding a log of observations.
type Folded struct {
	Chart   *acuity.Chart
	Verdict score.Verdict   // at the requested instant, or at the latest observation if that is later
	Changes []acuity.Change // one for each observation or due instant, in order
}

// Fold applies the observations of one hospital, in log order, to a unit from [hospital.NewPlain]. A unit from
// [hospital.New] to which the same observations are applied has the same chart and makes the same changes. In the
// changes, an observation's offset is its index.
func Fold(observations []acuity.Observation, now acuity.Instant) Folded {
	of := ""
	if len(observations) > 0 {
		of = observations[0].Hospital
	}
	u := hospital.NewPlain(of)
	var out Folded
	for i := range observations {
		o := &observations[i]
		at := max(o.ReceivedAt, o.AppliedAt)
		now = max(now, at) // the clock of the role that received o may have been ahead; a unit's time never goes back
		for c, more := u.Advance(at); more; c, more = u.Advance(at) {
			out.Changes = append(out.Changes, c)
		}
		out.Changes = append(out.Changes, u.Apply(o, int64(i)))
	}
	for due := u.Due(); due != 0 && due <= now; due = u.Due() {
		c, _ := u.Advance(now)
		out.Changes = append(out.Changes, c)
	}
	out.Chart = u.Chart()
	out.Verdict = score.Judge(out.Chart, now)
	return out
}
