package hospital

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/identity"
)

// A statement whose patient differs from the patient of its Encounter counts for the Encounter. The event that makes
// the difference known causes one warning, even after a restart between statement and event.
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

// A version of a resource that moves from a visit to a patient is not compared with the patient of a visit, with or
// without a restart.
func TestMovedVersionHasNoOtherSubject(t *testing.T) {
	version := func(minutes int64, s acuity.Signal) acuity.Observation {
		at := day + acuity.Instant(minutes*60_000)
		s.Kind, s.System, s.Code, s.Resource, s.UpdatedAt = catalogue.KindMedication, codes.RxNorm, "6585", "bag", at
		return acuity.Observation{Channel: acuity.ChannelFHIR, ReceivedAt: at, Signals: []acuity.Signal{s}}
	}
	encounter := func(minutes int64) acuity.Observation {
		at := day + acuity.Instant(minutes*60_000)
		return acuity.Observation{Channel: acuity.ChannelFHIR, ReceivedAt: at, Events: []acuity.Event{{
			ID: strconv.FormatInt(minutes, 10), Type: acuity.A01, At: day, UpdatedAt: at, Resource: "Encounter/e", Encounter: "Encounter/e",
			Visit: "v1", Patient: "p2", Subject: "ref 2", Class: 'I', Place: ldr("L1"),
		}}}
	}
	older := version(1, acuity.Signal{Visit: "v2", Patient: "p9"})
	older.Signals = append(older.Signals, version(3, acuity.Signal{Patient: "p2"}).Signals...)
	u, log := New(testHospital), changelog{}
	broken := u
	for i, o := range []acuity.Observation{encounter(0), older, encounter(3000), encounter(3001)} {
		o.Hospital = testHospital
		a := u.Apply(&o, int64(i))
		b := a
		if broken != u {
			b = broken.Apply(&o, int64(i))
		}
		if x, y := rendered(a.Warnings), rendered(b.Warnings); x != y || strings.Contains(x, "subject_differs") {
			t.Errorf("step %d: %s, restored %s", i, x, y)
		}
		log.write(broken)
		broken = log.restore(t)
	}
}

// If the subject of a statement is not the patient of its visit, exactly one answer contains the warning: the answer
// to the last fact needed to detect the difference. This is true in every order of arrival, with restarts in between.
// It does not matter whether the two patients are known by number, by reference, by FHIR Patient, by another visit,
// or by a visit of which this one is part.
func TestSubjectsDifferInEveryOrder(t *testing.T) {
	encounter := func(id, part string, names ...string) acuity.Observation {
		e := acuity.Event{
			ID: "of " + id, Type: acuity.A01, At: day, UpdatedAt: day, Class: 'I', Place: ldr("L1"), MotherVisit: part,
			Visit: "v" + id, Encounter: "Encounter/" + id, Resource: "Encounter/" + id, Patient: names[0], Subject: names[len(names)-1],
		}
		return acuity.Observation{Channel: acuity.ChannelFHIR, Events: []acuity.Event{e}}
	}
	hl7 := func(id string) acuity.Observation {
		return acuity.Observation{Channel: acuity.ChannelHL7, Events: []acuity.Event{
			{ID: "hl7 " + id, Digest: "d", Type: acuity.A01, At: day, Class: 'I', Place: ldr("L1"), Visit: "v" + id, Patient: "mr " + id},
		}}
	}
	person := func(id string) acuity.Observation {
		return acuity.Observation{Channel: acuity.ChannelFHIR, References: []acuity.Reference{{Name: "ref " + id, Patient: "mr " + id, UpdatedAt: day}}}
	}
	visits := map[string][]acuity.Observation{
		"v1":             {hl7("1")},
		"Encounter/1":    {encounter("1", "", "ref 1")},
		"Encounter/1 ":   {encounter("1", "", "mr 1", "ref 1")},
		"Encounter/part": {encounter("1", "", "ref 1"), encounter("part", "Encounter/1", "ref 1")},
		"v1 ":            {hl7("1"), encounter("1", "", "ref 1")},
	}
	more := [][]acuity.Observation{nil, {person("1")}, {person("2")}, {encounter("2", "", "mr 2", "ref 2")}, {hl7("2"), encounter("2", "", "ref 2")}}
	seen := map[identity.Sameness]int{}
	for visit, known := range visits {
		for _, named := range [][]string{{"mr 1"}, {"ref 1"}, {"mr 2"}, {"ref 2"}, {"mr 2", "ref 2"}} {
			s := acuity.Signal{
				Kind: catalogue.KindCondition, System: codes.ICD10CM, Code: "O72.1", Resource: "Condition/c", Visit: strings.TrimSpace(visit), Patient: named[0],
			}
			if last := named[len(named)-1]; strings.HasPrefix(last, "ref") {
				s.Subject = last
			}
			for _, others := range more {
				all := slices.Concat([]acuity.Observation{{Channel: acuity.ChannelFHIR, Signals: []acuity.Signal{s}}}, known, others)
				inEveryOrder(all, 0, func(order []acuity.Observation) { seen[warnsOfSubject(t, &s, order)]++ })
			}
		}
	}
	for _, same := range []identity.Sameness{identity.Unknown, identity.Same, identity.Different} {
		if seen[same] == 0 {
			t.Errorf("no case ends with %d", same)
		}
	}
}

// warnsOfSubject applies observations, one of which contains the statement s, and restarts the unit after each one.
// It expects exactly one warning if the subject of s is ever known to differ from the patient of the visit in s, and
// none otherwise. It returns the result of the last comparison.
func warnsOfSubject(t *testing.T, s *acuity.Signal, order []acuity.Observation) (same identity.Sameness) {
	t.Helper()
	u, log := New(testHospital), changelog{}
	warnings, want, stated := 0, 0, false
	for i, o := range order {
		o.Hospital, o.Source, o.ReceivedAt = testHospital, "key", day+acuity.Instant(i*1000)
		for _, w := range u.Apply(&o, int64(i+1)).Warnings {
			if w.Code == "subject_differs" {
				warnings++
			}
		}
		stated = stated || len(o.Signals) > 0
		if v := u.names.VisitCalled(s.Visit).Whole(); v != nil && stated {
			if same = u.names.CompareSubject(s, v); same == identity.Different {
				want = 1
			}
		}
		log.write(u)
		u = log.restore(t)
	}
	if warnings != want {
		t.Errorf("%d warnings, want %d: %+v", warnings, want, order)
	}
	return same
}

// inEveryOrder calls f with each permutation of the elements from index n.
func inEveryOrder(list []acuity.Observation, n int, f func([]acuity.Observation)) {
	if n == len(list) {
		f(list)
	}
	for i := n; i < len(list); i++ {
		list[n], list[i] = list[i], list[n]
		inEveryOrder(list, n+1, f)
		list[n], list[i] = list[i], list[n]
	}
}
