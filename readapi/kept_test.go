package readapi_test

import (
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/readapi"
)

// drawnFactors are some whose verdict changes with time.
var drawnFactors = []string{"labor-standard", "triage-initial", "triage-admit", "pp-couplet", "pp-recovery-stable", "high-mag", "high-hemorrhage", "mews-active", "labor-vaginal-birth", "high-eclampsia"}

func drawRoom(t *rapid.T, id int32, clock acuity.Instant) acuity.RoomChart {
	r := acuity.RoomChart{ID: id, Status: acuity.RoomOccupied, Listed: true}
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 0}).Draw(t, "patients") {
		p := acuity.PatientChart{Visit: "v", Mother: true, Arrived: clock.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, "arrived")) * minutes)}
		for range rapid.IntRange(0, 3).Draw(t, "factors") {
			age := time.Duration(rapid.IntRange(0, 500).Draw(t, "age")) * minutes
			e := evidence(t, rapid.SampledFrom(drawnFactors).Draw(t, "factor"), acuity.ByADT, clock.Add(-age), acuity.Source{})
			if e.Factor.IsPrimary() || len(p.Evidence) > 0 {
				p.Evidence = append(p.Evidence, e)
			}
		}
		r.Patients = append(r.Patients, p)
	}
	return r
}

// drawChart changes, adds and removes rooms of the one before, or none.
func drawChart(t *rapid.T, version int64, clock acuity.Instant, before []acuity.RoomChart) *acuity.Chart {
	c := &acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{Version: version, Since: clock, Clock: clock, HasCensus: true, TotalRooms: 5}}
	if n := rapid.Int32Range(-1, 4).Draw(t, "nurses"); n >= 0 {
		c.Unit.Staffing = []acuity.Staffing{{AsOf: clock, Nurses: n}, {AsOf: clock.Add(45 * minutes), Nurses: n + 1}}
	}
	if ago := rapid.IntRange(-1, 130).Draw(t, "move"); ago >= 0 {
		c.Unit.Moves = []acuity.Instant{clock.Add(-time.Duration(ago) * minutes)}
	}
	for id := range int32(6) {
		at := slices.IndexFunc(before, func(r acuity.RoomChart) bool { return r.ID == id })
		switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
		case what < 2: // changes or comes
			c.Rooms = append(c.Rooms, drawRoom(t, id, clock))
		case what > 2 && at >= 0: // stays; 2: goes, or there still is none
			c.Rooms = append(c.Rooms, before[at])
		}
	}
	return c
}

// plain judges a chart by way of every due instant, and all of it each time.
func plain(c *acuity.Chart, now acuity.Instant) *acuity.Verdict {
	v := c.Verdict(c.Unit.Clock)
	for v.Next != 0 && v.Next <= now {
		at := v.Next
		v = c.Verdict(at)
		v.AsOf = at
	}
	return &v
}

// A kept answer is the fresh one, at any instant and after any change; and what
// has not changed is not decoded again.
func TestKeptAnswersAreFresh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		later := func(label string, from, to int) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * minutes
		}
		kept := newHouse(drawChart(t, 1, noon, nil))
		headers := []string{"Authorization", "Bearer svc_north"}
		answered := map[int32]acuity.RoomChart{}
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			kept.now = max(noon, kept.now.Add(later("later", -10, 90)))
			if rapid.IntRange(0, 1).Draw(t, "change") == 0 {
				kept.token.Version++
				// The clock that writes charts may be behind ours, or ahead.
				clock := max(kept.chart.Unit.Clock, kept.now.Add(later("behind", -60, 10)))
				kept.chart = drawChart(t, kept.token.Version, clock, kept.chart.Rooms)
			}
			differ := int32(0)
			for _, r := range kept.chart.Rooms {
				if old, ok := answered[r.ID]; !ok || !reflect.DeepEqual(old, r) {
					differ++
				}
			}
			kept.decoded.Store(0)
			fresh := newHouse(kept.chart)
			fresh.now = kept.now
			for _, path := range []string{"/api/v1/level", "/api/v1/unit-state"} {
				got, want := ask(kept, path, headers), ask(fresh, path, headers)
				text := data(t, got)
				if text != data(t, want) || got.Header.Get("Etag") != want.Header.Get("Etag") {
					t.Fatalf("%s at %v differs from a fresh answer", path, kept.now.Time())
				}
				if all := string(readapi.UnitState(plain(kept.chart, kept.now))); path == "/api/v1/unit-state" && text != all {
					t.Fatalf("at %v:\n%s\nwant\n%s", kept.now.Time(), text, all)
				}
			}
			if kept.decoded.Load() > differ {
				t.Fatalf("%d rooms decoded, %d differ", kept.decoded.Load(), differ)
			}
			clear(answered)
			for _, r := range kept.chart.Rooms {
				answered[r.ID] = r
			}
		}
		if kept.given.Load() > int32(kept.token.Version) {
			t.Fatalf("%d charts for %d versions", kept.given.Load(), kept.token.Version)
		}
	})
}

// Of many who find a unit changed, one reads and judges it.
func TestOneReadsForAll(t *testing.T) {
	h := newHouse(worked(t))
	h.get(t, "/api/v1/level")
	h.token.Version++
	const readers = 16
	var asked atomic.Int32
	everybody := make(chan struct{})
	h.asking = func() {
		if asked.Add(1) == readers {
			close(everybody)
		}
	}
	h.reading = func() { <-everybody } // until all have seen that it has changed
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			if w := ask(h, "/api/v1/unit-state", []string{"Authorization", "Bearer svc_north"}); w.StatusCode != http.StatusOK {
				t.Errorf("status %d", w.StatusCode)
			}
		})
	}
	all.Wait()
	if h.given.Load() != 2 {
		t.Errorf("the state was read %d times, want once before the change and once after", h.given.Load())
	}
}
