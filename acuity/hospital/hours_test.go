package hospital

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/score"
)

// snapshots returns the snapshots in changes, in order.
func snapshots(changes []acuity.Change) (all []acuity.Snapshot) {
	for _, c := range changes {
		if c.Snapshot != nil {
			all = append(all, *c.Snapshot)
		}
	}
	return all
}

// The visits in a snapshot add up to the unit's verdict, now and, if nothing changes, at each hour ahead.
func TestSnapshotAddsUpToTheVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: day}
		u := New(testHospital)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			o := w.next()
			u.advance(nil, o.ReceivedAt)
			u.Apply(&o, 1)
			now := u.registry.Facts.Clock
			s := score.MakeSnapshot(u.Chart(), now)
			for h := range acuity.Horizon + 1 {
				v := score.Judge(u.Chart(), now.Add(time.Duration(h)*time.Hour))
				var need catalogue.Demand
				var score, want, class4 int32
				for _, visit := range s.Visits {
					need += catalogue.Demand(visit.Demand[h])
					score += int32(visit.Score[h])
				}
				for _, room := range v.Rooms {
					want += room.Score
					if room.STAT {
						class4++
					}
				}
				if need != v.Required || score != want || s.Class4[h] != class4 {
					t.Fatalf("in %d h: need %d, score %d, class 4 %d; the verdict says %d, %d, %d\n%s", h, need, score, s.Class4[h], v.Required, want, class4, rendered(u.Chart().Rooms))
				}
			}
			v := score.Judge(u.Chart(), now)
			if s.Level != v.Level || s.Nurses != v.OnDuty || s.Call != v.Call {
				t.Fatalf("snapshot %+v of verdict %+v", s, v)
			}
		}
	})
}

// Without new facts, demands change according to the schedules of magnesium, MEWS and recovery.
func TestFrozenPathIsThatOfTheSchedules(t *testing.T) {
	u := New(testHospital)
	feed(u,
		clinicalRequest(clockAt(0), 4, magnesium(clockAt(0), acuity.SignalActive)),
		clinicalRequest(clockAt(0), 5, acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "999-1", Display: "MEWS score", Value: codes.NumberValue(5000, "")}),
		acuity.Observation{ReceivedAt: clockAt(1), Channel: acuity.ChannelCensus, Census: &acuity.Census{TotalRooms: 9, Rooms: []acuity.CensusRoom{
			{ID: 1, Label: "P1", Status: acuity.RoomOccupied, Primary: factor("pp-immediate-recovery-vag"), PrimarySince: clockAt(-60), Visit: "v1"},
			{ID: 2, Label: "P2", Status: acuity.RoomOccupied, Primary: factor("pp-csection"), PrimarySince: clockAt(-60 * 7)},
			{ID: 3, Label: "P3", Status: acuity.RoomEmpty},
		}}},
		clinicalRequest(clockAt(1), 4, magnesium(clockAt(0), acuity.SignalActive)),
	)
	s := score.MakeSnapshot(u.Chart(), clockAt(1))
	if s.Occupied != 3 || s.Rooms != 9 || len(s.Visits) != 3 {
		t.Fatalf("%+v", s)
	}
	for i, want := range []acuity.SnapshotVisit{
		{Class: acuity.StageRecovery, Age: 61, Demand: [9]uint8{60, 30, 30, 30, 30, 20, 20, 20, 20}},
		{Class: acuity.StageCoupletCesarean, Age: 7*60 + 1, Demand: [9]uint8{20, 20, 20, 20, 20, 20, 20, 20, 20}},
		{Class: acuity.StageOther, Demand: [9]uint8{60, 30, 30, 30, 30, 30, 30, 30, 30}},
	} {
		if got := s.Visits[i]; got.Class != want.Class || got.Demand != want.Demand || want.Age != 0 && got.Age != want.Age {
			t.Errorf("visit %d: %+v, want %+v", i, got, want)
		}
	}
}

// A unit without facts about patients for twelve hours gets one more snapshot, marked unobserved, and then none until
// the next such fact.
func TestSleepingHospitalIsNotCut(t *testing.T) {
	u := New(testHospital)
	changes := feed(u, clinicalRequest(clockAt(10), 4), acuity.Observation{ReceivedAt: clockAt(60 * 40), Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 3}})
	got := snapshots(changes)
	if len(got) != 13 {
		t.Fatalf("%d hours were cut, want 13", len(got))
	}
	for i, s := range got {
		if s.Hour != day.Hour()+1+int32(i) || s.Observed != (i < 12) {
			t.Errorf("hour %d: %d, observed %v", i, s.Hour-day.Hour(), s.Observed)
		}
	}
	if due := u.Due(); due != 0 {
		t.Errorf("due at %v", due.Time())
	}
	if got := snapshots(feed(u, clinicalRequest(clockAt(60*50+1), 4), clinicalRequest(clockAt(60*52), 4))); len(got) != 2 || got[0].Hour != day.Hour()+51 {
		t.Errorf("after the sleep: %+v", got)
	}
}

// The hour that ends exactly twelve hours after a fact is observed. The next hour is not.
func TestLastObservedHour(t *testing.T) {
	u := New(testHospital)
	got := snapshots(feed(u, clinicalRequest(clockAt(0), 4), acuity.Observation{ReceivedAt: clockAt(60 * 40), Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 3}}))
	if len(got) != 13 || !got[11].Observed || got[12].Observed {
		t.Errorf("%d hours", len(got))
	}
}

// A visit that is reported late counts once, as an arrival in the hour of its first report.
func TestArrivalsAreOfTheHourOfTheirReceipt(t *testing.T) {
	u := New(testHospital)
	place := acuity.Location{PointOfCare: "TRIAGE", Room: "T1"}
	got := snapshots(feed(u,
		arrival(clockAt(5), acuity.Event{ID: "a", Type: acuity.A04, Visit: "v1", Place: place}),
		arrival(clockAt(65), acuity.Event{ID: "b", Type: acuity.A04, At: clockAt(55), Visit: "v2", Place: acuity.Location{PointOfCare: "TRIAGE", Room: "T2"}}),
		arrival(clockAt(130), acuity.Event{ID: "c", Type: acuity.A08, At: clockAt(70), Visit: "v2", Place: acuity.Location{PointOfCare: "TRIAGE", Room: "T2"}}),
		arrival(clockAt(200), acuity.Event{ID: "d", Type: acuity.A03, At: clockAt(190), Visit: "v1"}),
	))
	var counts []int
	for _, s := range got {
		counts = append(counts, len(s.Arrivals))
	}
	if fmt.Sprint(counts) != "[1 1 0]" || got[0].Arrivals[0].Visit != score.VisitNumber(&acuity.PatientChart{Visit: "v1"}) || got[1].Arrivals[0].Kind != acuity.ArrivesTriage {
		t.Errorf("arrivals %v", counts)
	}
}

// If no input arrives, the snapshot of an hour is made ten seconds after the hour. An input that arrives earlier
// triggers the snapshot before the input is applied. In both cases, the change with the snapshot has the time of the
// whole hour.
func TestHourIsTheSameWhoeverCutsIt(t *testing.T) {
	for name, cut := range map[string]func(u *State) []acuity.Change{
		"input": func(u *State) []acuity.Change { return feed(u, clinicalRequest(clockAt(60), 5)) },
		"clock": func(u *State) []acuity.Change {
			if due := u.Due(); due != clockAt(60)+hourGrace {
				t.Errorf("due at %v", due.Time())
			}
			return u.advance(nil, clockAt(60)+hourGrace)
		},
	} {
		u := New(testHospital)
		feed(u, clinicalRequest(clockAt(50), 4))
		c := cut(u)[0]
		if c.AppliedAt != clockAt(60) || c.Cause != acuity.CauseTime || c.Snapshot == nil || c.Snapshot.Hour != day.Hour()+1 || len(c.Effects) != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// ward returns ADT events of several days in a small ward.
func ward(seed uint64, days int) []acuity.Event {
	random := rand.New(rand.NewPCG(seed, 7))
	var events []acuity.Event
	for n := range days * 12 {
		at := day.Add(time.Duration(random.IntN(days*24*60)) * time.Minute)
		visit := fmt.Sprint("visit-", n)
		say := func(minutes int, typ acuity.EventType, care, room string) {
			e := acuity.Event{ID: fmt.Sprint(visit, minutes, typ), Type: typ, At: at.Add(time.Duration(minutes) * time.Minute), Visit: visit, Patient: "p" + visit, Class: 'I'}
			if care != "" {
				e.Place = acuity.Location{PointOfCare: care, Room: room}
			}
			events = append(events, e)
		}
		stay := 60 + random.IntN(600)
		say(0, acuity.A04, "TRIAGE", fmt.Sprint("T", random.IntN(3)))
		if random.IntN(3) > 0 {
			say(stay, acuity.A01, "LDR", fmt.Sprint("L", random.IntN(6)))
			say(stay*2, acuity.A02, "MBU", fmt.Sprint("P", random.IntN(9)))
			say(stay*2+random.IntN(3000), acuity.A03, "", "")
		} else {
			say(stay, acuity.A03, "", "")
		}
	}
	end := day.Add(time.Duration(days) * 24 * time.Hour)
	events = slices.DeleteFunc(events, func(e acuity.Event) bool { return e.At >= end })
	slices.SortFunc(events, func(a, b acuity.Event) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	return events
}

// The snapshots from a live feed equal the snapshots from the same events in a later batch.
func TestBackfillIsWhatWouldHaveBeenObserved(t *testing.T) {
	const days = 6
	events := ward(1, days)
	end := day.Add(days * 24 * time.Hour)
	live, late := New(testHospital), New(testHospital)
	var seen []acuity.Change
	for _, e := range events {
		seen = append(seen, feed(live, arrival(e.At, e))...)
	}
	seen = live.advance(seen, end)
	want := snapshots(seen)

	var told []acuity.Change
	for i := 0; i < len(events); i += 100 {
		o := acuity.Observation{ReceivedAt: end.Add(time.Duration(i) * time.Millisecond), Channel: acuity.ChannelBatch, Events: events[i:min(i+100, len(events))]}
		told = append(told, feed(late, o)...)
	}
	told = late.advance(told, end.Add(10*time.Second))
	got := snapshots(told)
	if len(want) < days*24-2 || len(got) != len(want) {
		t.Fatalf("%d hours by batch, %d live", len(got), len(want))
	}
	for i := range got {
		if left := int32(len(got) - i); got[i].Backfill != left {
			t.Fatalf("hour %d says that %d are left, want %d", i, got[i].Backfill, left)
		}
		if got[i].Generation <= want[i].Generation {
			t.Fatalf("hour %d has generation %d", i, got[i].Generation)
		}
		got[i].Backfill, got[i].Generation, got[i].Position, want[i].Position = 0, 0, 0, 0
		if a, b := rendered(got[i]), rendered(want[i]); a != b {
			t.Fatalf("hour %d\n%s", i, difference(a, b))
		}
	}
	if due := late.hours.backfillDue(); due != 0 {
		t.Errorf("more is due at %v", due.Time())
	}
	for i, c := range told {
		if c.Version != int64(i+1) {
			t.Fatalf("version %d in place %d", c.Version, i)
		}
	}
}

// Hours that were observed live do not get a second snapshot; other hours do.
func TestBackfillLeavesLiveHours(t *testing.T) {
	u := New(testHospital)
	changes := feed(u, clinicalRequest(clockAt(10), 4), clinicalRequest(clockAt(190), 4))
	if got := len(snapshots(changes)); got != 3 {
		t.Fatalf("%d live hours", got)
	}
	late := acuity.Observation{ReceivedAt: clockAt(200), Channel: acuity.ChannelBatch, Events: []acuity.Event{
		{ID: "a", Type: acuity.A01, At: clockAt(-150), Visit: "v1", Class: 'I', Place: acuity.Location{PointOfCare: "LDR", Room: "L1"}},
	}}
	feed(u, late)
	got := snapshots(u.advance(nil, clockAt(201)))
	var hours []int32
	for _, s := range got {
		hours = append(hours, s.Hour-day.Hour())
	}
	if fmt.Sprint(hours) != "[-2 -1 0]" || len(got[0].Visits) != 1 || len(got[0].Arrivals) != 1 || len(got[1].Arrivals) != 0 {
		t.Errorf("hours %v, %+v", hours, got)
	}
	if again := snapshots(append(feed(u, late), u.advance(nil, clockAt(230))...)); len(again) != 0 {
		t.Errorf("the same batch again cut %d hours", len(again))
	}
}

func BenchmarkSnapshot(b *testing.B) {
	u, now := busy(testHospital)
	b.ReportAllocs()
	for b.Loop() {
		score.MakeSnapshot(u.Chart(), now)
	}
}
