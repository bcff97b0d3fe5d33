package hospital

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
)

// staffedAt returns an entry of the past staffing in a batch, for a minute of the first day.
func staffedAt(minute int, nurses int32, call acuity.Tristate) acuity.Staffing {
	return acuity.Staffing{AsOf: clockAt(minute), Nurses: nurses, Call: call}
}

// batchOfPast returns a batch with one patient in labor from the first minute, and the given staffing.
func batchOfPast(at acuity.Instant, list ...acuity.Staffing) acuity.Observation {
	return acuity.Observation{ReceivedAt: at, Channel: acuity.ChannelBatch, PastStaffing: list, Events: []acuity.Event{
		{ID: "in", Type: acuity.A01, At: clockAt(1), Visit: "v1", Class: 'I', Place: acuity.Location{PointOfCare: "LDR", Room: "L1"}},
	}}
}

// staffedHours returns the staffing in the newest snapshot of each hour, in the form "1:5y" for hour 1, five nurses
// and call staff.
func staffedHours(changes []acuity.Change) string {
	newest := map[int32]string{}
	last := int32(0)
	for _, s := range snapshots(changes) {
		hour := s.Hour - day.Hour()
		newest[hour], last = fmt.Sprintf("%d%s", s.Nurses, [...]string{"", "n", "y"}[s.Call]), max(last, hour)
	}
	var all []string
	for hour := int32(1); hour <= last; hour++ {
		all = append(all, fmt.Sprintf("%d:%s", hour, newest[hour]))
	}
	return strings.Join(all, " ")
}

func TestBatchStaffsPastHours(t *testing.T) {
	const hour = 60
	now := clockAt(6*hour + 30)
	staffing := func(at, asOf acuity.Instant) acuity.Observation {
		return acuity.Observation{ReceivedAt: at, Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{AsOf: asOf, Nurses: 9}}
	}
	for name, c := range map[string]struct {
		sent     []acuity.Observation
		want     string
		warnings string
	}{
		"none": {[]acuity.Observation{batchOfPast(now)}, "1:-1 2:-1 3:-1 4:-1 5:-1 6:-1", ""},
		"two shifts": {
			[]acuity.Observation{batchOfPast(now, staffedAt(2*hour, 5, acuity.Yes), staffedAt(4*hour+1, 3, acuity.No))},
			"1:-1 2:5y 3:5y 4:5y 5:3n 6:3n", "",
		},
		"out of order, on call only said first": {
			[]acuity.Observation{batchOfPast(now, staffedAt(4*hour, 3, acuity.Unsaid), staffedAt(2*hour, 5, acuity.Yes))},
			"1:-1 2:5y 3:5y 4:3y 5:3y 6:3y", "",
		},
		"without events": {
			[]acuity.Observation{batchOfPast(now), {ReceivedAt: now.Add(time.Minute), Channel: acuity.ChannelBatch, PastStaffing: []acuity.Staffing{staffedAt(3*hour, 4, acuity.Unsaid)}}},
			"1:-1 2:-1 3:4 4:4 5:4 6:4", "",
		},
		"corrected": {
			[]acuity.Observation{batchOfPast(now, staffedAt(0, 5, acuity.Unsaid)), batchOfPast(now.Add(time.Minute), staffedAt(0, 2, acuity.Unsaid))},
			"1:2 2:2 3:2 4:2 5:2 6:2", "",
		},
		"too old": {
			[]acuity.Observation{batchOfPast(now, staffedAt(-28*24*hour, 5, acuity.Yes))},
			"1:-1 2:-1 3:-1 4:-1 5:-1 6:-1", "staffing_too_old staffing[0].asOf",
		},
		"of the hour that is not over": {
			[]acuity.Observation{batchOfPast(now, staffedAt(5*hour, 4, acuity.No), staffedAt(6*hour+10, 2, acuity.No))},
			"1:-1 2:-1 3:-1 4:-1 5:4n 6:4n", "staffing_not_past staffing[1].asOf",
		},
		"until a staffing that came by its feed": {
			[]acuity.Observation{staffing(now, clockAt(4*hour)), batchOfPast(now.Add(time.Minute), staffedAt(2*hour, 5, acuity.No))},
			"1:-1 2:5n 3:5n 4:-1 5:-1 6:-1", "",
		},
		"and from an entry after that one": {
			[]acuity.Observation{staffing(now, clockAt(4*hour)), batchOfPast(now.Add(time.Minute), staffedAt(2*hour, 5, acuity.No), staffedAt(5*hour, 1, acuity.No))},
			"1:-1 2:5n 3:5n 4:-1 5:1n 6:1n", "",
		},
		"a staffing that came later by its feed": {
			[]acuity.Observation{batchOfPast(now, staffedAt(2*hour, 5, acuity.No)), staffing(now.Add(time.Second), clockAt(4*hour)), batchOfPast(now.Add(time.Minute), staffedAt(hour, 7, acuity.No))},
			"1:7n 2:5n 3:5n 4:-1 5:-1 6:-1", "",
		},
		"of hours that were observed live, which are 4 to 6": {
			[]acuity.Observation{
				arrival(clockAt(3*hour+30), acuity.Event{ID: "live", Type: acuity.A01, Visit: "v2", Class: 'I', Place: acuity.Location{PointOfCare: "LDR", Room: "L2"}}),
				batchOfPast(now, staffedAt(2*hour, 5, acuity.No), staffedAt(5*hour, 3, acuity.No)),
			},
			"1:-1 2:5n 3:5n 4:-1 5:-1 6:-1", "staffing_of_live_hours staffing[1].asOf",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := New(testHospital)
			changes := feed(u, c.sent...)
			var warnings []string
			for _, change := range changes {
				for _, w := range change.Warnings {
					if w.Code != "duplicate" {
						warnings = append(warnings, w.Code+" "+w.Path)
					}
				}
			}
			changes = u.advance(changes, now.Add(5*time.Minute))
			if got := staffedHours(changes); got != c.want {
				t.Errorf("hours %s\nwant  %s", got, c.want)
			}
			if got := strings.Join(warnings, ", "); got != c.warnings {
				t.Errorf("warnings %s, want %s", got, c.warnings)
			}
			if f := u.registry.Facts.Staffing; len(f) > 0 && f[0].Nurses != 9 {
				t.Errorf("the staffing of a batch is in force now: %+v", f)
			}
		})
	}
}

// A past hour with staffing from a batch has the same level as a live hour with that staffing.
func TestPastHourHasTheLevelOfItsStaffing(t *testing.T) {
	const hour = 60
	shifts := []acuity.Staffing{staffedAt(1, 0, acuity.No), staffedAt(4*hour, 5, acuity.No)}
	now := clockAt(8*hour + 30)
	live, late := New(testHospital), New(testHospital)
	event := batchOfPast(now).Events[0]
	want := snapshots(live.advance(feed(live,
		acuity.Observation{ReceivedAt: clockAt(1), Channel: acuity.ChannelStaffing, Staffing: &shifts[0]}, arrival(event.At, event),
		acuity.Observation{ReceivedAt: clockAt(3 * hour), Channel: acuity.ChannelStaffing, Staffing: &shifts[1]},
	), now))
	got := snapshots(late.advance(feed(late, batchOfPast(now, shifts...)), now.Add(time.Minute)))
	if len(got) != 8 || len(want) != 8 || want[0].Level == want[7].Level {
		t.Fatalf("%d hours by batch, %d live, levels %v and %v", len(got), len(want), want[0].Level, want[7].Level)
	}
	for i := range got {
		if got[i].Level != want[i].Level || got[i].Nurses != want[i].Nurses || got[i].Call != want[i].Call {
			t.Errorf("hour %d: %v with %d nurses, live %v with %d", i+1, got[i].Level, got[i].Nurses, want[i].Level, want[i].Nurses)
		}
	}
}

// Past hours do not depend on the order of the staffing in a batch, on how the staffing is divided into batches, or
// on a restart before the backfill.
func TestPastStaffingHasNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := clockAt(12*60 + 30)
		list := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) acuity.Staffing {
			return staffedAt(rapid.IntRange(-60, 12*60).Draw(t, "minute"), rapid.Int32Range(0, 9).Draw(t, "nurses"), acuity.Tristate(rapid.IntRange(0, 2).Draw(t, "call")))
		}), 1, 8, func(s acuity.Staffing) acuity.Instant { return s.AsOf }).Draw(t, "list")
		hours := func(u *State, batches ...[]acuity.Staffing) string {
			var changes []acuity.Change
			log := changelog{}
			for i, batch := range batches {
				changes = append(changes, feed(u, batchOfPast(now.Add(time.Duration(i)*time.Second), batch...))...)
				if log.write(u); i%2 == 1 {
					u = log.restore(t)
				}
			}
			return staffedHours(u.advance(changes, now.Add(5*time.Minute)))
		}
		want := hours(New(testHospital), list)
		mixed := rapid.Permutation(list).Draw(t, "mixed")
		n := rapid.IntRange(0, len(mixed)).Draw(t, "first")
		if got := hours(New(testHospital), mixed); got != want {
			t.Fatalf("in another order\n%s, want\n%s", got, want)
		}
		if got := hours(New(testHospital), mixed[:n], mixed[n:]); got != want {
			t.Fatalf("in two batches\n%s, want\n%s", got, want)
		}
		if got := hours(NewPlain(testHospital), mixed); got != want {
			t.Fatalf("by the reference\n%s, want\n%s", got, want)
		}
	})
}

// The record of past staffing keeps the newest entries and drops entries that no backfill needs. When the last entry
// is dropped, the record is deleted.
func TestPastStaffingIsBounded(t *testing.T) {
	u, log := New(testHospital), changelog{}
	now := clockAt(30)
	for n := range 3 {
		var list []acuity.Staffing
		for i := range 400 {
			list = append(list, staffedAt(-30*(n*400+i), int32(i%9), acuity.No))
		}
		c := feed(u, acuity.Observation{ReceivedAt: now.Add(time.Duration(n) * time.Second), Channel: acuity.ChannelBatch, PastStaffing: list})
		if warned := len(c[len(c)-1].Warnings) > 0; warned != (n == 2) {
			t.Errorf("batch %d: warnings %v", n, c[len(c)-1].Warnings)
		}
	}
	if list := u.hours.staffed.List; len(list) != capPastStaffing || list[capPastStaffing-1].AsOf != clockAt(0) {
		t.Errorf("%d entries, the last of %s", len(list), list[len(list)-1].AsOf.Time())
	}
	key := testHospital + "/past-staffing"
	if log.write(u); log[key] == nil {
		t.Error("no record")
	}
	restored := log.restore(t)
	if err := restored.Restore(key, nil); err != nil || restored.hours.staffed.List != nil {
		t.Errorf("deleted: %v, %d entries", err, len(restored.hours.staffed.List))
	}
	feed(u, acuity.Observation{ReceivedAt: now.Add(time.Minute), Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 1}})
	u.advance(nil, now.Add(24*time.Hour))
	feed(u, acuity.Observation{ReceivedAt: now.Add(29 * 24 * time.Hour), Channel: acuity.ChannelStaffing, Staffing: &acuity.Staffing{Nurses: 2}})
	if log.write(u); log[key] != nil || u.hours.staffed.List != nil {
		t.Errorf("after 29 days %v", u.hours.staffed.List)
	}
}
