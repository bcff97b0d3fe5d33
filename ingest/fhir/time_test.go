package fhir

import (
	"slices"
	"testing"
	"time"

	"svc/acuity"
)

// A leap second is the first second of the next day; no other minute has one.
func TestLeapSecond(t *testing.T) {
	newYear := acuity.At(time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC))
	for text, want := range map[string]acuity.Instant{
		"2016-12-31T23:59:60Z":      newYear,
		"2016-12-31T23:59:60.25Z":   newYear + 250,
		"2017-01-01T05:29:60+05:30": newYear,
		"2016-12-31T17:59:60":       newYear, // in the zone of the hospital
		"2016-12-31T22:59:60Z":      0,
		"2016-12-31T23:59:60-06:00": 0,
		"2016-12-31T23:59:61Z":      0,
	} {
		body := `{"resourceType":"Observation","status":"final","subject":{"reference":"Patient/1"},"code":{"coding":[{"code":"1"}]},"effectiveDateTime":"` + text + `"}`
		o := options()
		o.Zone = time.FixedZone("", -6*3600)
		facts, fault := Decode([]byte(body), o)
		if fault != nil || len(facts.Signals) != 1 {
			t.Fatalf("%s: %v", text, fault)
		}
		if got := facts.Signals[0].ObservedAt; got != want {
			t.Errorf("%s: got %v, want %v", text, got.Time(), want.Time())
		}
		if unreadable := slices.ContainsFunc(facts.Issues, func(i Issue) bool { return i.Code == "time_unreadable" }); unreadable != (want == 0) {
			t.Errorf("%s: issues %v", text, facts.Issues)
		}
	}
}
