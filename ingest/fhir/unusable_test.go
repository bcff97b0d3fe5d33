package fhir

import (
	"strings"
	"testing"
)

// TestUnusableReferenceIsNamed: if a reference cannot be used, the issue names that reference rather than a missing
// subject.
func TestUnusableReferenceIsNamed(t *testing.T) {
	const condition = `{"resourceType":"Condition","id":"c","code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O14.13"}]},`
	const patient = `"subject":{"reference":"Patient/p"},`
	for body, want := range map[string]string{
		condition + `"encounter":{"reference":"Encounter/e"}}`:                                                                      "",
		condition + `"encounter":{"reference":"Encounter/e/"}}`:                                                                     "",
		condition + `"encounter":{"reference":"https://ehr.example/R4/Encounter/e//"}}`:                                             "",
		condition + `"encounter":{"reference":"Encounter/"}}`:                                                                       "error reference_unusable Condition.encounter.reference",
		condition + `"encounter":{"reference":"/"}}`:                                                                                "error reference_unusable Condition.encounter.reference",
		condition + `"encounter":{"reference":"#none"}}`:                                                                            "error reference_unusable Condition.encounter.reference",
		condition + `"encounter":{"reference":"Patient/p"}}`:                                                                        "error reference_unusable Condition.encounter.reference",
		condition + `"encounter":{"reference":"Encounter?date=2026"}}`:                                                              "error reference_unusable Condition.encounter.reference",
		condition + `"subject":{"reference":"Encounter/e"}}`:                                                                        "error reference_unusable Condition.subject.reference",
		condition + `"subject":{"display":"her"}}`:                                                                                  "error required Condition.subject",
		condition + patient + `"encounter":{"reference":"Encounter/"}}`:                                                             "warning reference_unusable Condition.encounter.reference",
		condition + patient + `"encounter":{"reference":"#none","identifier":{"value":"V"}}}`:                                       "",
		condition + `"contained":[{"resourceType":"Patient","id":"p"}],"subject":{"reference":"#p"}}`:                               "error reference_unusable Condition.subject.reference",
		condition + `"contained":[{"resourceType":"Encounter","id":"e"}],"encounter":{"reference":"#e"}}`:                           "error reference_unusable Condition.encounter.reference",
		condition + `"contained":[{"resourceType":"Patient","id":"p","identifier":[{"value":"M1"}]}],"subject":{"reference":"#p"}}`: "",
		`{"resourceType":"MedicationAdministration","id":"m","status":"in-progress",` + patient +
			`"medicationCodeableConcept":{"coding":[{"code":"6585"}]},"context":{"reference":"Encounter/"}}`: "warning reference_unusable MedicationAdministration.context.reference",
		`{"resourceType":"Encounter","id":"e","status":"in-progress","class":{"code":"IMP"},` + patient +
			`"period":{"start":"2026-03-04T09:00:00Z"},"partOf":{"reference":"Encounter/"}}`: "warning reference_unusable Encounter.partOf.reference",
	} {
		got, fault := Decode([]byte(body), options())
		if fault != nil {
			t.Fatal(fault)
		}
		var issues []string
		for _, i := range got.Issues {
			if i.Code == "reference_unusable" || i.Severity == severityError {
				issues = append(issues, i.Severity+" "+i.Code+" "+i.Expression)
			}
		}
		if all := strings.Join(issues, ", "); all != want {
			t.Errorf("%s\n got %q\nwant %q", body, all, want)
		}
	}
}
