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
	const encounter = `{"resourceType":"Encounter","id":"e","status":"in-progress","class":{"code":"IMP"},` + patient + `"period":{"start":"2026-03-04T09:00:00Z"},`
	const epinephrine = `{"itemCodeableConcept":{"coding":[{"system":"http://www.nlm.nih.gov/research/umls/rxnorm","code":"3992","display":"epinephrine"}]}}`
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
		encounter + `"location":[{"location":{"reference":"Location/l"},"status":"active"}]}`:                                       "",
		encounter + `"location":[{"location":{"reference":"Room/5","display":"LDR 5"},"status":"active"}]}`:                         "",
		encounter + `"location":[{"location":{"reference":"Room/5"},"status":"planned"}]}`:                                          "",
		encounter + `"location":[{"location":{"reference":"Room/5"},"status":"active"}]}`:                                           "warning reference_unusable Encounter.location[0].location",
		encounter + `"location":[{"location":{"display":"LDR 5"}},{"location":{"reference":"#none"},"status":"active"}]}`:           "warning reference_unusable Encounter.location[1].location",
		encounter + `"location":[{"status":"active"}]}`:                                                                             "warning reference_unusable Encounter.location[0].location",
		`{"resourceType":"Location","id":"l","name":"LDR 5","partOf":{"reference":"Organization/o"}}`:                               "warning reference_unusable Location.partOf.reference",
		`{"resourceType":"Medication","id":"m","ingredient":[{"itemReference":{"reference":"#none"}},` + epinephrine + `]}`:         "warning reference_unusable Medication.ingredient",
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
