package hospital

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/charts"
	"svc/acuity/registry"
	"svc/acuity/score"
)

// rendered returns a value as JSON, for comparison. Nil lists and empty lists have the same form.
func rendered(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(b), "null", "[]")
}

// shown returns a verdict as JSON, for comparison. It ignores whether factors are stale.
func shown(v score.Verdict) string {
	s := seeUnit(&v)
	for i := range v.Rooms {
		r := seen(&v.Rooms[i])
		for j := range r.Factors {
			r.Factors[j].Stale = false
		}
		s.Rooms = append(s.Rooms, r)
	}
	return rendered(s)
}

// difference returns the parts of two strings around the first byte at which they differ.
func difference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-400):min(len(s), i+200)] }
	return cut(a) + "\n" + cut(b)
}

// TestIncrementalIsPlainIsRestored checks that three units with the same input have the same charts, verdicts and
// changes: one that caches derived state, one that recomputes everything at each step, and one that is stopped and
// restored at arbitrary points.
func TestIncrementalIsPlainIsRestored(t *testing.T) { rapid.Check(t, sameHoweverKept) }

// TestSameAtTheLimits checks the same three units with very low limits. Which facts a unit refuses or drops depends
// only on the stored facts, so the three units still have equal charts.
func TestSameAtTheLimits(t *testing.T) {
	few := registry.Limits{Rooms: 2, Known: 5, Visits: 4, OfPatient: 2, Bytes: 4000, Statements: 12, Unknown: 2, Waiting: 4, Identities: 6}
	registry.Usual, few = few, registry.Usual
	defer func() { registry.Usual = few }()
	rapid.Check(t, sameHoweverKept)
}

// TestFormerNameJoins checks, with and without cached state, what happens if an Encounter is first stored under its
// reference and later gets a visit number. A visit whose account number equals that reference must then be joined
// with the visit that is still stored under the reference.
func TestFormerNameJoins(t *testing.T) {
	encounter := func(visit, patient string) acuity.Event {
		return acuity.Event{
			ID: "E1 " + visit, Type: acuity.A01, At: day, Visit: visit, Patient: patient, Class: 'I', Resource: "E1", Encounter: "ref E1",
			Place: acuity.Location{PointOfCare: "LDR", Room: "L2"},
		}
	}
	said := []acuity.Event{
		encounter("ref E1", "p1"), encounter("v1", "p3"),
		{ID: "e2", Type: acuity.A01, At: day, Visit: "v2", Patient: "p2", Class: 'I', Account: "ref E1", Place: acuity.Location{HasRoomID: true, RoomID: 2}},
	}
	for _, u := range []*State{New(testHospital), NewPlain(testHospital)} {
		for i, e := range said {
			o := acuity.Observation{Hospital: testHospital, ReceivedAt: day + acuity.Instant(i), Channel: acuity.ChannelFHIR, Events: []acuity.Event{e}}
			u.Apply(&o, int64(i))
		}
		if v := u.registry.Visits["ref E1"]; v == nil || v.Joined.Head != u.registry.Visits["v2"] {
			t.Errorf("plain %t: the former name is joined with %+v", u.registry.Work.Plain, v)
		}
	}
}

func sameHoweverKept(t *rapid.T) {
	w := &world{t: t, now: day}
	unit, plain, broken := New(testHospital), New(testHospital), New(testHospital)
	plain.registry.Work.Plain = true
	log, seen := changelog{}, view{}
	var changes []acuity.Change
	same := func(what string, a, b any) {
		if x, y := rendered(a), rendered(b); x != y {
			t.Fatalf("%s differs\n%s", what, difference(x, y))
		}
	}
	compare := func(a, b acuity.Change, other *State, name string) {
		same("change of "+name, a, b)
		same("chart of "+name, unit.Chart(), other.Chart())
		if x, y := shown(unit.scoring.verdict), shown(other.scoring.verdict); x != y {
			t.Fatalf("verdict of %s differs at %v\n%s\n%s", name, unit.registry.Facts.Clock, difference(x, y), rendered(unit.Chart().Rooms))
		}
	}
	for i := range int64(rapid.IntRange(1, 25).Draw(t, "steps")) {
		o := w.next()
		for {
			a, more := unit.Advance(o.ReceivedAt)
			b, plainMore := plain.Advance(o.ReceivedAt)
			c, brokenMore := broken.Advance(o.ReceivedAt)
			if more != plainMore || more != brokenMore {
				t.Fatalf("one advances, another does not: %v %v %v", more, plainMore, brokenMore)
			}
			if !more {
				break
			}
			changes = append(changes, a)
			compare(a, b, plain, "plain")
			compare(a, c, broken, "restored")
		}
		a := unit.Apply(&o, i)
		changes = append(changes, a)
		compare(a, plain.Apply(&o, i), plain, "plain")
		compare(a, broken.Apply(&o, i), broken, "restored")
		same("verdict of the chart", shown(unit.scoring.verdict), shown(score.Judge(unit.Chart(), unit.registry.Facts.Clock)))
		log.write(broken)
		if pick(t, "restart", false, false, true) {
			broken = log.restore(t)
			same("chart after a restore", unit.Chart(), broken.Chart())
		}
		seen.write(unit)
		unit.checkLimits(t)
		for _, r := range unit.Chart().Rooms {
			if seen[r.ID] != rendered(r) {
				t.Fatalf("view of room %d\n%s\n%s", r.ID, seen[r.ID], rendered(r))
			}
		}
		if len(seen) != len(unit.Chart().Rooms) {
			t.Fatalf("view has %d rooms, chart %d", len(seen), len(unit.Chart().Rooms))
		}
	}
	if got, want := unit.scoring.verdict.Run, runOf(changes); got != want {
		t.Fatalf("the level has lasted %+v, by what was told %+v", got, want)
	}
}

// runOf returns the run of the current level according to the reported changes.
func runOf(changes []acuity.Change) acuity.LevelRun {
	run := acuity.LevelRun{Since: changes[0].AppliedAt}
	for i, c := range changes {
		for _, e := range c.Effects {
			if e.Kind == acuity.LevelChanged {
				run = acuity.LevelRun{Since: c.AppliedAt, Prior: e.Prior, HasPrior: i > 0}
			}
		}
	}
	return run
}

// checkLimits compares the counters of a unit with its contents, and fails the test if the unit exceeds its limits.
func (u *State) checkLimits(t *rapid.T) {
	kept, bytes, used := 0, 0, 0
	for _, r := range u.registry.Rooms {
		kept += r.Statements.Len()
		if r.InUnit && charts.IsUsed(r, u.registry.Facts.Clock) && !r.Listed {
			used++
		}
	}
	for _, v := range u.registry.Visits {
		kept += v.Statements.Len() + len(v.ResourceStatements)
		bytes += v.Size()
		if _, unknown := u.registry.Unknown[v]; unknown != v.IsName() {
			t.Fatalf("unknown visits have %v: %v", v.ID, unknown)
		}
	}
	for _, r := range u.names.BySubject {
		kept += len(r.Statements)
	}
	if kept != u.statements.Kept || bytes != u.registry.EventBytes {
		t.Fatalf("%d statements and %d bytes are counted, there are %d and %d", u.statements.Kept, u.registry.EventBytes, kept, bytes)
	}
	l := &u.registry.Limits
	if len(u.registry.Visits) > l.Visits || len(u.registry.Rooms) > 2*l.Known || kept > l.Statements || len(u.names.BySubject) > l.Unknown || used > l.Known {
		t.Fatalf("%d visits, %d rooms, %d in use, %d statements, %d unknown visits, %d patients", len(u.registry.Visits), len(u.registry.Rooms), used, kept, len(u.registry.Unknown), len(u.names.BySubject))
	}
}
