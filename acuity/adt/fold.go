package adt

import (
	"cmp"

	"svc/acuity"
)

// foldedID begins the identities of the events that replace folded ones (R10). No other
// identity begins so, because they are pseudonyms.
const foldedID = "folded"

// Fold returns the fewest events of a visit that give the end state of its timeline (R10);
// nil: the events changed nothing.
func (s *Timeline) Fold(visit string) []acuity.Event {
	if len(s.Stays) == 0 && !s.Open && s.ClosedAt == 0 {
		return nil
	}
	e := acuity.Event{
		ID: foldedID, Type: acuity.A01, At: max(s.OpenedAt, 1), Visit: visit, Patient: cmp.Or(s.Patient, append(s.Subjects, "")[0]), MotherVisit: s.MotherVisit,
		MotherPatient: s.MotherPatient, Class: s.Class, Service: s.Service, Newborn: s.Newborn, Babies: s.Babies,
	}
	for i := range s.Events {
		if t := &s.Events[i]; t.Disposition == Applied {
			e.ReceivedAt = max(e.ReceivedAt, t.Event.ReceivedAt)
			e.Feed = t.Event.Feed
			if t.Event.Primary != 0 {
				e.Primary = t.Event.Primary
			}
			if t.Event.Reasons != 0 {
				e.Reasons = t.Event.Reasons
			}
		}
	}
	if n := len(s.Stays); n > 0 {
		e.At, e.Place = s.Stays[n-1].From, *s.Stays[n-1].Place()
	}
	e.PlaceNull = e.Place.IsZero()
	if len(s.Diagnoses) > 0 {
		e.DiagnosisMode = acuity.DiagnosisSnapshot
		for i := range s.Diagnoses {
			d := s.Diagnoses[i].Diagnosis
			d.OnsetAt = s.Diagnoses[i].Start
			e.Diagnoses = append(e.Diagnoses, d)
		}
	}
	if s.Open {
		return []acuity.Event{e}
	}
	end := acuity.Event{ID: foldedID + "-end", Type: acuity.A03, At: s.ClosedAt, ReceivedAt: e.ReceivedAt, Visit: visit}
	if len(s.Stays) == 0 {
		return []acuity.Event{end}
	}
	return []acuity.Event{e, end}
}
