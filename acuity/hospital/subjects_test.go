package hospital

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// A statement that names another patient than its Encounter has counts for the Encounter. The event
// that makes the patient known warns of it once, also after a restart between the two.
func TestLaterEncounterWarnsOfAnotherSubject(t *testing.T) {
	now := day
	statement := acuity.Observation{
		Hospital: testHospital, ReceivedAt: now, Channel: acuity.ChannelFHIR,
		Signals: []acuity.Signal{{
			Kind: catalogue.KindCondition, System: codes.ICD10CM, Code: "O72.1", Resource: "Condition/c",
			Visit: "Encounter/e", Patient: "Patient/2", Subject: "Patient/2",
		}},
	}
	encounter := func(minutes int64) *acuity.Observation {
		at := now + acuity.Instant(minutes*60_000)
		return &acuity.Observation{
			Hospital: testHospital, ReceivedAt: at, Channel: acuity.ChannelFHIR,
			Events: []acuity.Event{{
				ID: "e", Type: acuity.A01, At: at, Visit: "v", Encounter: "Encounter/e", Resource: "Encounter/e", UpdatedAt: at,
				Patient: "Patient/1", Subject: "Patient/1", Class: 'I', Place: ldr("L1"),
			}},
		}
	}
	warned := func(c acuity.Change) (n int) {
		for _, w := range c.Warnings {
			if w.Code == "subject_differs" {
				n++
			}
		}
		return n
	}
	u, log := New(testHospital), changelog{}
	u.Apply(&statement, 1)
	log.write(u)
	restored := log.restore(t)
	for name, unit := range map[string]*State{"running": u, "restored": restored} {
		if n := warned(unit.Apply(encounter(1), 2)); n != 1 {
			t.Errorf("%s: %d warnings of the Encounter, want 1", name, n)
		}
	}
	log.write(u)
	for name, unit := range map[string]*State{"running": u, "restored": log.restore(t)} {
		if n := warned(unit.Apply(encounter(2), 3)); n != 0 {
			t.Errorf("%s: %d warnings of its next version, want 0", name, n)
		}
	}
}
