package terminology

import (
	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Identity says which statements replace each other: of one identity the newest counts.
// FHR category, MEWS and BMI are one each over all their codes, see codeFold. Otherwise
// the code decides, and whether it is a medication. Display and start are no part of it
// (scoring-decisions 25).
type Identity struct {
	Medication bool
	System     codes.System
	Code       string
}

// newIdentity returns the identity of a signal by its code alone.
func newIdentity(s *acuity.Signal) *Identity {
	return &Identity{
		Medication: s.Kind == catalogue.KindMedication,
		System:     s.System,
		Code:       codes.Normal(s.System, s.Code),
	}
}

// gradeStatement returns how grave a statement is. If two statements of one request have
// the same time, the graver wins (scoring-decisions 27).
func gradeStatement(c *catalogue.Catalogue, s *acuity.Signal, matches []Match) uint8 {
	switch s.Status {
	case acuity.SignalRetracted:
		return 0
	case acuity.SignalEnded:
		return 1
	case acuity.SignalOnHold:
		return 2
	case acuity.SignalActive:
	}
	weight := uint8(3)
	for _, m := range matches {
		if m.On {
			_, class, _ := c.Requirement(m.Factor, m.Variant).Need.At(0, 0)
			weight = max(weight, 4+class)
		}
	}
	return weight
}
