package score

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// drawEvidence draws one piece of evidence for a chart.
func drawEvidence(t *rapid.T, now acuity.Instant, name string) acuity.Evidence {
	c := catalogue.Default()
	f := catalogue.Factor(rapid.IntRange(1, c.Len()).Draw(t, name))
	if rapid.IntRange(0, 2).Draw(t, "often") == 0 { // so that several pieces of evidence often have the same factor
		f = factor(pick(t, name, "labor-fhr-cat-ii", "labor-fhr-cat-iii", "high-mag", "high-hemorrhage", "pp-hemorrhage", "mews-active", "labor-tolac"))
	}
	s := c.Spec(f)
	start := now.Add(-time.Duration(rapid.IntRange(0, 1800).Draw(t, "start")) * time.Minute)
	last := start + acuity.Instant(rapid.Int64Range(0, int64(now-start)).Draw(t, "last"))/60_000*60_000
	ev := acuity.Evidence{
		Factor: f, Variant: uint8(rapid.IntRange(0, len(s.Variants)-1).Draw(t, "variant")),
		Kind: acuity.EvidenceKind(rapid.IntRange(1, 6).Draw(t, "kind")), Start: start, Last: last,
		Source: acuity.Source{System: codes.ICD10CM, Code: fmt.Sprint("C", rapid.IntRange(0, 5).Draw(t, "code"))},
		Fetus:  pick(t, "fetus", "", "A", "B"),
	}
	if f.IsNewborn() {
		ev.Baby = uint8(rapid.IntRange(1, 3).Draw(t, "baby"))
	}
	if s.ID == "labor-multiple-gestation" {
		ev.Count = uint8(rapid.IntRange(2, 4).Draw(t, "count"))
	}
	return ev
}

func drawRoom(t *rapid.T, now acuity.Instant) acuity.RoomChart {
	r := acuity.RoomChart{ID: 1, Status: acuity.RoomOccupied, Listed: true}
	if rapid.IntRange(0, 9).Draw(t, "clinical only") == 0 {
		r.Status, r.Listed = acuity.RoomUnknown, false
		r.NewestSignal = now.Add(-time.Duration(rapid.IntRange(0, 3000).Draw(t, "newest")) * time.Minute)
	}
	patients := rapid.SampledFrom([]int{0, 1, 1, 1, 1, 2}).Draw(t, "patients")
	for i := range patients {
		p := acuity.PatientChart{Visit: fmt.Sprint(i), Mother: rapid.IntRange(0, 9).Draw(t, "mother") > 0}
		p.Arrived = now.Add(-time.Duration(rapid.IntRange(0, 40).Draw(t, "arrived")) * time.Minute)
		if rapid.Bool().Draw(t, "born") {
			p.Birth = now.Add(-time.Duration(rapid.IntRange(-100*(2-patients), 300).Draw(t, "birth")) * time.Minute)
			p.Unborn = rapid.Bool().Draw(t, "unborn")
		}
		for j := range rapid.IntRange(0, 7).Draw(t, "evidences") {
			p.Evidence = append(p.Evidence, drawEvidence(t, now, fmt.Sprint("factor", j)))
		}
		r.Patients = append(r.Patients, p)
	}
	return r
}

func drawChart(t *rapid.T) *acuity.Chart {
	now := testStart
	c := &acuity.Chart{Unit: acuity.UnitChart{HasCensus: rapid.Bool().Draw(t, "census"), TotalRooms: int32(rapid.IntRange(0, 6).Draw(t, "total"))}}
	for i := range rapid.IntRange(0, 4).Draw(t, "rooms") {
		r := drawRoom(t, now)
		r.ID = int32(i + 1)
		c.Rooms = append(c.Rooms, r)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "staffings") {
		c.Unit.Staffing = append(c.Unit.Staffing, acuity.Staffing{
			AsOf:   now.Add(time.Duration(i*90-30) * time.Minute),
			Nurses: int32(rapid.IntRange(0, 6).Draw(t, "nurses")), Call: acuity.Tristate(rapid.IntRange(0, 2).Draw(t, "call")),
		})
	}
	if rapid.Bool().Draw(t, "roster") {
		c.Unit.Roster = &acuity.Roster{AsOf: now.Add(-time.Duration(rapid.IntRange(0, 800).Draw(t, "roster age")) * time.Minute)}
		for range rapid.IntRange(0, 4).Draw(t, "roster nurses") {
			c.Unit.Roster.Nurses = append(c.Unit.Roster.Nurses, acuity.RosterNurse{
				Skill: int8(rapid.IntRange(-1, 2).Draw(t, "skill")), Rooms: rapid.SliceOfN(rapid.Int32Range(1, 5), 0, 3).Draw(t, "assigned"),
			})
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "moves") {
		c.Unit.Moves = append(c.Unit.Moves, now.Add(-time.Duration(rapid.IntRange(0, 119).Draw(t, "move"))*time.Minute))
	}
	slices.Sort(c.Unit.Moves)
	return c
}

// lowers reports whether a factor may lower the demand of the room when it is added. Such factors are documented
// exceptions: they replace a factor with a greater demand.
func lowers(id string, r *acuity.RoomChart) bool {
	p := &r.Patients[0]
	switch id {
	case "labor-fhr-cat-iii":
		return len(r.Patients) > 1 // Category III hides this patient's Category II, and the other patient may already have Category III
	case "mews-acknowledged", "labor-fhr-cat-ii":
		return true
	}
	f, _ := catalogue.FactorByID(id)
	if !f.IsPrimary() {
		return false
	}
	// A primary factor replaces the half nurse that is assumed for a patient without a primary factor. A mother's
	// primary factor includes the babies in her couplet.
	for _, ev := range p.Evidence {
		if ev.Factor.IsPrimary() && !ev.Factor.IsNewborn() {
			return f.IsPostpartum() && hasNewborn(p)
		}
	}
	return true
}

func hasNewborn(p *acuity.PatientChart) bool {
	return slices.ContainsFunc(p.Evidence, func(ev acuity.Evidence) bool { return ev.Factor.IsNewborn() })
}

func TestMoreEvidenceNeverLowersAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := testStart
		c := drawChart(t)
		if len(c.Rooms) == 0 || len(c.Rooms[0].Patients) == 0 {
			t.Skip()
		}
		p := &c.Rooms[0].Patients[0]
		more := drawEvidence(t, now, "more")
		id := more.Factor.ID()
		if lowers(id, &c.Rooms[0]) {
			t.Skip()
		}
		before := Judge(c, now)
		p.Evidence = append(slices.Clone(p.Evidence), more)
		after := Judge(c, now)
		a, b := &before.Rooms[0], &after.Rooms[0]
		if b.Demand < a.Demand || after.Level < before.Level || after.Shortfall < before.Shortfall {
			t.Fatalf("%s: demand %d to %d, level %s to %s", id, a.Demand, b.Demand, before.Level, after.Level)
		}
		// The score must not fall, except if the added factor has a twin: if both have the same sources, only the
		// more severe of the two counts.
		if twin := catalogue.Default().Requirement(more.Factor, 0).Twin; twin == 0 && id != "pp-hemorrhage" && id != "high-bereavement" && b.Score < a.Score {
			t.Fatalf("%s: score %d to %d", id, a.Score, b.Score)
		}
	})
}

func TestANurseNeverRaisesTheLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChart(t)
		if len(c.Unit.Staffing) == 0 {
			t.Skip()
		}
		before := Judge(c, testStart)
		c.Unit.Staffing[0].Nurses++
		after := Judge(c, testStart)
		if after.Level > before.Level || after.Shortfall > before.Shortfall {
			t.Fatalf("%s to %s", before.Level, after.Level)
		}
	})
}

func TestTheOrderOfEvidenceIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRoom(t, testStart)
		before := judgeAt(&r, testStart)
		for i := range r.Patients {
			r.Patients[i].Evidence = rapid.Permutation(r.Patients[i].Evidence).Draw(t, "order")
		}
		if after := judgeAt(&r, testStart); !reflect.DeepEqual(seen(&before), seen(&after)) {
			t.Fatalf("\n%+v\n%+v", seen(&before), seen(&after))
		}
	})
}

// seenRoom is the public part of a room; seenFactor is the public part of a factor.
type seenRoom struct {
	RoomVerdict
	Factors []seenFactor
}

type seenFactor struct {
	FactorVerdict
	AssignedBy string
	Sources    []acuity.Source
}

func seen(v *RoomVerdict) seenRoom {
	s := seenRoom{RoomVerdict: *v}
	s.due, s.listed, s.fatigue, s.evidence, s.RoomVerdict.Factors = 0, false, false, nil, nil
	for i := range v.Factors {
		f := &v.Factors[i]
		of := seenFactor{FactorVerdict: FactorVerdict{
			Factor: f.Factor, Since: f.Since, Kind: f.Kind, Need: f.Need, Demand: f.Demand,
			Severity: f.Severity, Stale: f.Stale, Next: f.Next,
		}, AssignedBy: v.AssignedBy(f)}
		for _, e := range v.Evidence(f) {
			of.Sources = append(of.Sources, e.Source)
		}
		s.Factors = append(s.Factors, of)
	}
	return s
}

// still returns the public part of a room verdict, without Boarder, Double, the staleness of factors, and the
// instants of the next changes.
func still(v *RoomVerdict) seenRoom {
	s := seen(v)
	s.Next, s.Boarder, s.Double = 0, false, false
	for i := range s.Factors {
		s.Factors[i].Next, s.Factors[i].Stale = 0, false
	}
	return s
}

// seenUnit is the public part of a unit.
type seenUnit struct {
	Verdict
	Rooms   []seenRoom
	Details [acuity.AxisCount]string
}

func seeUnit(v *Verdict) seenUnit {
	s := seenUnit{Verdict: *v}
	for a := range acuity.Axis(acuity.AxisCount) {
		s.Details[a] = v.Detail(a)
	}
	return s
}

func stillUnit(v *Verdict) seenUnit {
	s := seeUnit(v)
	s.Next, s.Verdict.Rooms = 0, nil
	for i := range v.Rooms {
		r := still(&v.Rooms[i])
		r.Boarder, r.Double = v.Rooms[i].Boarder, v.Rooms[i].Double
		s.Rooms = append(s.Rooms, r)
	}
	return s
}

func TestNothingChangesBeforeNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChart(t)
		now := testStart
		for range 12 {
			v := Judge(c, now)
			if v.Next == 0 {
				later := now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "later")) * time.Minute)
				if then := Judge(c, later); !reflect.DeepEqual(stillUnit(&v), stillUnit(&then)) {
					t.Fatalf("next never, but %v later\n%+v\n%+v", later.Sub(now), stillUnit(&v), stillUnit(&then))
				}
				return
			}
			if v.Next <= now {
				t.Fatalf("next %v is not after now", v.Next.Sub(now))
			}
			between := now + acuity.Instant(rapid.Int64Range(0, int64(v.Next-now)-1).Draw(t, "between"))
			for _, at := range []acuity.Instant{between, v.Next - 1} {
				if then := Judge(c, at); !reflect.DeepEqual(stillUnit(&v), stillUnit(&then)) {
					t.Fatalf("next in %v, but %v later\n%+v\n%+v", v.Next.Sub(now), at.Sub(now), stillUnit(&v), stillUnit(&then))
				}
			}
			if then := Judge(c, v.Next); reflect.DeepEqual(stillUnit(&v), stillUnit(&then)) {
				t.Fatalf("nothing changes at next, in %v\n%+v", v.Next.Sub(now), stillUnit(&v))
			}
			for i := range v.Rooms {
				checkRoomNext(t, &c.Rooms[i], v.Rooms[i], now)
			}
			now = v.Next
		}
	})
}

// checkRoomNext checks that the room and each of its factors do not change before their Next, and that they change at
// Next.
func checkRoomNext(t *rapid.T, r *acuity.RoomChart, v RoomVerdict, now acuity.Instant) {
	if v.Next != 0 {
		before, at := judgeAt(r, v.Next-1), judgeAt(r, v.Next)
		if !reflect.DeepEqual(still(&v), still(&before)) || reflect.DeepEqual(still(&v), still(&at)) {
			t.Fatalf("room: next in %v\n%+v\n%+v\n%+v", v.Next.Sub(now), still(&v), still(&before), still(&at))
		}
	}
	for _, f := range v.Factors {
		if f.Next == 0 {
			continue
		}
		before, at := entry(judgeAt(r, f.Next-1), f.Factor), entry(judgeAt(r, f.Next), f.Factor)
		if entry(v, f.Factor) != before || before == at {
			t.Fatalf("%s: next in %v\n%s\n%s\n%s", f.Factor.ID(), f.Next.Sub(now), entry(v, f.Factor), before, at)
		}
	}
}

func entry(v RoomVerdict, f catalogue.Factor) string {
	for _, e := range v.Factors {
		if e.Factor == f {
			return fmt.Sprint(e.Since, e.Need.Ratio(), e.Severity, e.Kind)
		}
	}
	return "absent"
}

func TestRoomsJudgedBeforeNextMakeTheSameUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChart(t)
		old := Judge(c, testStart).Rooms
		now := testStart.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "later")) * time.Minute)
		for i := range old {
			if next := codes.Soonest(old[i].Next, old[i].due); next != 0 && next <= now {
				old[i] = judgeAt(&c.Rooms[i], now)
			}
		}
		whole := Judge(c, now)
		if reused := judgeUnit(catalogue.Default(), &c.Unit, old, now); !reflect.DeepEqual(stillUnit(&whole), stillUnit(&reused)) || whole.Next != reused.Next {
			t.Fatalf("\n%+v\n%+v", whole, reused)
		}
	})
}

func BenchmarkVerdict(b *testing.B) {
	c := benchChart(b)
	b.ReportAllocs()
	for b.Loop() {
		Judge(c, testStart)
	}
}

func BenchmarkRoom(b *testing.B) {
	c := benchChart(b)
	rules := catalogue.Default()
	out := allocateMemory(8)
	b.ReportAllocs()
	for b.Loop() {
		out.clear()
		var v RoomVerdict
		judgeRoomInto(rules, &c.Rooms[0], testStart, &out, &v)
	}
}

func BenchmarkUnit(b *testing.B) {
	c := benchChart(b)
	rooms := Judge(c, testStart).Rooms
	rules := catalogue.Default()
	b.ReportAllocs()
	for b.Loop() {
		judgeUnit(rules, &c.Unit, rooms, testStart)
	}
}

// benchChart returns a unit of 40 rooms with five factors each, and with a census, staffing and a roster.
func benchChart(b *testing.B) *acuity.Chart {
	b.Helper()
	list := []charted{
		{factor: "labor-standard", age: 3 * hours},
		{factor: "high-mag", age: 20 * minutes},
		{factor: "high-preeclampsia", variant: 1, kind: acuity.ByDiagnosis, code: "O14.1"},
		{factor: "high-gbs-positive"},
		{factor: "env-interpreter"},
	}
	rooms := make([][]charted, 40)
	for i := range rooms {
		rooms[i] = list
	}
	c := chartOf(b, testStart, 30, acuity.Yes, 44, rooms...)
	c.Unit.Roster = &acuity.Roster{AsOf: testStart.Add(-hours)}
	for i := range int32(30) {
		c.Unit.Roster.Nurses = append(c.Unit.Roster.Nurses, acuity.RosterNurse{Skill: int8(i % 3), Rooms: []int32{i + 1}})
	}
	return c
}
