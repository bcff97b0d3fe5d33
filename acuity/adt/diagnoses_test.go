package adt

import (
	"fmt"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/codes"
)

// formatDiagnoses lists the diagnoses of a timeline, each with the minute of its start and the minute of its newest
// statement.
func formatDiagnoses(s Timeline) string {
	var list []string
	for _, d := range s.Diagnoses {
		list = append(list, fmt.Sprintf("%s %s-%s", d.Code, since(d.Start), since(d.Last)))
	}
	return strings.Join(list, ", ")
}

func TestDiagnosesOfAVisit(t *testing.T) {
	snapshot := func(id string, kind acuity.EventType, at int, codes ...string) acuity.Event {
		return with(event(id, kind, at, "LD^1"), withCodes(acuity.DiagnosisSnapshot, codes...))
	}
	delta := func(id string, at int, code string, remove bool) acuity.Event {
		return with(event(id, acuity.A08, at, "LD^1"), func(e *acuity.Event) {
			withCodes(acuity.DiagnosisDelta, code)(e)
			e.Diagnoses[0].Delete = remove
		})
	}
	onset := func(at int) func(*acuity.Event) {
		return func(e *acuity.Event) { e.Diagnoses[0].OnsetAt = minute(at) }
	}
	for name, c := range map[string]struct {
		events []acuity.Event
		want   string
	}{
		"a snapshot":                {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3", "O24.410")}, want: "O13.3 0-0, O24.410 0-0"},
		"one code twice":            {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3", "o133")}, want: "O13.3 0-0"},
		"no diagnosis, no change":   {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), event("b", acuity.A08, 9, "")}, want: "O13.3 0-0"},
		"a repeat restarts nothing": {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), snapshot("b", acuity.A08, 9, "O133", "O15.1")}, want: "O13.3 0-9, O15.1 9-9"},
		"a snapshot replaces":       {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), snapshot("b", acuity.A08, 9, "O15.1")}, want: "O15.1 9-9"},
		"a new run after a break (D5)": {
			events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), snapshot("b", acuity.A08, 9, "O15.1"), snapshot("c", acuity.A08, 20, "O13.3")},
			want:   "O13.3 20-20",
		},
		"onset of the first message (D5)": {events: []acuity.Event{with(snapshot("a", acuity.A01, 9, "O13.3"), onset(2))}, want: "O13.3 2-9"},
		"onset of a later message is none (D5)": {
			events: []acuity.Event{snapshot("a", acuity.A01, 5, "O13.3"), with(snapshot("b", acuity.A08, 9, "O13.3"), onset(2))}, want: "O13.3 5-9",
		},
		"onset in the future is none": {events: []acuity.Event{with(snapshot("a", acuity.A01, 9, "O13.3"), onset(99))}, want: "O13.3 9-9"},
		"clear": {
			events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), with(event("b", acuity.A08, 9, ""), func(e *acuity.Event) { e.DiagnosisMode = acuity.DiagnosisClear })},
		},
		"a delta adds":                       {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), delta("b", 9, "O15.1", false)}, want: "O13.3 0-0, O15.1 9-9"},
		"a delta updates (D6)":               {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), delta("b", 9, "O13.3", false)}, want: "O13.3 0-9"},
		"a delta deletes, dots aside (D6)":   {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), delta("b", 9, "O133", true)}},
		"deleting the unknown is no-op (D6)": {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), delta("b", 9, "O15.1", true)}, want: "O13.3 0-0"},
		"another system is another key (D6)": {
			events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), with(delta("b", 9, "O13.3", true), func(e *acuity.Event) { e.Diagnoses[0].System = codes.SystemLocal })},
			want:   "O13.3 0-0",
		},
		"none on a transfer (D4)":     {events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(event("b", acuity.A02, 9, "OR^1"), withCodes(acuity.DiagnosisSnapshot, "O13.3"))}},
		"none on a discharge (D4)":    {events: []acuity.Event{with(event("a", acuity.A03, 9, ""), withCodes(acuity.DiagnosisSnapshot, "O13.3"))}},
		"none on a cancel (D4)":       {events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), with(cancel("b", acuity.A12, 9, 5, ""), withCodes(acuity.DiagnosisSnapshot, "O13.3"))}},
		"none of what is cancelled":   {events: []acuity.Event{snapshot("a", acuity.A04, 0, "O13.3"), snapshot("b", acuity.A01, 9, "O15.1"), cancel("c", acuity.A11, 12, 9, "")}, want: "O13.3 0-0"},
		"by event time, not arrival":  {events: []acuity.Event{snapshot("b", acuity.A08, 9, "O15.1"), snapshot("a", acuity.A01, 0, "O13.3")}, want: "O15.1 9-9"},
		"without code (D3)":           {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), delta("b", 9, "", false)}, want: "O13.3 0-0"},
		"they end with the discharge": {events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), event("b", acuity.A03, 9, ""), event("c", acuity.A01, 20, "LD^1")}},
		"and come back with its cancel": {
			events: []acuity.Event{snapshot("a", acuity.A01, 0, "O13.3"), event("b", acuity.A03, 9, ""), cancel("c", acuity.A13, 20, 9, "")}, want: "O13.3 0-0",
		},
		"a registration of an inpatient carries them (R11)": {events: []acuity.Event{event("a", acuity.A01, 0, "LD^1"), snapshot("b", acuity.A04, 9, "O13.3")}, want: "O13.3 9-9"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := formatDiagnoses(Build(store(c.events), Options{SameRoom: testRooms})); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestBirthOfAVisit(t *testing.T) {
	for code, want := range map[string]struct{ birth, cesarean bool }{
		"Z37.0": {birth: true}, "z371": {birth: true}, "Z37": {birth: true}, "Z38.00": {}, "Z3A.37": {},
		"O80": {}, "O82": {cesarean: true}, "O34.21": {}, "": {},
	} {
		s := Build(store([]acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), withCodes(acuity.DiagnosisSnapshot, code))}), Options{})
		if (s.Birth == minute(0)) != want.birth || (s.Birth != 0) != want.birth || s.Cesarean != want.cesarean {
			t.Errorf("%q: birth %v, cesarean %v", code, s.Birth, s.Cesarean)
		}
		s = Build(store([]acuity.Event{with(event("a", acuity.A01, 0, "LD^1"), func(e *acuity.Event) {
			withCodes(acuity.DiagnosisSnapshot, code)(e)
			e.Diagnoses[0].System = codes.SNOMED
		})}), Options{})
		if s.Birth != 0 || s.Cesarean {
			t.Errorf("%q of SNOMED CT: birth %v, cesarean %v", code, s.Birth, s.Cesarean)
		}
	}
}
