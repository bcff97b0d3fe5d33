package hospital

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/facts"
	"svc/acuity/terminology"
)

// TestTableVersion: a change with an expected table version is applied if the table has that version, and is refused
// once another change has set or removed a row. The version of one table does not apply to another table, and rules
// have no table version.
func TestTableVersion(t *testing.T) {
	u := New(testHospital)
	at := day
	do := func(o acuity.Observation) string {
		at = at.Add(1000)
		o.Hospital, o.ReceivedAt, o.Source = testHospital, at, "key_1"
		c := u.Apply(&o, 0)
		return c.Reason
	}
	version := func(places bool) int64 {
		rows := map[string]int64{}
		kind := "mapping"
		if places {
			kind = "place"
		}
		for k, row := range u.settings.Rows {
			if k.Kind == kind {
				rows[k.ID] = row.RowVersion()
			}
		}
		return facts.TableVersion(rows)
	}
	row := func(code string) acuity.Mapping {
		m := acuity.Mapping{System: "local", Code: code, Factor: factor("high-mag")}
		m.ID = terminology.MappingID(&m)
		return m
	}
	mapped := func(expect int64, rows ...acuity.Mapping) string {
		return do(acuity.Observation{Channel: acuity.ChannelTerminology, Mappings: rows, Act: &acuity.Act{Expect: expect}})
	}
	empty := version(false)
	if reason := mapped(empty, row("A"), row("B")); reason != "" {
		t.Fatalf("the first rows: %q", reason)
	}
	if reason := mapped(empty, row("C")); reason != facts.ReasonPrecondition {
		t.Errorf("rows of the empty table, which has two by now: %q", reason)
	}
	two := version(false)
	if two == empty || two < 1<<52 || two >= 1<<53 {
		t.Errorf("versions %d and %d", empty, two)
	}
	gone := row("B")
	gone.Delete = true
	if reason := mapped(two, gone); reason != "" {
		t.Errorf("a row that is removed: %q", reason)
	}
	if reason := mapped(two, row("A"), row("C")); reason != facts.ReasonPrecondition {
		t.Errorf("after a row was removed: %q", reason)
	}
	if reason := mapped(version(false), row("A"), row("C")); reason != "" {
		t.Errorf("one row that is there and a new one: %q", reason)
	}
	places := func(expect int64) string {
		return do(acuity.Observation{Channel: acuity.ChannelLocations, Locations: []acuity.Place{{PointOfCare: "ICU", Outside: true}, {PointOfCare: "OR", Outside: true}}, Act: &acuity.Act{Expect: expect}})
	}
	if reason := places(version(false)); reason != facts.ReasonPrecondition {
		t.Errorf("the version of the map for a table of locations: %q", reason)
	}
	before := version(true)
	if reason := places(before); reason != "" {
		t.Errorf("locations: %q", reason)
	}
	if reason := places(before); reason != facts.ReasonPrecondition {
		t.Errorf("locations, twice: %q", reason)
	}
	if reason := do(acuity.Observation{Channel: acuity.ChannelRules, Rules: []catalogue.Rule{{Factor: factor("high-mag"), Lines: []catalogue.RuleLine{{Name: "floor", Text: "2"}}}}, Act: &acuity.Act{Expect: facts.TableVersion(nil)}}); reason != facts.ReasonPrecondition {
		t.Errorf("a rule has no table: %q", reason)
	}
}
