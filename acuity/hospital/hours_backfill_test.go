package hospital

import (
	"fmt"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/score"
)

// If past hours must be replayed after a restore or a change, Recall replays a limited number of events at a time.
// The snapshots equal those of a unit that was not interrupted.
func TestPastIsRecalledInPieces(t *testing.T) {
	const days, piece = 6, 7
	events, end := ward(2, days), day.Add(days*24*time.Hour)
	told := func() (*State, []acuity.Change) {
		u := New(testHospital)
		var all []acuity.Change
		for i := 0; i < len(events); i += 100 {
			all = append(all, feed(u, acuity.Observation{ReceivedAt: end, Channel: acuity.ChannelBatch, Events: events[i:min(i+100, len(events))]})...)
		}
		return u, all
	}
	now := end.Add(time.Minute)
	whole, want := told()
	want = whole.advance(want, now)
	for name, disturb := range map[string]func(*testing.T, *State, changelog) *State{
		"restored": func(t *testing.T, _ *State, log changelog) *State { t.Helper(); return log.restore(t) },
		"changed":  func(_ *testing.T, u *State, _ changelog) *State { u.hours.past = nil; return u },
	} {
		t.Run(name, func(t *testing.T) {
			u, got := told()
			for range 3 * 24 {
				c, more := u.Advance(now)
				if !more {
					t.Fatal("no backfill goes on")
				}
				got = append(got, c)
			}
			log := changelog{}
			log.write(u)
			u = disturb(t, u, log)
			pieces := 0
			for more := true; more; {
				n, there := u.Recall(now, piece)
				if n > piece {
					t.Fatalf("%d events in one piece", n)
				}
				if !there {
					pieces++
					continue
				}
				p, before := u.hours.past, 0
				if p != nil {
					before = p.applied
				}
				var c acuity.Change
				if c, more = u.Advance(now); more {
					got = append(got, c)
				}
				if p != nil && p.applied != before {
					t.Fatalf("an hour took %d more events", p.applied-before)
				}
			}
			if least := len(events) / 2 / piece; pieces < least {
				t.Errorf("%d pieces, want %d: nothing was told again", pieces, least)
			}
			if a, b := rendered(got), rendered(want); a != b {
				t.Errorf("%d changes, undisturbed %d\n%s", len(got), len(want), difference(a, b))
			}
		})
	}
}

// The snapshot of a past hour contains everything that the unit knows about that hour, regardless of how earlier
// hours were replayed: a replay keeps everything that the unit still stores.
func TestPastForgetsNothing(t *testing.T) {
	const hour = 60
	end := clockAt(9 * 24 * hour)
	labor, ward := acuity.Location{PointOfCare: "LDR", Room: "L1"}, acuity.Location{PointOfCare: "MBU", Room: "P1"}
	for name, c := range map[string]struct {
		events []acuity.Event // received 25 h apart
		want   []acuity.SnapshotVisit
	}{
		"a discharge that is cancelled after a week, early in the hour after it": {
			events: []acuity.Event{
				{ID: "a", Type: acuity.A01, At: clockAt(0), Visit: "v1", Class: 'I', Place: labor},
				{ID: "b", Type: acuity.A03, At: clockAt(hour + 20), Visit: "v1"},
				{ID: "c", Type: acuity.A13, At: clockAt(7*24*hour + hour + 40), Visit: "v1", Cancels: clockAt(hour + 20)},
			},
			want: []acuity.SnapshotVisit{{Visit: score.VisitNumber(&acuity.PatientChart{Visit: "v1"}), Class: acuity.StageLabor, Age: 9 * 24 * hour}},
		},
		"a newborn whose mother left an hour before it": {
			events: []acuity.Event{
				{ID: "a", Type: acuity.A01, At: clockAt(0), Visit: "v1", Class: 'I', Place: labor},
				{ID: "b", Type: acuity.A01, At: clockAt(hour), Visit: "b1", Newborn: true, MotherVisit: "v1", Place: labor},
				{ID: "c", Type: acuity.A03, At: clockAt(2 * hour), Visit: "v1"},
				{ID: "d", Type: acuity.A08, At: clockAt(3*hour + 20), Visit: "b1", Newborn: true, MotherVisit: "v1"},
				{ID: "e", Type: acuity.A02, At: clockAt(8 * 24 * hour), Visit: "b1", Newborn: true, MotherVisit: "v1", Place: ward},
			},
			want: []acuity.SnapshotVisit{{Visit: score.VisitNumber(&acuity.PatientChart{Visit: "b1"}), Class: acuity.StageOther, Age: 24 * hour}},
		},
		"the identity of an event that two visits have": {
			events: []acuity.Event{
				{ID: "a", Type: acuity.A01, At: clockAt(0), Visit: "v1", Class: 'I', Place: labor},
				{ID: "a", Type: acuity.A01, At: clockAt(hour), Visit: "v2", Class: 'I', Place: ward},
			},
			want: []acuity.SnapshotVisit{
				{Visit: score.VisitNumber(&acuity.PatientChart{Visit: "v2"}), Class: acuity.StageCouplet, Age: 9*24*hour - hour},
				{Visit: score.VisitNumber(&acuity.PatientChart{Visit: "v1"}), Class: acuity.StageLabor, Age: 9 * 24 * hour},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := func(u *State) []acuity.Snapshot {
				at := end
				for i := range c.events {
					feed(u, acuity.Observation{ReceivedAt: at, Channel: acuity.ChannelADT, Events: c.events[i : i+1]})
					at = at.Add(25 * time.Hour)
				}
				before := acuity.Event{ID: "z", Type: acuity.A01, At: end.Add(-10 * 24 * time.Hour), Visit: "v0", Place: acuity.Location{PointOfCare: "ICU"}}
				feed(u, acuity.Observation{ReceivedAt: at, Channel: acuity.ChannelBatch, Events: []acuity.Event{before}})
				return snapshots(u.advance(nil, at.Add(time.Minute)))
			}
			got, plain := told(New(testHospital)), told(NewPlain(testHospital))
			if len(got) != len(plain) || len(got) < 9*24 {
				t.Fatalf("%d hours, plain %d", len(got), len(plain))
			}
			for i := range plain {
				if a, b := rendered(got[i].Visits), rendered(plain[i].Visits); a != b {
					t.Fatalf("hour %d, told along with those before it\n%s\ntold by itself\n%s", got[i].Hour-day.Hour(), a, b)
				}
				if got[i].Hour != end.Hour() {
					continue
				}
				is := ""
				for _, v := range got[i].Visits {
					is += fmt.Sprintln(v.Visit, v.Class, v.Age)
				}
				want := ""
				for _, v := range c.want {
					want += fmt.Sprintln(v.Visit, v.Class, v.Age)
				}
				if is != want {
					t.Errorf("visits\n%s\nwant\n%s", is, want)
				}
			}
		})
	}
}
