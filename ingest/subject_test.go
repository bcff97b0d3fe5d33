package ingest_test

import (
	"strings"
	"testing"
)

// TestSubjectOfAnotherPatient: a resource whose subject is not the patient of its Encounter is applied to the
// Encounter, with a warning in the answer.
func TestSubjectOfAnotherPatient(t *testing.T) {
	patient := func(id, number string) string {
		return `{"resourceType":"Patient","id":"` + id + `","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"` + number + `"}]}`
	}
	encounter := func(subject string) string {
		return `{"resourceType":"Encounter","id":"e1","status":"in-progress","class":{"code":"IMP"},"identifier":[{"value":"V1"}],"subject":` + subject +
			`,"period":{"start":"2026-03-04T08:00:00Z"},"location":[{"location":{"display":"LDR 1"},"status":"active"}]}`
	}
	reference := func(id string) string { return `{"reference":"Patient/` + id + `"}` }
	number := func(value string) string { return `{"identifier":{"value":"` + value + `"}}` }
	of := func(subject string) string {
		return `"subject":` + subject + `,"encounter":{"reference":"Encounter/e1"}`
	}
	bleeds := func(about string) string {
		return `{"resourceType":"Condition","id":"c1",` + about + `,"clinicalStatus":{"coding":[{"code":"active"}]},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O72.1"}]}}`
	}
	runs := func(about string) string {
		return `{"resourceType":"MedicationAdministration","id":"m1","status":"in-progress",` + strings.Replace(about, `"encounter"`, `"context"`, 1) +
			`,"effectiveDateTime":"2026-03-04T15:00:00Z","medicationCodeableConcept":{"coding":[{"system":"http://www.nlm.nih.gov/research/umls/rxnorm","code":"6585","display":"magnesium sulfate"}]}}`
	}
	tracing := func(about string) string {
		return `{"resourceType":"Observation","id":"o1","status":"final",` + about + `,"effectiveDateTime":"2026-03-04T15:00:00Z","code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]},"valueString":"Category III"}`
	}
	for name, c := range map[string]struct {
		bodies []string
		want   string // warnings in the last answer
	}{
		"in one body":                  {[]string{"[" + encounter(reference("p1")) + "," + bleeds(of(reference("p2"))) + "]"}, "subject_differs@[1].subject"},
		"in two":                       {[]string{encounter(reference("p1")), bleeds(of(reference("p2")))}, "subject_differs@Condition.subject"},
		"the condition first":          {[]string{bleeds(of(reference("p2"))), encounter(reference("p1"))}, "subject_differs@Encounter"},
		"the condition first, by HL7":  {[]string{"[" + patient("p2", "2") + "," + bleeds(strings.Replace(of(reference("p2")), `"reference":"Encounter/e1"`, `"identifier":{"value":"V1"}`, 1)) + "]", admitted}, "subject_differs@"},
		"the condition first, once":    {[]string{bleeds(of(reference("p2"))), encounter(reference("p1")), encounter(reference("p1"))}, ""},
		"her own condition first":      {[]string{bleeds(of(reference("p1"))), encounter(reference("p1"))}, ""},
		"her fetus first":              {[]string{tracing(of(reference("p2"))), encounter(reference("p1"))}, ""},
		"the Patient last":             {[]string{admitted, bleeds(strings.Replace(of(reference("p2")), `"reference":"Encounter/e1"`, `"identifier":{"value":"V1"}`, 1)), "[" + patient("p3", "3") + "," + patient("p2", "2") + "]"}, "subject_differs@[1]"},
		"her Patient last":             {[]string{admitted, bleeds(strings.Replace(of(reference("p2")), `"reference":"Encounter/e1"`, `"identifier":{"value":"V1"}`, 1)), patient("p2", "MRN1")}, ""},
		"the drug first, in a body":    {[]string{runs(of(reference("p2"))), "[" + encounter(reference("p1")) + "]"}, "subject_differs@[0]"},
		"a drug":                       {[]string{encounter(reference("p1")), runs(of(reference("p2")))}, "subject_differs@MedicationAdministration.subject"},
		"by numbers":                   {[]string{encounter(number("1")), bleeds(of(number("2")))}, "subject_differs@Condition.subject"},
		"by Patients":                  {[]string{"[" + patient("p1", "1") + "," + encounter(reference("p1")) + "]", "[" + patient("p2", "2") + "," + bleeds(of(reference("p2"))) + "]"}, "subject_differs@[1].subject"},
		"of HL7":                       {[]string{admitted, "[" + patient("p2", "2") + "," + bleeds(strings.Replace(of(reference("p2")), `"reference":"Encounter/e1"`, `"identifier":{"value":"V1"}`, 1)) + "]"}, "subject_differs@[1].subject"},
		"her own":                      {[]string{encounter(reference("p1")), bleeds(of(reference("p1")))}, ""},
		"her own, by number":           {[]string{"[" + patient("p1", "1") + "," + encounter(reference("p1")) + "]", bleeds(of(number("1")))}, ""},
		"perhaps her own":              {[]string{admitted, bleeds(strings.Replace(of(reference("p2")), `"reference":"Encounter/e1"`, `"identifier":{"value":"V1"}`, 1))}, ""},
		"of nobody known":              {[]string{bleeds(of(reference("p2")))}, "reference_waiting@Condition"},
		"of her fetus":                 {[]string{encounter(reference("p1")), tracing(of(reference("p2")))}, ""},
		"of her fetus, in one body":    {[]string{"[" + encounter(reference("p1")) + "," + tracing(of(reference("p2"))) + "]"}, ""},
		"not of a fetus, but measured": {[]string{"[" + encounter(reference("p1")) + "," + strings.Replace(tracing(of(reference("p2"))), "32421-5", "1-8", 1) + "]"}, "subject_differs@[1].subject"},
	} {
		p := newProbe(t)
		p.send(t, "fhir", "[]")
		for i, body := range c.bodies {
			path := "fhir"
			if strings.HasPrefix(body, "MSH") {
				path = "hl7"
				body = writeTree(t, map[string]string{"message": body})
			}
			a := p.do(t, request(path, strings.NewReader(body)))
			if a.status != 200 {
				t.Fatalf("%s: %s", name, a.raw)
			}
			if i == len(c.bodies)-1 && a.warnings() != c.want {
				t.Errorf("%s: %s, want %s", name, a.warnings(), c.want)
			}
		}
		if strings.HasPrefix(name, "in ") && !has(p.unit, "high-hemorrhage") {
			t.Errorf("%s: the condition went to nobody", name)
		}
	}
}

const admitted = "MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ADT^A01^ADT_A01|M1|P|2.5.1\r" +
	"EVN|A01|20260304080000-0600\rPID|1||MRN1^^^STMARY^MR\rPV1|1|I|L&D^LDR 4^01|L|||||||||||||||V1\r"

// TestWarningsOfTheStateNameTheirField: a warning from applying a message names the field that caused it.
func TestWarningsOfTheStateNameTheirField(t *testing.T) {
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(admitted) }
	later := func(event string, pairs ...string) string {
		return change(append([]string{"A01|2026030408", event + "|2026030409", "ADT^A01", "ADT^" + event, "|M1|", "|M2|"}, pairs...)...)
	}
	for name, c := range map[string]struct{ first, then, want string }{
		"outside":           {"", change("L&D^LDR 4^01", "MEDSURG^998"), "outside_unit@PV1-3"},
		"no room":           {"", change("L&D^LDR 4^01", "L&D"), "location_without_room@PV1-3"},
		"a bed":             {"", change("L&D^LDR 4^01", "L&D^^01"), "bed_without_room@PV1-3"},
		"no place":          {admitted, later("A02", "L&D^LDR 4^01", ""), "location_missing@PV1-3"},
		"another place":     {admitted, later("A08", "LDR 4^01", "LDR 5^01"), "place_differs@PV1-3"},
		"no place any more": {admitted, later("A08", "L&D^LDR 4^01", `""`), "place_differs@PV1-3"},
		"from elsewhere":    {admitted, later("A02", "LDR 4^01", "LDR 5^01", "|L|||", "|L||L&D^LDR 9|"), "prior_place_differs@PV1-6"},
		"nobody leaves":     {"", later("A03"), "discharge_waiting@PV1-19"},
		"nobody is updated": {"", later("A08"), "update_waiting@PV1-19"},
		"nothing is ended":  {"", later("A12"), "cancel_waiting@EVN-6"},
		"it was canceled":   {later("A11"), admitted, "cancelled@EVN"},
		"she is there":      {admitted, later("A02"), "same_room@PV1-3"},
		"she left twice":    {later("A03"), later("A03", "0000-0600\rPID", "1500-0600\rPID"), "already_discharged@PV1-19"},
		"after she left":    {later("A03"), later("A02", "0000-0600\rPID", "1500-0600\rPID"), "transfer_after_discharge@EVN"},
	} {
		for _, several := range []bool{false, true} {
			p := newProbe(t)
			p.send(t, "fhir", "[]")
			body, want := c.then, c.want
			if several {
				body = "MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304093010-0600||ORU^R01|M0|P|2.5.1\r" + body
				want = strings.Replace(want, "@", "@messages[1].", 1)
			}
			for i, message := range []string{c.first, body} {
				if message == "" {
					continue
				}
				a := p.do(t, request("hl7", strings.NewReader(writeTree(t, map[string]string{"message": message}))))
				if a.status != 200 {
					t.Fatalf("%s: %s", name, a.raw)
				}
				if i == 1 && !strings.Contains(a.warnings(), want) {
					t.Errorf("%s: %s, want %s", name, a.warnings(), want)
				}
			}
		}
	}
}

// TestVisitIsNotItsOwnMother: if an event names its own visit as the mother's, the patient is not a newborn. The answer
// names the field.
func TestVisitIsNotItsOwnMother(t *testing.T) {
	for mother, newborn := range map[string]bool{"V1": false, "V0": true} {
		event := `{"eventType":"A01","occurredAt":"2026-03-04T15:00:00Z","visitId":"V1","motherVisitId":"` + mother + `","roomId":4}`
		for path, body := range map[string]string{"adt": event, "batch": `{"events":[` + event + `]}`} {
			d := open(t)
			a := d.post(t, path, body)
			e := d.wantApplied(t, a).Events[0]
			told := len(e.Warnings) == 1 && e.Warnings[0].Code == "field_not_used"
			if e.Newborn != newborn || (e.MotherVisit != "") != newborn || told == newborn {
				t.Errorf("%s, mother %s: newborn %v, %v", path, mother, e.Newborn, e.Warnings)
			}
		}
	}
}
