package terminology

import (
	"svc/acuity"
)

// readCondition reads a condition as a diagnosis, by its code alone.
func (r *Reader) readCondition(s *acuity.Signal) MatchState {
	d := acuity.Diagnosis{System: s.System, Code: s.Code}
	said := r.Diagnosis(&d)
	if !said.Known {
		return Unmapped
	}
	for _, m := range said.Matches {
		m.On = s.Status == acuity.SignalActive
		r.matches = append(r.matches, m)
	}
	return Matched
}
