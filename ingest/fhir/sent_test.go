package fhir

import "testing"

// TestStatementsWithoutAnID: a Condition, Observation or MedicationAdministration without an id has the same
// identity, however it refers to its visit or patient, and whether or not the body contains the resources to which it
// refers.
func TestStatementsWithoutAnID(t *testing.T) {
	const (
		visit   = `{"resource":{"resourceType":"Encounter","id":"e1","status":"in-progress","class":{"code":"IMP"},"identifier":[{"value":"VQ9"}],"subject":{"reference":"Patient/p1"}}},`
		patient = `{"resource":{"resourceType":"Patient","id":"p1","identifier":[{"value":"MRN9"}]}},`
		drug    = `{"resource":{"resourceType":"Medication","id":"m1","code":{"coding":[{"code":"6585"}]}}},`
	)
	about := map[string]string{
		"relative":    `"encounter":{"reference":"Encounter/e1"}`,
		"absolute":    `"encounter":{"reference":"http://server.example/fhir/Encounter/e1"}`,
		"a version":   `"encounter":{"reference":"Encounter/e1/_history/2"}`,
		"conditional": `"encounter":{"reference":"Encounter?identifier=http://x|VQ9"}`,
		"logical":     `"encounter":{"identifier":{"value":"VQ9"}}`,
		"a patient":   `"subject":{"reference":"Patient/p1"}`,
		"both":        `"encounter":{"reference":"Encounter/e1"},"subject":{"reference":"Patient/p1"}`,
	}
	for kind, rest := range map[string]string{
		"Condition":                `"clinicalStatus":{"coding":[{"code":"active"}]},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O72.1"}]}`,
		"Observation":              `"status":"final","code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]},"effectiveDateTime":"2026-03-04T14:00:00Z"`,
		"MedicationAdministration": `"status":"in-progress","medicationReference":{"reference":"Medication/m1"},"effectivePeriod":{"start":"2026-03-04T14:00:00Z"}`,
	} {
		seen := map[string]string{}
		for name, ref := range about {
			alone := `{"resourceType":"` + kind + `",` + ref + `,` + rest + `}`
			of := func(body string) string {
				facts, fault := Decode([]byte(body), options())
				if fault != nil || len(facts.Signals) != 1 {
					t.Fatalf("%s, %s: %v %+v", kind, name, fault, facts)
				}
				return facts.Signals[0].Resource
			}
			want := of(alone)
			if got := of(`{"resourceType":"Bundle","type":"collection","entry":[` + visit + patient + drug + `{"resource":` + alone + `}]}`); got != want {
				t.Errorf("%s, %s: another one in a Bundle", kind, name)
			}
			seen[name] = want
		}
		for name, one := range seen {
			if one != seen["relative"] {
				t.Errorf("%s, %s: another one", kind, name)
			}
		}
	}
}
