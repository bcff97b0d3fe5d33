package hospital

import (
	"svc/acuity"
	"svc/acuity/score"
)

// seenRoom is the verdict on a room in a form that can be rendered for comparison. seenFactor is one of its factors,
// with the factor's sources.
type seenRoom struct {
	score.RoomVerdict
	Factors []seenFactor
}

type seenFactor struct {
	score.FactorVerdict
	AssignedBy string
	Sources    []acuity.Source
}

func seen(v *score.RoomVerdict) seenRoom {
	s := seenRoom{RoomVerdict: *v}
	s.RoomVerdict.Factors = nil
	for i := range v.Factors {
		f := &v.Factors[i]
		of := seenFactor{FactorVerdict: *f, AssignedBy: v.AssignedBy(f)}
		for _, e := range v.Evidence(f) {
			of.Sources = append(of.Sources, e.Source)
		}
		s.Factors = append(s.Factors, of)
	}
	return s
}

// seenUnit is the verdict on a unit in a form that can be rendered for comparison, including the sentences of its
// axes.
type seenUnit struct {
	score.Verdict
	Rooms   []seenRoom
	Details [acuity.AxisCount]string
}

func seeUnit(v *score.Verdict) seenUnit {
	s := seenUnit{Verdict: *v}
	for a := range acuity.Axis(acuity.AxisCount) {
		s.Details[a] = v.Detail(a)
	}
	return s
}
