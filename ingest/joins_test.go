package ingest_test

import (
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/hospital/hospitaltest"
)

// TestNamesOfOneVisit: if the messages about one visit identify it in different ways, svc joins them into one visit,
// in any order of arrival. At the end of each case, at most one room is occupied, and no patient is without a room.
func TestNamesOfOneVisit(t *testing.T) {
	stay := func(status, id, more string) string {
		return `{"resourceType":"Encounter","id":"` + id + `","status":"` + status + `","class":{"code":"IMP"},"subject":{"reference":"Patient/p1"}` + more + `}`
	}
	const (
		number = `,"identifier":[{"type":{"coding":[{"code":"VN"}]},"value":"VN1"}]`
		begins = `,"period":{"start":"2026-03-04T08:00:00Z"}`
		ends   = `,"period":{"start":"2026-03-04T08:00:00Z","end":"2026-03-04T10:00:00Z"}`
		inRoom = `,"period":{"start":"2026-03-04T09:00:00Z"},"location":[{"location":{"display":"L1"},"status":"active","physicalType":{"coding":[{"code":"ro"}]}}]`
		part   = `,"partOf":{"reference":"Encounter/whole"}`
		byNo   = `,"partOf":{"identifier":{"value":"VN1"}}`
		bleeds = `{"resourceType":"Condition","id":"c1","clinicalStatus":{"coding":[{"code":"active"}]},"encounter":{"reference":"Encounter/whole"},` +
			`"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O72.1"}]}}`
		dg1 = "DG1|1||O72.1^Immediate postpartum hemorrhage^I10"
	)
	alone := func(message string) string { return strings.Replace(message, "VN1", "", 1) }
	account := func(message string) string {
		return strings.Replace(message, "PID|1||MRN1^^^STMARY^MR", "PID|1||MRN1^^^STMARY^MR"+strings.Repeat("|", 15)+"ACC1", 1)
	}
	babys := func(message string) string { return strings.Replace(alone(account(message)), "MRN1", "MRN2", 1) }
	a01 := adt("A01", "0810", "", "LDR^L1", "I")
	tests := map[string]struct {
		say  []string
		open bool
		ill  bool
	}{
		"a condition on the whole stay":       {[]string{stay("in-progress", "whole", number+begins), stay("in-progress", "part", inRoom+part), bleeds}, true, true},
		"a part of the number":                {[]string{stay("in-progress", "whole", number+begins), stay("in-progress", "part", inRoom+byNo), bleeds}, true, true},
		"the end of the whole":                {[]string{stay("finished", "whole", number+ends), stay("in-progress", "part", inRoom+part), bleeds}, false, false},
		"an update without a visit number":    {[]string{a01, alone(adt("A08", "0900", "", "LDR^L1", "I", dg1))}, true, true},
		"a transfer without a visit number":   {[]string{adt("A01", "0810", "", "LDR^L2", "I"), alone(adt("A02", "0900", "", "LDR^L1", "I"))}, true, false},
		"a discharge without a visit number":  {[]string{a01, alone(adt("A03", "0900", "", "LDR^L1", "I"))}, false, false},
		"its cancel without a visit number":   {[]string{a01, alone(adt("A03", "0900", "", "LDR^L1", "I")), alone(adt("A13", "0930", "20260304090000", "LDR^L1", "I"))}, true, false},
		"never a visit number":                {[]string{alone(a01), alone(adt("A08", "0900", "", "LDR^L1", "I", dg1))}, true, true},
		"an account beside the number":        {[]string{alone(account(a01)), account(adt("A08", "0900", "", "LDR^L1", "I", dg1)), adt("A02", "0910", "", "LDR^L2", "I")}, true, true},
		"a discharge by the account":          {[]string{account(a01), alone(account(adt("A03", "0900", "", "LDR^L1", "I")))}, false, false},
		"a baby's discharge with the account": {[]string{account(a01), babys(adt("A03", "0900", "", "LDR^L1", "I"))}, true, false},
	}
	hemorrhage, _ := catalogue.FactorByID("high-hemorrhage")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var list []acuity.Observation
			for _, text := range tt.say {
				list = append(list, decoded(t, text))
			}
			for range len(list) {
				for range 2 {
					slices.Reverse(list)
					f := hospitaltest.Fold(list, evening)
					occupied, ill := 0, false
					for i := range f.Verdict.Rooms {
						if r := &f.Verdict.Rooms[i]; r.Demand > 0 {
							occupied++
							ill = ill || r.Has(hemorrhage)
						}
					}
					if want := map[bool]int{true: 1}[tt.open]; occupied != want || ill != tt.ill || f.Chart.Unit.Unplaced != 0 {
						t.Errorf("%d rooms occupied, hemorrhage %v, %d without a room", occupied, ill, f.Chart.Unit.Unplaced)
					}
				}
				list = append(list[1:], list[0])
			}
		})
	}
}
