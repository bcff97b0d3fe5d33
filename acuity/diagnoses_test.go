package acuity

import (
	"fmt"
	"strings"
	"testing"

	"svc/acuity/codes"
)

// standing lists the diagnoses of a timeline with the minutes of start and newest
// statement.
func standing(s timeline) string {
	var list []string
	for _, d := range s.diagnoses {
		list = append(list, fmt.Sprintf("%s %s-%s", d.Code, since(d.Start), since(d.Last)))
	}
	return strings.Join(list, ", ")
}

func TestDiagnosesOfAVisit(t *testing.T) {
	snapshot := func(id string, kind EventType, at int, codes ...string) Event {
		return with(adt(id, kind, at, "LD^1"), withCodes(DiagnosisSnapshot, codes...))
	}
	delta := func(id string, at int, code string, remove bool) Event {
		return with(adt(id, A08, at, "LD^1"), func(e *Event) {
			withCodes(DiagnosisDelta, code)(e)
			e.Diagnoses[0].Delete = remove
		})
	}
	onset := func(at int) func(*Event) {
		return func(e *Event) { e.Diagnoses[0].OnsetAt = minute(at) }
	}
	for name, c := range map[string]struct {
		events []Event
		want   string
	}{
		"a snapshot":                {events: []Event{snapshot("a", A01, 0, "O13.3", "O24.410")}, want: "O13.3 0-0, O24.410 0-0"},
		"one code twice":            {events: []Event{snapshot("a", A01, 0, "O13.3", "o133")}, want: "O13.3 0-0"},
		"no diagnosis, no change":   {events: []Event{snapshot("a", A01, 0, "O13.3"), adt("b", A08, 9, "")}, want: "O13.3 0-0"},
		"a repeat restarts nothing": {events: []Event{snapshot("a", A01, 0, "O13.3"), snapshot("b", A08, 9, "O133", "O15.1")}, want: "O13.3 0-9, O15.1 9-9"},
		"a snapshot replaces":       {events: []Event{snapshot("a", A01, 0, "O13.3"), snapshot("b", A08, 9, "O15.1")}, want: "O15.1 9-9"},
		"a new run after a break (D5)": {
			events: []Event{snapshot("a", A01, 0, "O13.3"), snapshot("b", A08, 9, "O15.1"), snapshot("c", A08, 20, "O13.3")},
			want:   "O13.3 20-20",
		},
		"onset of the first message (D5)": {events: []Event{with(snapshot("a", A01, 9, "O13.3"), onset(2))}, want: "O13.3 2-9"},
		"onset of a later message is none (D5)": {
			events: []Event{snapshot("a", A01, 5, "O13.3"), with(snapshot("b", A08, 9, "O13.3"), onset(2))}, want: "O13.3 5-9",
		},
		"onset in the future is none": {events: []Event{with(snapshot("a", A01, 9, "O13.3"), onset(99))}, want: "O13.3 9-9"},
		"clear": {
			events: []Event{snapshot("a", A01, 0, "O13.3"), with(adt("b", A08, 9, ""), func(e *Event) { e.DiagnosisMode = DiagnosisClear })},
		},
		"a delta adds":                       {events: []Event{snapshot("a", A01, 0, "O13.3"), delta("b", 9, "O15.1", false)}, want: "O13.3 0-0, O15.1 9-9"},
		"a delta updates (D6)":               {events: []Event{snapshot("a", A01, 0, "O13.3"), delta("b", 9, "O13.3", false)}, want: "O13.3 0-9"},
		"a delta deletes, dots aside (D6)":   {events: []Event{snapshot("a", A01, 0, "O13.3"), delta("b", 9, "O133", true)}},
		"deleting the unknown is no-op (D6)": {events: []Event{snapshot("a", A01, 0, "O13.3"), delta("b", 9, "O15.1", true)}, want: "O13.3 0-0"},
		"another system is another key (D6)": {
			events: []Event{snapshot("a", A01, 0, "O13.3"), with(delta("b", 9, "O13.3", true), func(e *Event) { e.Diagnoses[0].System = codes.SystemLocal })},
			want:   "O13.3 0-0",
		},
		"none on a transfer (D4)":     {events: []Event{adt("a", A01, 0, "LD^1"), with(adt("b", A02, 9, "OR^1"), withCodes(DiagnosisSnapshot, "O13.3"))}},
		"none on a discharge (D4)":    {events: []Event{with(adt("a", A03, 9, ""), withCodes(DiagnosisSnapshot, "O13.3"))}},
		"none on a cancel (D4)":       {events: []Event{adt("a", A01, 0, "LD^1"), with(cancel("b", A12, 9, 5, ""), withCodes(DiagnosisSnapshot, "O13.3"))}},
		"none of what is cancelled":   {events: []Event{snapshot("a", A04, 0, "O13.3"), snapshot("b", A01, 9, "O15.1"), cancel("c", A11, 12, 9, "")}, want: "O13.3 0-0"},
		"by event time, not arrival":  {events: []Event{snapshot("b", A08, 9, "O15.1"), snapshot("a", A01, 0, "O13.3")}, want: "O15.1 9-9"},
		"without code (D3)":           {events: []Event{snapshot("a", A01, 0, "O13.3"), delta("b", 9, "", false)}, want: "O13.3 0-0"},
		"they end with the discharge": {events: []Event{snapshot("a", A01, 0, "O13.3"), adt("b", A03, 9, ""), adt("c", A01, 20, "LD^1")}},
		"and come back with its cancel": {
			events: []Event{snapshot("a", A01, 0, "O13.3"), adt("b", A03, 9, ""), cancel("c", A13, 20, 9, "")}, want: "O13.3 0-0",
		},
		"a registration of an inpatient carries them (R11)": {events: []Event{adt("a", A01, 0, "LD^1"), snapshot("b", A04, 9, "O13.3")}, want: "O13.3 9-9"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := standing(buildTimeline(kept(c.events), timelineOptions{SameRoom: testRooms})); got != c.want {
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
		s := buildTimeline(kept([]Event{with(adt("a", A01, 0, "LD^1"), withCodes(DiagnosisSnapshot, code))}), timelineOptions{})
		if (s.birth == minute(0)) != want.birth || (s.birth != 0) != want.birth || s.cesarean != want.cesarean {
			t.Errorf("%q: birth %v, cesarean %v", code, s.birth, s.cesarean)
		}
		s = buildTimeline(kept([]Event{with(adt("a", A01, 0, "LD^1"), func(e *Event) {
			withCodes(DiagnosisSnapshot, code)(e)
			e.Diagnoses[0].System = codes.SNOMED
		})}), timelineOptions{})
		if s.birth != 0 || s.cesarean {
			t.Errorf("%q of SNOMED CT: birth %v, cesarean %v", code, s.birth, s.cesarean)
		}
	}
}
