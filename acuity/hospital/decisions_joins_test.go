package hospital_test

import (
	"fmt"
	"slices"
	"testing"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/hospital/hospitaltest"
	"svc/acuity/score"
)

// partOf makes the Encounter of an observation a part of another Encounter.
func partOf(whole string, o acuity.Observation) acuity.Observation {
	for i := range o.Events {
		o.Events[i].MotherVisit = whole
	}
	return o
}

// of sets the patient of the Encounter in an observation.
func of(patient string, o acuity.Observation) acuity.Observation {
	for i := range o.Events {
		e := &o.Events[i]
		e.Patient, e.Subject = patient, "ref "+patient
	}
	return o
}

// joined is a list of observations, with the state that the test expects after them in any order.
type joined struct {
	say      []acuity.Observation
	want     string // expected state at 60 min
	unplaced int32
}

// orders calls f with each permutation of a list, or with 120 of them if there are more.
func orders(list []acuity.Observation, f func([]acuity.Observation)) {
	count := 0
	var permute func(n int)
	permute = func(n int) {
		if count == 120 {
			return
		}
		if n == 1 {
			count++
			f(slices.Clone(list))
			return
		}
		for i := range n {
			permute(n - 1)
			j := 0
			if n%2 == 0 {
				j = i
			}
			list[j], list[n-1] = list[n-1], list[j]
		}
	}
	permute(len(list))
}

// If senders use several identifiers for one visit, svc joins the events into one visit, in any order of arrival and
// after a restart.
func TestDecisionsJoins(t *testing.T) {
	stay := func(to float64, steps ...acuity.Observation) acuity.Observation { // an Encounter E without a location
		steps = append(list(message(0, acuity.A01, "class=I")), steps...)
		if to > 0 {
			steps = append(steps, message(to, acuity.A03))
		}
		return encounter(50, "E", 50, steps...)
	}
	in := func(id string, from, to float64, place string) acuity.Observation { // a part of E in a location
		v := "v=v " + id
		steps := list(message(from, acuity.A01, v, "class=I", place))
		if to > 0 {
			steps = append(steps, message(to, acuity.A03, v))
		}
		return partOf("ref E", encounter(50, id, 50, steps...))
	}
	const (
		inA, inB, inOR = "<LDR:A> 60 labor-standard/0", "<LDR:B> 60 labor-standard/0", "<OBOR:1> 120 csection-intraop/2"
		ill            = "<LDR:A> 60 high-preeclampsia/3 labor-standard/0"
	)
	admit := message(0, acuity.A01, "p=p1", "LDR:A", "class=I")
	mother := message(0, acuity.A01, "v=v1", "p=p1", "account=acc", "MBU:3", "class=I", "pp-couplet")
	baby := message(10, acuity.A01, "v=b1", "p=p2", "account=acc", "MBU:3", "class=N")
	rows := map[string]joined{
		"a part has the place, the whole the condition": {
			say: list(stay(0), in("P", 10, 0, "LDR:A"), resources(50, condition("O14.13").of("c", 50).in("ref E"))), want: ill,
		},
		"a condition of the part": {
			say: list(stay(0), in("P", 10, 0, "LDR:A"), resources(50, condition("O14.13").of("c", 50).in("ref P"))), want: ill,
		},
		"a whole that is never sent": {
			say: list(in("P", 10, 0, "LDR:A"), in("Q", 5, 0, "LDR:B"), resources(50, condition("O14.13").of("c", 50).in("ref E"))), want: ill,
		},
		"the newest part in progress has the place": {
			say: list(stay(0), in("P", 10, 20, "LDR:A"), in("Q", 20, 0, "OBOR:1")), want: inOR,
		},
		"a part that ends gives the place back to another": {
			say: list(stay(0), in("P", 10, 0, "LDR:A"), in("Q", 20, 30, "OBOR:1")), want: inA,
		},
		"and to the whole": {
			say: list(encounter(50, "E", 50, message(0, acuity.A01, "LDR:A", "class=I")), in("Q", 20, 30, "OBOR:1")), want: inA,
		},
		"a part is where she is, the whole says less": {
			say: list(encounter(50, "E", 50, message(0, acuity.A01, "LDR:B", "class=I"), message(15, acuity.A02, "MBU:3")), in("P", 10, 0, "LDR:A")), want: inA,
		},
		"without a part in progress she stays": {
			say: list(stay(0), in("P", 10, 20, "LDR:A")), want: inA,
		},
		"the end of the whole is the end": {
			say: list(stay(30), in("P", 10, 0, "LDR:A"), in("Q", 40, 0, "LDR:B")),
		},
		"without a whole the last part ends it": {
			say: list(in("P", 10, 20, "LDR:A"), in("Q", 15, 30, "LDR:B")),
		},
		"without a whole one part goes on": {
			say: list(in("P", 10, 40, "LDR:A"), in("Q", 15, 0, "LDR:B"), in("R", 20, 30, "OBOR:1")), want: inB,
		},
		"a gap between two parts": {
			say: list(in("P", 10, 20, "LDR:A"), in("Q", 30, 0, "LDR:A")), want: inA,
		},
		"parts of parts": {
			say: list(stay(0), in("P", 5, 0, "LDR:B"), partOf("ref P", encounter(50, "Q", 50, message(10, acuity.A01, "v=v Q", "class=I", "LDR:A"))),
				partOf("v Q", encounter(50, "R", 50, message(12, acuity.A01, "v=v R", "class=I"))), resources(50, condition("O14.13").of("c", 50).in("ref E"))),
			want: ill,
		},
		"a part of an HL7 visit, by its number": {
			say:  list(message(0, acuity.A01, "p=p1", "LDR:B", "class=I", "O14.13"), partOf("v1", encounter(50, "P", 50, message(10, acuity.A01, "v=v P", "class=I", "LDR:A")))),
			want: ill,
		},
		"whose discharge by HL7 is the end": {
			say: list(message(0, acuity.A01, "p=p1", "LDR:B", "class=I"), partOf("v1", encounter(50, "P", 50, message(10, acuity.A01, "v=v P", "class=I", "LDR:A"))), message(30, acuity.A03, "p=p1")),
		},
		"and whose later transfer counts": {
			say:  list(message(0, acuity.A01, "p=p1", "LDR:B", "class=I"), partOf("v1", encounter(50, "P", 50, message(10, acuity.A01, "v=v P", "class=I", "OBOR:1"))), message(30, acuity.A02, "p=p1", "LDR:A")),
			want: inA,
		},
		"parts with the number of the whole": {
			say: list(stay(0), partOf("v1", encounter(50, "P", 50, message(10, acuity.A01, "class=I", "OBOR:1"), message(20, acuity.A03))),
				partOf("v1", encounter(50, "Q", 50, message(20, acuity.A01, "class=I", "LDR:A")))),
			want: inA,
		},
		"a circle is one visit": {
			say:  list(partOf("ref P", encounter(50, "E", 50, message(0, acuity.A01, "class=I"))), in("P", 10, 0, "LDR:A")),
			want: inA,
		},
		"a newborn's part is that of her newborn": {
			say:  list(encounter(50, "E", 50, message(0, acuity.A01, "class=I", "MBU:3", "pp-couplet")), of("p2", in("P", 40, 0, "MBU:3"))),
			want: "<MBU:3> 80 nb-stabilization/1 pp-couplet/0",
		},
		"whose discharge leaves the mother": {
			say:  list(encounter(50, "E", 50, message(0, acuity.A01, "class=I", "MBU:3", "pp-couplet")), of("p2", in("P", 40, 45, "MBU:3"))),
			want: "<MBU:3> 20 pp-couplet/0",
		},
		"a correction that is no part separates": {
			say: list(stay(0), in("P", 10, 0, "LDR:A"), encounter(51, "P", 51, message(10, acuity.A01, "v=v P", "class=I", "LDR:A"))), want: inA, unplaced: 1,
		},
		"the patient alone: an update": {
			say: list(admit, message(10, acuity.A08, "p=p1", "alone", "O14.13")), want: ill,
		},
		"the patient alone: transfers and an update": {
			say: list(admit, message(10, acuity.A02, "p=p1", "alone", "LDR:B"), message(15, acuity.A08, "p=p1", "alone", "LDR:B", "O14.13"), message(20, acuity.A02, "p=p1", "alone", "LDR:A")), want: ill,
		},
		"the patient alone: a discharge": {
			say: list(admit, message(10, acuity.A02, "p=p1", "alone", "LDR:B"), message(30, acuity.A03, "p=p1", "alone")),
		},
		"the patient alone: a discharge that is cancelled": {
			say: list(admit, message(30, acuity.A03, "p=p1", "alone"), message(40, acuity.A13, "p=p1", "alone", "cancels=30"), message(35, acuity.A08, "p=p1", "alone", "O14.13")), want: ill,
		},
		"the patient alone: cancels of what has a number": {
			say: list(admit, message(10, acuity.A02, "p=p1", "LDR:B"), message(20, acuity.A12, "p=p1", "alone", "cancels=10")), want: inA,
		},
		"the patient alone opens a visit": {
			say: list(message(0, acuity.A01, "p=p1", "alone", "LDR:B", "class=I"), message(10, acuity.A02, "p=p1", "alone", "LDR:A")), want: inA,
		},
		"and closes it": {
			say: list(message(0, acuity.A01, "p=p1", "alone", "LDR:B", "class=I"), message(10, acuity.A03, "p=p1", "alone")),
		},
		"the number comes later": {
			say: list(message(0, acuity.A04, "p=p1", "alone", "OBTRI:2", "class=O"), message(10, acuity.A01, "p=p1", "LDR:A", "class=I"), message(20, acuity.A08, "p=p1", "alone", "O14.13")), want: ill,
		},
		"another visit came before": {
			say: list(message(0, acuity.A01, "p=p1", "v=v0", "LDR:B", "class=I"), message(10, acuity.A03, "p=p1", "alone"), message(20, acuity.A01, "p=p1", "LDR:A", "class=I"), message(30, acuity.A08, "p=p1", "alone", "O14.13")), want: ill,
		},
		"of several the one whose place it names": {
			say: list(admit, message(5, acuity.A01, "p=p1", "v=v2", "LDR:B", "class=I"), message(10, acuity.A03, "p=p1", "alone", "LDR:B")), want: inA,
		},
		"of several without a place none": {
			say: list(admit, message(5, acuity.A01, "p=p1", "v=v2", "LDR:B", "class=I"), message(10, acuity.A03, "p=p1", "alone")), want: inA + "; " + inB,
		},
		"an account is a name of the visit": {
			say: list(message(0, acuity.A01, "p=p1", "v=acc", "account", "LDR:B", "class=I"), message(10, acuity.A02, "p=p1", "account=acc", "LDR:A"), message(20, acuity.A08, "p=p1", "O14.13")), want: ill,
		},
		"also for its discharge": {
			say: list(message(0, acuity.A01, "p=p1", "v=acc", "account", "LDR:B", "class=I"), message(10, acuity.A08, "p=p1", "account=acc"), message(20, acuity.A03, "p=p1", "v=acc")),
		},
		"and for conditions": {
			say: list(message(0, acuity.A01, "p=p1", "account=acc", "LDR:A", "class=I"), resources(50, condition("O14.13").of("c", 50).in("acc"))), want: ill,
		},
		"two visits turn out to be one": {
			say: list(admit, message(10, acuity.A01, "p=p1", "v=acc", "LDR:B", "class=I"), message(20, acuity.A02, "p=p1", "account=acc", "LDR:A")), want: inA,
		},
		"a newborn with the account of the mother": {
			say: list(mother, baby, message(20, acuity.A03, "v=acc", "p=p2", "account")), want: "<MBU:3> 20 pp-couplet/0",
		},
		"also without another number": {
			say: list(message(0, acuity.A01, "v=acc", "p=p1", "account", "MBU:3", "class=I", "pp-couplet"), message(10, acuity.A01, "v=acc", "p=p2", "account", "MBU:3", "class=N"),
				message(20, acuity.A03, "v=acc", "p=p2", "account")),
			want: "<MBU:3> 20 pp-couplet/0",
		},
		"a condition of the account is that of the mother": {
			say:  list(mother, message(10, acuity.A01, "v=b1", "p=p2", "account=acc", "mother=v1", "NICU:9"), resources(50, condition("O14.13").of("c", 50).in("acc"))),
			want: "<MBU:3> 30 high-preeclampsia/3 pp-couplet/0; <NICU:9> 60 nb-intensive/2",
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			now, want := minute(60), expected(t, rooms(row.want))
			orders(row.say, func(say []acuity.Observation) {
				u := hospital.New("st-test")
				for i := range say {
					say[i].Hospital, say[i].ReceivedAt = "st-test", minute(50)+acuity.Instant(i)
					if i == 0 {
						u.Apply(&say[i], int64(i))
						u = u.Twin() // like a restart
						continue
					}
					u.Apply(&say[i], int64(i))
				}
				f := hospitaltest.Fold(say, now)
				v := score.Judge(u.Chart(), now)
				got, folded := rendered(&v), rendered(&f.Verdict)
				if unplaced := u.Chart().Unit.Unplaced; got != want || folded != want || unplaced != row.unplaced {
					t.Errorf("in the order%s:\n got %s\nfold %s\nwant %s\n%d unplaced", told(say), got, folded, want, unplaced)
				}
			})
		})
	}
}

// told returns a short form of observations.
func told(say []acuity.Observation) (text string) {
	for _, o := range say {
		for _, e := range o.Events {
			text += fmt.Sprintf(" %d/%s@%v", e.Type, e.Visit, (e.At-minute(0))/60_000)
		}
		for _, s := range o.Signals {
			text += " " + s.Resource
		}
		text += ","
	}
	return text
}

// The answer to an observation warns if an event could not be joined to a visit, or if a discharge or a cancel had
// nothing to end or cancel.
func TestDecisionsJoinsTold(t *testing.T) {
	const inA, inB = "<LDR:A> 60 labor-standard/0", "<LDR:B> 60 labor-standard/0"
	admit := message(0, acuity.A01, "p=p1", "LDR:A", "class=I")
	stay := encounter(0, "E", 0, message(0, acuity.A01, "class=I", "LDR:A"))
	part := func(id string, o acuity.Observation) acuity.Observation {
		return partOf("ref E", encounter(10, id, 10, o))
	}
	crowd := list(stay)
	for i := range 51 {
		p := fmt.Sprint("p", i+100)
		crowd = append(crowd, of(p, part(fmt.Sprint("P", i), message(10, acuity.A01, fmt.Sprint("v=w", i), "class=I"))))
	}
	shared := list()
	for i := range 51 {
		shared = append(shared, message(0, acuity.A01, fmt.Sprint("v=w", i), fmt.Sprint("p=p", i), "account=SELF", "class=O"))
	}
	decide(t, visits(map[string]decision{
		"several open visits, and the place of none": {
			say:     list(admit, message(5, acuity.A01, "p=p1", "v=v2", "LDR:B", "class=I"), message(10, acuity.A03, "p=p1", "alone")),
			read:    []axisReading{{10, inA + "; " + inB}},
			answers: []string{"several_open_visits !several_open_visits"},
		},
		"a discharge that ends nothing": {
			say: list(message(10, acuity.A03, "p=p1")), answers: []string{"!discharge_waiting"},
		},
		"one that names the patient alone": {
			say: list(message(10, acuity.A03, "p=p1", "alone")), answers: []string{"!discharge_waiting"},
		},
		"an update before the admission waits for it": {
			say:     list(message(10, acuity.A08, "O45.9"), message(11, acuity.A08, "p=p2", "alone", "O45.9"), late(message(0, acuity.A01, "LDR:A", "class=I"), 12)),
			read:    []axisReading{{12, "<LDR:A> 120 high-hemorrhage/4 labor-standard/0"}},
			answers: []string{"!update_waiting", "!update_waiting", "+high-hemorrhage +labor-standard"},
		},
		"an update of a visit that only a census knows": {
			say:  list(census(0, holds(1, "labor-standard", "visit=v1")), message(10, acuity.A08, "O45.9")),
			read: []axisReading{{10, "1 120 high-hemorrhage/4 labor-standard/0"}}, answers: []string{"+labor-standard", "+high-hemorrhage"},
		},
		"cancels that cancel nothing": {
			say:     list(admit, message(10, acuity.A11, "p=p2", "alone"), message(10, acuity.A12, "p=p1", "alone"), message(10, acuity.A13, "p=p1", "alone")),
			answers: []string{"!cancel_waiting", "!cancel_waiting", "!cancel_waiting"},
		},
		"a discharge of a visit that only a census knows ends it": {
			say: list(census(0, holds(1, "labor-standard", "visit=v1")), message(10, acuity.A03)), read: []axisReading{{10, ""}}, answers: []string{"-labor-standard"},
		},
		"a second discharge": {
			say: list(admit, message(10, acuity.A03, "p=p1", "alone"), message(20, acuity.A03, "p=p1", "alone")), answers: []string{"-labor-standard", "already_discharged"},
		},
		"a circle": {
			say:  list(stay, part("P", message(10, acuity.A01, "v=v2", "class=I")), partOf("ref P", encounter(20, "E", 20, message(0, acuity.A01, "class=I", "LDR:A")))),
			read: []axisReading{{20, inA}}, answers: []string{"+labor-standard", "", "!part_of_cycle"},
		},
		"a number here and a reference there": {
			say: list(admit, partOf("v1", byReference("ref p9", encounter(10, "P", 10, message(10, acuity.A01, "v=v2", "class=I"))))), answers: []string{"+labor-standard", "!part_of_unknown_patient"},
		},
		"too many parts":          {say: crowd, answers: []string{"!part_of_limit"}},
		"an account of everybody": {say: shared, answers: []string{"!account_shared"}},
		"a log of the release before": {
			say: list(admit, old(message(10, acuity.A08, "p=p1", "v=of p1", "O14.13"))), read: []axisReading{{10, "<LDR:A> 60 high-preeclampsia/3 labor-standard/0"}},
		},
	}))
}

// byReference replaces the patient of an Encounter with one who is known only by a reference.
func byReference(subject string, o acuity.Observation) acuity.Observation {
	for i := range o.Events {
		o.Events[i].Patient, o.Events[i].Subject = subject, ""
	}
	return o
}

// old converts a message to the format of the previous release, which marked a message that identifies only the
// patient with a warning.
func old(o acuity.Observation) acuity.Observation {
	for i := range o.Events {
		o.Events[i].Warnings = []acuity.Warning{{Code: "visit_by_patient", Path: "PV1-19"}}
	}
	return o
}
