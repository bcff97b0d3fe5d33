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
