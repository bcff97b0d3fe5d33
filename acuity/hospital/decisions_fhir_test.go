package hospital_test

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// resources returns the observation from a FHIR request received at a given time.
func resources(at float64, signals ...sign) acuity.Observation {
	o := said(at, acuity.ChannelFHIR)
	for _, s := range signals {
		o.Signals = append(o.Signals, acuity.Signal(s))
	}
	return o
}

// encounter returns a version of an Encounter. The argument made is the minute of the version, or negative for a
// version without a time. The version contains the events of the given observations; without observations, the
// version is void.
func encounter(at float64, resource string, made float64, steps ...acuity.Observation) acuity.Observation {
	o := said(at, acuity.ChannelFHIR)
	for _, s := range steps {
		o.Events = append(o.Events, s.Events...)
	}
	if len(steps) == 0 {
		o.Events = []acuity.Event{{Visit: "v1", Void: true, At: minute(at)}}
	}
	for i := range o.Events {
		e := &o.Events[i]
		e.Resource, e.Encounter, e.Patient, e.Subject = resource, "ref "+resource, "p1", "ref p1"
		if made >= 0 {
			e.UpdatedAt = minute(made)
		}
	}
	return o
}

// of returns the signal as a version of a resource about visit v1. The optional argument made is the minute of the
// version.
func (s sign) of(resource string, made ...float64) sign {
	s.Resource, s.Visit = resource, "v1"
	if len(made) > 0 {
		s.UpdatedAt = minute(made[0])
	}
	return s
}

// by returns the signal with a patient, given by number and by reference, instead of a visit.
func (s sign) by(patient, subject string) sign {
	s.Visit, s.Patient, s.Subject = "", patient, subject
	return s
}

// in returns the signal with the given visit.
func (s sign) in(visit string) sign {
	s.Visit = visit
	return s
}

// wrong returns a retraction that contains only the reference of a resource.
func wrong(resource string) sign {
	return sign{Resource: resource, Status: acuity.SignalRetracted}
}

// condition returns a diagnosis with one or more codings.
func condition(codes ...string) sign {
	d := code(codes[0])
	s := sign{Kind: catalogue.KindCondition, System: d.System, Code: d.Code}
	for _, c := range codes[1:] {
		d = code(c)
		s.Also = append(s.Also, acuity.Coding{System: d.System, Code: d.Code})
	}
	return s
}

// TestDecisionsFHIR covers the decisions on FHIR resources, and on HL7 messages about the same visit
// (docs/decisions.md#encounter-versions, #two-feeds, #diagnosis-sets, #diagnosis-since, #magnesium-infusion).
func TestDecisionsFHIR(t *testing.T) {
	const (
		ante     = "<ANTE:6> 20 ap-stable/1"
		inA, inB = "<LDR:A> 60 labor-standard/0", "<LDR:B> 60 labor-standard/0"
	)
	admit := message(0, acuity.A01, "ANTE:6", "class=I")
	with := func(o ...acuity.Observation) []acuity.Observation { return append(list(admit), o...) }
	a01 := message(0, acuity.A01, "LDR:A", "class=I")
	decide(t, visits(map[string]decision{
		"a newer version replaces all events of the older": {
			say: list(encounter(10, "E", 10, a01, message(5, acuity.A02, "LDR:B")), encounter(20, "E", 20, a01)), read: []axisReading{{10, inB}, {20, inA}},
		},
		"what only the older said of rooms is forgotten: a number is one room's again": {
			say: list(census(0, empty(7)), message(1, acuity.A01, "v=v2", "LDR:7", "class=I"),
				encounter(2, "E", 2, message(2, acuity.A01, "MBU:7", "class=I")), encounter(10, "E", 10, message(2, acuity.A01, "MBU:3", "class=I"))),
			read: []axisReading{{2, own("LDR:7") + " 60 labor-standard/0; " + own("MBU:7") + " 20 pp-couplet/0"}, {10, "7 60 labor-standard/0; <MBU:3> 20 pp-couplet/0"}},
		},
		"an older version that comes late does not": {
			say: list(encounter(20, "E", 20, a01), encounter(30, "E", 10, a01, message(5, acuity.A02, "LDR:B"))), read: []axisReading{{30, inA}},
			answers: []string{"+labor-standard", "version_older"},
		},
		"without times the later arrival is valid": {
			say: list(encounter(10, "E", -1, a01, message(5, acuity.A03)), encounter(20, "E", -1, a01)), read: []axisReading{{10, ""}, {20, inA}},
		},
		"in-progress after finished reopens": {
			say: list(encounter(10, "E", 10, a01), encounter(20, "E", 20, a01, message(15, acuity.A03)), encounter(30, "E", 30, a01)), read: []axisReading{{20, ""}, {30, inA}},
		},
		"the same version again is a duplicate": {
			say: list(encounter(10, "E", 10, a01), encounter(20, "E", 10, a01)), read: []axisReading{{20, inA}}, answers: []string{"+labor-standard", "duplicate"},
		},
		"HL7 and FHIR of one visit are sorted by event time": {
			say: list(encounter(30, "E", 30, a01, message(20, acuity.A02, "LDR:A")), late(message(10, acuity.A02, "LDR:B"), 40)), read: []axisReading{{40, inA}},
		},
		"the newer time wins, never the channel": {
			say: list(encounter(30, "E", 30, a01), late(message(10, acuity.A02, "LDR:B"), 40)), read: []axisReading{{40, inB}},
		},
		"a cancelled Encounter voids what came from it": {
			say: list(encounter(10, "E", 10, a01), encounter(20, "E", 20)), read: []axisReading{{20, ""}},
		},
		"and events of HL7 stay": {
			say: list(a01, encounter(10, "E", 10, message(5, acuity.A02, "LDR:B")), encounter(20, "E", 20)), read: []axisReading{{10, inB}, {20, inA}},
		},
		"a void version that comes first": {
			say: list(encounter(20, "E", 20), encounter(30, "E", 10, a01)), read: []axisReading{{30, ""}},
		},
		"an Encounter without a location keeps the place": {
			say: list(a01, encounter(10, "E", 10, message(0, acuity.A04, "class=I"))), read: []axisReading{{10, inA}},
		},
		"a stopped resource ends only itself": {
			say:  with(resources(1, mag().of("bag1", 1).since(1)), resources(20, drug("29155", "magnesium sulfate").of("bag2", 20).since(20)), resources(90, mag().off().of("bag2", 90).seen(90))),
			read: []axisReading{{90, "<ANTE:6> 30 high-mag/3 ap-stable/1"}},
		},
		"a completed loading dose lends its start to the bag": {
			say:  with(resources(21, mag().off().of("load", 21).since(1).seen(20)), resources(30, mag().of("bag", 30).since(25))),
			read: []axisReading{{29, ante}, {60, "<ANTE:6> 60 high-mag/3 ap-stable/1"}, {61, "<ANTE:6> 30 high-mag/3 ap-stable/1"}},
		},
		"not after more than 15 min": {
			say:  with(resources(21, mag().off().of("load", 21).since(1).seen(20)), resources(40, mag().of("bag", 40).since(36))),
			read: []axisReading{{95, "<ANTE:6> 60 high-mag/3 ap-stable/1"}, {96, "<ANTE:6> 30 high-mag/3 ap-stable/1"}},
		},
		"time on hold is no gap": {
			say:  with(resources(1, mag().of("bag", 1).since(1)), resources(20, mag().status(acuity.SignalOnHold).of("bag", 20).since(1)), resources(80, mag().of("bag2", 80).since(80))),
			read: []axisReading{{20, ante}, {79, ante}, {80, "<ANTE:6> 30 high-mag/3 ap-stable/1"}},
		},
		"a completed one alone activates nothing": {say: with(resources(21, mag().off().of("load", 21).since(1).seen(20))), read: []axisReading{{21, ante}}},
		"entered in error takes the resource back": {
			say:  with(resources(1, mag().of("bag", 1).since(1), mag().of("bag2", 1).since(2)), resources(70, mag().status(acuity.SignalRetracted).of("bag", 70))),
			read: []axisReading{{61, "<ANTE:6> 30 high-mag/3 ap-stable/1"}, {70, "<ANTE:6> 30 high-mag/3 ap-stable/1"}},
		},
		"a DELETE names nothing but the resource": {say: with(resources(1, mag().of("bag", 1).since(1)), resources(5, wrong("bag"))), read: []axisReading{{4, "<ANTE:6> 60 high-mag/3 ap-stable/1"}, {5, ante}}},
		"and may come before it":                  {say: with(resources(5, wrong("bag")), resources(10, mag().of("bag", 1).since(1))), read: []axisReading{{10, ante}}},
		"what is taken back takes its components": {say: with(resources(1, fhr("Category III").of("o.1").seen(1)), resources(5, wrong("o"))), read: []axisReading{{1, "<ANTE:6> 120 labor-fhr-cat-iii/4 ap-stable/1"}, {5, ante}}},
		"an older observation never overrides":    {say: with(resources(10, fhr("Category I").of("o2", 10).seen(10)), resources(20, fhr("Category III").of("o1", 20).seen(5))), read: []axisReading{{20, ante}}},
		"at equal times the later version":        {say: with(resources(10, fhr("Category I").of("o2", 10).seen(5)), resources(20, fhr("Category III").of("o1", 9).seen(5))), read: []axisReading{{20, ante}}},
		"a correction replaces its own":           {say: with(resources(10, fhr("Category III").of("o", 10).seen(5)), resources(20, fhr("Category I").of("o", 20).seen(5))), read: []axisReading{{20, ante}}},
		"one taken back gives way to that before": {say: with(resources(10, fhr("Category III").of("o1", 10).seen(5)), resources(20, fhr("Category I").of("o2", 20).seen(15)), resources(30, wrong("o2"))), read: []axisReading{{20, ante}, {30, "<ANTE:6> 120 labor-fhr-cat-iii/4 ap-stable/1"}}},
		"the infusion takes the place of the diagnosis, for good": {
			say:  with(resources(1, condition("O15.03").of("c", 1).since(1)), resources(10, mag().of("bag", 10).since(10)), resources(20, mag().off().of("bag", 20).seen(20))),
			read: []axisReading{{9, "<ANTE:6> 60 high-eclampsia/4 high-mag/3 high-preeclampsia/2 ap-stable/1"}, {10, "<ANTE:6> 60 high-eclampsia/4 high-mag/3 high-preeclampsia/2 ap-stable/1"}, {20, "<ANTE:6> 60 high-eclampsia/4 high-preeclampsia/2 ap-stable/1"}},
		},
		"a condition runs from its onset":      {say: with(resources(10, condition("O45.9").of("c", 10).since(-20))), read: []axisReading{{39, "<ANTE:6> 120 high-hemorrhage/4 ap-stable/1"}, {40, "<ANTE:6> 60 high-hemorrhage/3 ap-stable/1"}}},
		"each condition is a set of its own":   {say: with(resources(10, condition("O14.13").of("c1", 10), condition("O14.13").of("c2", 10)), resources(20, condition("O14.13").off().of("c1", 20))), read: []axisReading{{20, "<ANTE:6> 30 high-preeclampsia/3 ap-stable/1"}}},
		"a snapshot of DG1 leaves it":          {say: with(resources(10, condition("O14.13").of("c1", 10)), message(20, acuity.A08, "clear")), read: []axisReading{{20, "<ANTE:6> 30 high-preeclampsia/3 ap-stable/1"}}},
		"a resolved condition ends":            {say: with(resources(10, condition("O14.13").of("c1", 10)), resources(20, condition("O14.13").off().of("c1", 20))), read: []axisReading{{20, ante}}},
		"a refuted one never was":              {say: with(resources(10, condition("O14.13").of("c1", 10)), resources(20, condition("O14.13").status(acuity.SignalRetracted).of("c1", 20))), read: []axisReading{{20, ante}}},
		"the first coding that matches counts": {say: with(resources(10, condition("Z99", "O14.13", "O16.1").of("c", 10))), read: []axisReading{{10, "<ANTE:6> 30 high-preeclampsia/3 ap-stable/1"}}, answers: []string{"+high-preeclampsia"}},
		"what tells of a delivery is nobody's to map": {
			say:     list(message(0, acuity.A01, "LDR:A", "class=I", "O82", "B99"), resources(10, condition("Z37.0").of("c", 10)), census(20, holds(4, "pp-couplet", "Z37.0", "O82"))),
			answers: []string{"+csection-admit ?B99", "+pp-csection -csection-admit", "+pp-couplet -pp-csection"},
		},
		"it is unmapped only if none does, and once": {say: with(resources(10, condition("Z99", "Z98").of("c", 10))), read: []axisReading{{10, ante}}, answers: []string{"?Z99"}},
		"a mapping of any coding counts later":       {say: with(resources(10, condition("Z99", "Z98").of("c", 10)), mapping(20, "m", codes.ICD10CM, "Z98", "high-cardiac")), read: []axisReading{{19, ante}, {20, "<ANTE:6> 30 high-cardiac/3 ap-stable/1"}}},
		"a condition tells of a birth":               {say: list(a01, resources(10, condition("Z37.0").of("c", 10).since(10))), read: []axisReading{{10, "<LDR:A> 60 pp-immediate-recovery-vag/0"}, {130, "<LDR:A> 30 pp-immediate-recovery-vag/0"}}},
		"a visit that is not known yet":              {say: list(resources(0, condition("O14.13").of("c", 0).in("ref E")), encounter(10, "E", 10, message(0, acuity.A01, "ANTE:6", "class=I"))), read: []axisReading{{0, ""}, {10, "<ANTE:6> 30 high-preeclampsia/3 ap-stable/1"}}, answers: []string{"!reference_waiting", "+ap-stable +high-preeclampsia"}},
		"a patient by reference":                     {say: list(resources(0, condition("O14.13").of("c", 0).by("ref p1", "")), encounter(10, "E", 10, message(0, acuity.A01, "ANTE:6", "class=I"))), read: []axisReading{{10, "<ANTE:6> 30 high-preeclampsia/3 ap-stable/1"}}},
		"of several open visits the newest": {
			say:  list(encounter(0, "E", 0, message(0, acuity.A01, "ANTE:6", "class=I")), encounter(5, "F", 5, message(5, acuity.A01, "v=v2", "LDR:A", "class=I")), resources(10, condition("O14.13").of("c", 10).by("p1", ""))),
			read: []axisReading{{10, "<LDR:A> 60 high-preeclampsia/3 labor-standard/0; <ANTE:6> 20 ap-stable/1"}},
		},
		"nothing waits longer than 24 h": {
			say:  list(resources(0, condition("O14.13").of("c", 0).by("p1", "")), encounter(1500, "E", 1500, message(1500, acuity.A01, "ANTE:6", "class=I"))),
			read: []axisReading{{1500, ante}},
		},
		"a baby that is part of the mother's Encounter": {
			say:  list(message(0, acuity.A01, "MBU:3", "class=I", "pp-couplet"), encounter(10, "B", 10, message(10, acuity.A01, "v=baby", "mother=v1", "MBU:3"))),
			read: []axisReading{{10, "<MBU:3> 80 nb-stabilization/1 pp-couplet/0"}},
		},
	}))
}
