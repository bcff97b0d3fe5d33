package fhir

import (
	"strings"
	"testing"
)

// TestNullInAList: a null in a list of objects is ignored. The facts are the same as without the null.
func TestNullInAList(t *testing.T) {
	for name, body := range map[string]string{
		"coding": `{"resourceType":"Observation","status":"final","subject":{"reference":"Patient/1"},"code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]},
			"valueCodeableConcept":{"coding":[null]}}`,
		"component": `{"resourceType":"Observation","status":"final","subject":{"reference":"Patient/1"},"component":[null,{"code":{"text":"MEWS"},"valueInteger":1}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			with, fault := Decode([]byte(body), options())
			without, other := Decode([]byte(strings.NewReplacer("[null]", "[]", "[null,", "[").Replace(body)), options())
			if fault != nil || other != nil {
				t.Fatal(fault, other)
			}
			if got, want := lines(with), lines(without); got != want {
				t.Errorf("with null:\n%s\nwithout:\n%s", got, want)
			}
		})
	}
}

// TestNullElement: a null element is absent. It does not replace the value of another element, whatever their order.
func TestNullElement(t *testing.T) {
	const (
		tracing   = `"resourceType":"Observation","id":"o","status":"final","subject":{"reference":"Patient/1"},"code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]}`
		component = `"resourceType":"Observation","id":"o","status":"final","subject":{"reference":"Patient/1"},"component":[{"code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]}`
		bleeding  = `"resourceType":"Condition","id":"c","subject":{"reference":"Patient/1"},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O72.1"}]}`
		infusion  = `"resourceType":"MedicationAdministration","id":"m","status":"in-progress","subject":{"reference":"Patient/1"},"medicationCodeableConcept":{"coding":[{"system":"http://www.nlm.nih.gov/research/umls/rxnorm","code":"6585"}]}`
	)
	for _, test := range []struct{ begin, stated, end string }{
		{tracing, `"valueString":"Category III"`, "}"},
		{component, `"valueString":"Category III"`, "}]}"},
		{tracing, `"valueQuantity":{"value":3}`, "}"},
		{tracing, `"valueCodeableConcept":{"text":"Category III"}`, "}"},
		{tracing, `"effectiveDateTime":"2026-03-04T09:00:00Z"`, "}"},
		{tracing, `"effectiveInstant":"2026-03-04T09:00:00Z"`, "}"},
		{bleeding, `"onsetDateTime":"2026-03-04T09:00:00Z"`, "}"},
		{bleeding, `"encounter":{"reference":"Encounter/1"}`, "}"},
		{infusion, `"context":{"reference":"Encounter/1"}`, "}"},
		{infusion, `"encounter":{"reference":"Encounter/1"}`, "}"},
		{infusion, `"effectiveDateTime":"2026-03-04T09:00:00Z"`, "}"},
	} {
		want, fault := Decode([]byte("{"+test.begin+","+test.stated+test.end), options())
		if fault != nil {
			t.Fatal(fault)
		}
		for _, element := range []string{
			"valueQuantity", "valueCodeableConcept", "valueString", "valueInteger", "valueBoolean", "valueRange", "valuePeriod", "dataAbsentReason",
			"effectiveDateTime", "effectiveInstant", "effectivePeriod", "effectiveTiming", "onsetDateTime", "onsetAge", "onsetPeriod",
			"abatementDateTime", "abatementPeriod", "abatementBoolean", "context", "encounter", "subjectOfNothing",
		} {
			if strings.Contains(test.stated, `"`+element+`"`) {
				continue
			}
			for _, both := range []string{test.stated + `,"` + element + `":null`, `"` + element + `":null,` + test.stated} {
				got, fault := Decode([]byte("{"+test.begin+","+both+test.end), options())
				if fault != nil {
					t.Fatal(fault)
				}
				if got, want := describeFacts(got, nil), describeFacts(want, nil); got != want {
					t.Errorf("%s%s\n got %s\nwant %s", test.begin, both, got, want)
				}
			}
		}
	}
}

// TestCodesBesideLocalOnes: a sender may put its own code before the standard one. The standard code counts.
func TestCodesBesideLocalOnes(t *testing.T) {
	for name, test := range map[string]struct{ body, alone, local string }{
		"the type of a visit number": {
			`{"resourceType":"Encounter","id":"e","status":"in-progress","class":{"code":"IMP"},"period":{"start":"2026-03-04T09:00:00Z"},
				"identifier":[{"value":"A1"},{"value":"VN1","type":{"coding":[@{"code":"VN"}]}}]}`, "visit(VN1)", "CSN",
		},
		"the type of a patient number": {
			`{"resourceType":"Patient","id":"p","identifier":[{"value":"A1"},{"value":"MRN1","type":{"coding":[@{"code":"MR"}]}}]}`, "patient(MRN1)", "EPI",
		},
		"the physical type of a location": {
			`{"resourceType":"Encounter","id":"e","status":"in-progress","class":{"code":"IMP"},"period":{"start":"2026-03-04T09:00:00Z"},
				"location":[{"location":{"display":"MBU"},"status":"active","physicalType":{"coding":[@{"code":"wa"}]}}]}`, `PointOfCare="MBU"`, "UNIT",
		},
		"the physical type of a Location": {
			`{"resourceType":"Location","id":"l","name":"MBU","physicalType":{"coding":[@{"code":"wa"}]}}`, `PointOfCare="MBU"`, "UNIT",
		},
		"the category of an Observation": {
			`{"resourceType":"Observation","id":"o","status":"final","subject":{"reference":"Patient/1"},"code":{"coding":[{"system":"http://loinc.org","code":"88277-2"}]},
				"valueString":"positive","category":[{"coding":[@{"code":"laboratory"}]}]}`, "Kind=lab", "LAB",
		},
	} {
		want, fault := Decode([]byte(strings.Replace(test.body, "@", "", 1)), options())
		if fault != nil || !strings.Contains(describeFacts(want, nil), test.alone) {
			t.Fatal(name, fault, describeFacts(want, nil))
		}
		for _, local := range []string{`{"system":"urn:ehr","code":"` + test.local + `"},`, `{"display":"x"},`} {
			found, fault := Decode([]byte(strings.Replace(test.body, "@", local, 1)), options())
			if got, want := describeFacts(found, fault), describeFacts(want, nil); got != want {
				t.Errorf("%s\n got %s\nwant %s", name, got, want)
			}
		}
	}
}
