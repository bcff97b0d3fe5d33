package fhir

import (
	"strings"
	"testing"
)

// TestOddButLegal: values that are legal but unusual are read or reported.
func TestOddButLegal(t *testing.T) {
	const about = `"subject":{"reference":"Patient/1"}`
	observation := func(more string) string {
		return `{"resourceType":"Observation","id":"o","status":"final",` + about + `,"code":{"coding":[{"system":"http://loinc.org","code":"88277-2"}]},` + more + `}`
	}
	encounter := func(more string) string {
		return `{"resourceType":"Encounter","id":"e","status":"in-progress","class":{"code":"IMP"},` + about + `,"period":{"start":"2026-03-04T08:00:00Z"},` + more + `}`
	}
	for name, c := range map[string]struct {
		body   string
		ok     func(*Facts) bool
		issues string
	}{
		"second interpretation": {
			observation(`"interpretation":[{"text":"see note"},{"coding":[{"code":"X"}]},{"coding":[{"code":"POS"}]}]`),
			func(f *Facts) bool { return f.Signals[0].Value.Words != "" }, "",
		},
		"unreadable end of a period": {
			observation(`"valueString":"positive","effectivePeriod":{"start":"2026-03-04T08:00:00Z","end":"yesterday"}`),
			func(f *Facts) bool { return len(f.Signals) == 1 }, "time_unreadable@Observation.effective.end",
		},
		"unreadable end of a location": {
			encounter(`"location":[{"location":{"display":"LDR 4"},"period":{"start":"2026-03-04T08:00:00Z","end":"soon"}}]`),
			func(f *Facts) bool { return f.Events[0].Place.Room == "LDR 4" }, "time_unreadable@Encounter.location[0].period.end",
		},
		"end of an active location": {
			encounter(`"location":[{"location":{"display":"LDR 4"},"status":"active","period":{"start":"2026-03-04T08:00:00Z","end":"2026-03-04T09:00:00Z"}}]`),
			func(f *Facts) bool { return f.Events[0].Place.Room == "LDR 4" }, "end_not_used@Encounter.location[0].period.end",
		},
		"end of an active location that is finished": {
			strings.Replace(encounter(`"location":[{"location":{"display":"LDR 4"},"status":"active","period":{"start":"2026-03-04T08:00:00Z","end":"2026-03-04T09:00:00Z"}}]`),
				`"in-progress"`, `"finished"`, 1),
			func(f *Facts) bool { return len(f.Events) == 2 }, "event_time_missing@Encounter.period.end",
		},
		"planned end of a location": {
			encounter(`"location":[{"location":{"display":"LDR 4"},"period":{"start":"2026-03-04T08:00:00Z"}},
				{"location":{"display":"MBU 7"},"period":{"start":"2026-03-04T09:00:00Z","end":"2026-03-09T09:00:00Z"}}]`),
			func(f *Facts) bool { return f.Events[len(f.Events)-1].Place.Room == "MBU 7" }, "",
		},
		"end of a location by a fast clock": {
			encounter(`"location":[{"location":{"display":"LDR 4"},"period":{"start":"2026-03-04T08:00:00Z"}},
				{"location":{"display":"MBU 7"},"period":{"start":"2026-03-04T09:00:00Z","end":"2026-03-04T15:33:00Z"}}]`),
			func(f *Facts) bool { return f.Events[len(f.Events)-1].Place.Room == "LDR 4" }, "",
		},
		"end of an active location by a fast clock": {
			encounter(`"location":[{"location":{"display":"LDR 4"},"status":"active","period":{"start":"2026-03-04T08:00:00Z","end":"2026-03-04T15:33:00Z"}}]`),
			func(f *Facts) bool { return f.Events[0].Place.Room == "LDR 4" }, "end_not_used@Encounter.location[0].period.end",
		},
		"end of a completed location in the future": {
			encounter(`"location":[{"location":{"display":"LDR 4"},"status":"active","period":{"start":"2026-03-04T08:00:00Z"}},
				{"location":{"display":"OR 2"},"status":"completed","period":{"start":"2026-03-04T09:00:00Z","end":"2026-03-09T09:00:00Z"}}]`),
			func(f *Facts) bool {
				return len(f.Events) == 3 && f.Events[1].Place.Room == "OR 2" && f.Events[2].Place.Room == "LDR 4"
			}, "time_in_future@Encounter.location[1].period.end",
		},
		"ward by its name": {
			encounter(`"location":[{"location":{"display":"Labor"},"physicalType":{"text":"Ward"}},{"location":{"display":"4"},"physicalType":{"coding":[{"code":"X"}],"text":"room"}}]`),
			func(f *Facts) bool { return f.Events[0].Place.PointOfCare == "Labor" && f.Events[0].Place.Room == "4" }, "",
		},
		"ward in upper case": {
			encounter(`"location":[{"location":{"display":"Labor"},"physicalType":{"coding":[{"code":"WA"}]}}]`),
			func(f *Facts) bool { return f.Events[0].Place.PointOfCare == "Labor" && f.Events[0].Place.Room == "" }, "",
		},
		"code system with https": {
			strings.Replace(observation(`"valueString":"positive"`), "http://loinc.org", "https://loinc.org/", 1),
			func(f *Facts) bool { return f.Signals[0].System == "LOINC" }, "",
		},
		"unreadable birth date": {
			`{"resourceType":"Bundle","type":"batch","entry":[{"resource":{"resourceType":"Patient","id":"1","birthDate":"04.03.2026"}},{"resource":` + encounter(`"priority":{}`) + `}]}`,
			func(f *Facts) bool { return !f.Events[0].Newborn }, "time_unreadable@Bundle.entry[0].resource.birthDate",
		},
		"account alone": {
			encounter(`"identifier":[{"type":{"coding":[{"code":"AN"}],"text":"Account"},"value":"A1"}]`),
			func(f *Facts) bool {
				return f.Events[0].Account == "visit(A1)" && f.Events[0].Visit == "visit(Encounter/e)" && f.Events[0].Encounter == ""
			}, "",
		},
		"account by its text": {
			encounter(`"identifier":[{"type":{"text":"Account Number"},"value":"A1"}]`),
			func(f *Facts) bool { return f.Events[0].Account == "visit(A1)" }, "",
		},
		"account and visit number": {
			encounter(`"identifier":[{"type":{"coding":[{"code":"AN"}]},"value":"A1"},{"type":{"coding":[{"code":"VN"}]},"value":"V1"}]`),
			func(f *Facts) bool { return f.Events[0].Account == "" && f.Events[0].Visit == "visit(V1)" }, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts, fault := Decode([]byte(c.body), options())
			if fault != nil {
				t.Fatal(fault)
			}
			if !c.ok(facts) {
				t.Errorf("%+v %+v", facts.Events, facts.Signals)
			}
			if got := shown(facts.Issues); got != c.issues {
				t.Errorf("issues %q, want %q", got, c.issues)
			}
		})
	}
}

func shown(issues []Issue) string {
	var all []string
	for _, i := range issues {
		all = append(all, i.Code+"@"+i.Expression)
	}
	return strings.Join(all, " ")
}
