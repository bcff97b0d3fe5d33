package fhir

import (
	"slices"
	"testing"
	"time"

	"svc/acuity"
)

// TestLeapSecond: a leap second is read as the second that follows it. In any other minute, second 60 is invalid.
func TestLeapSecond(t *testing.T) {
	newYear := acuity.At(time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC))
	for text, want := range map[string]acuity.Instant{
		"2016-12-31T23:59:60Z":      newYear,
		"2016-12-31T23:59:60.25Z":   newYear + 250,
		"2017-01-01T05:29:60+05:30": newYear,
		"2016-12-31T17:59:60":       newYear, // in the hospital's time zone
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

// TestPlacesOfOneDayKeepTheirOrder: if all locations of an Encounter have the same date and no time of day, the moves
// have the order of the locations in the Encounter.
func TestPlacesOfOneDayKeepTheirOrder(t *testing.T) {
	place := func(name, more string) string {
		return `{"location":{"display":"` + name + `"},"status":"` + more + `","period":{"start":"2026-03-04"}}`
	}
	body := `{"resourceType":"Encounter","id":"e","meta":{"lastUpdated":"2026-03-04T15:00:00Z"},"status":"finished","class":{"code":"IMP"},
"subject":{"reference":"Patient/1"},"period":{"start":"2026-03-04","end":"2026-03-04"},
"location":[` + place("Z", "completed") + "," + place("M", "completed") + "," + place("A", "active") + `]}`
	o := options()
	o.Zone, o.ReceivedAt = time.UTC, acuity.At(time.Date(2026, 3, 4, 15, 1, 0, 0, time.UTC))
	facts, fault := Decode([]byte(body), o)
	if fault != nil || len(facts.Events) != 4 {
		t.Fatalf("%v: %+v", fault, facts)
	}
	places := ""
	for i := range facts.Events {
		e := &facts.Events[i]
		if places += e.Place.Room; i > 0 && e.Type == acuity.A02 && e.At <= facts.Events[i-1].At {
			t.Errorf("move %d at %v, after one at %v", i, e.At, facts.Events[i-1].At)
		}
	}
	if end := facts.Events[3]; places != "ZMA" || end.Type != acuity.A03 || end.At < facts.Events[2].At {
		t.Errorf("places %s, end %+v", places, end)
	}
}
