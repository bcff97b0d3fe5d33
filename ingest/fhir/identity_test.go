package fhir

import (
	"fmt"
	"testing"

	"svc/acuity"
)

// placed decodes a transaction with a Patient, an Encounter, and a Condition that refers only to
// the patient. The resources refer to each other by placeholders.
func placed(t *testing.T, patient, encounter, start, number string) (acuity.Event, acuity.Signal) {
	t.Helper()
	facts, fault := Decode(fmt.Appendf(nil, `{"resourceType":"Bundle","type":"transaction","entry":[
		{"fullUrl":"urn:uuid:%[1]s","resource":{"resourceType":"Patient","birthDate":"1994-02-11"%[4]s}},
		{"fullUrl":"urn:uuid:%[2]s","resource":{"resourceType":"Encounter","status":"in-progress","class":{"code":"IMP"},"subject":{"reference":"urn:uuid:%[1]s"},
			"period":{"start":"%[3]s"},"location":[{"location":{"display":"LDR04"}}]}},
		{"fullUrl":"urn:uuid:c","resource":{"resourceType":"Condition","code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O14.13"}]},"subject":{"reference":"urn:uuid:%[1]s"}}}]}`,
		patient, encounter, start, number), options())
	if fault != nil {
		t.Fatal(fault)
	}
	if len(facts.Events) != 1 || len(facts.Signals) != 1 {
		t.Fatalf("%d events, %d signals", len(facts.Events), len(facts.Signals))
	}
	return facts.Events[0], facts.Signals[0]
}

// TestPlaceholdersThatAreNoUUID: some senders use the same placeholder for a different patient in each body. Facts
// about one patient must never be applied to another patient's visit.
func TestPlaceholdersThatAreNoUUID(t *testing.T) {
	const morning, noon = "2026-03-04T09:00:00-06:00", "2026-03-04T12:00:00-06:00"
	first, firstSaid := placed(t, "patient", "1", morning, "")
	second, secondSaid := placed(t, "patient", "1", noon, "")
	if first.Visit == second.Visit || first.Patient == second.Patient || firstSaid.Patient == secondSaid.Patient {
		t.Errorf("one visit, or one patient, of two:\n%+v\n%+v", first, second)
	}
	if first.Visit == "" || first.Patient == "" || first.Patient != firstSaid.Patient {
		t.Errorf("in one body they call each other:\n%+v\n%+v", first, firstSaid)
	}
	if again, said := placed(t, "patient", "1", morning, ""); again.Visit != first.Visit || again.Patient != first.Patient || said.Patient != firstSaid.Patient {
		t.Errorf("the same body again is another:\n%+v\n%+v", first, again)
	}
	const number = `,"identifier":[{"value":"MRN1"}]`
	if a, b := must(placed(t, "patient", "1", morning, number)), must(placed(t, "p", "e", morning, number)); a.Visit != b.Visit {
		t.Errorf("what an Encounter is about names it:\n%+v\n%+v", a, b)
	}
	const uuid, other = "88f151c0-a954-468a-88bd-5ae15c08e059", "61EBE359-bfdc-4613-8bf2-c5e300945f0a"
	if a, b := must(placed(t, uuid, other, morning, "")), must(placed(t, uuid, other, noon, "")); a.Visit != b.Visit || a.Patient != b.Patient {
		t.Errorf("a UUID means the same everywhere:\n%+v\n%+v", a, b)
	}
}

func must(e acuity.Event, _ acuity.Signal) acuity.Event { return e }
