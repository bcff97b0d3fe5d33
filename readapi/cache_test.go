package readapi_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// A kept answer is the fresh one, at any instant and after any change, whether that
// is told or the whole; and what has not changed is not decoded again.
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
			kept.partial = rapid.Bool().Draw(t, "partial")
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
		// A state is read when it is new, and once more to see that it stays.
		if kept.given.Load() > 2*int32(kept.token.Version) {
			t.Fatalf("%d charts for %d versions", kept.given.Load(), kept.token.Version)
		}
	})
}

// Those who come while somebody looks share the next look, and are told what is
// so then: never what was so before they asked.
func TestManyShareOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(worked(t))
		h.get(t, "/api/v1/level")
		h.token.Version++
		begun, goOn := make(chan struct{}), make(chan struct{})
		h.reading = func() {
			h.reading = nil
			close(begun)
			<-goOn
		}
		var all sync.WaitGroup
		read := func() {
			all.Go(func() {
				if w := ask(h, "/api/v1/unit-state", []string{"Authorization", "Bearer svc_north"}); w.StatusCode != http.StatusOK {
					t.Errorf("status %d", w.StatusCode)
				}
			})
		}
		read()
		<-begun
		later := *h.chart
		later.Unit.Version += 100
		var answers [16]string
		for i := range answers {
			all.Go(func() {
				answers[i] = data(t, ask(h, "/api/v1/unit-state", []string{"Authorization", "Bearer svc_north"}))
			})
		}
		synctest.Wait() // they wait for the one who looks
		before := h.given.Load()
		h.chart, h.token.Version = &later, h.token.Version+1
		close(goOn)
		all.Wait()
		if got := h.given.Load() - before; got != 1 {
			t.Errorf("the state was read %d times for all who waited, want once", got)
		}
		want := fmt.Sprintf(`"version":%d`, later.Unit.Version)
		for i, answer := range answers {
			if !strings.Contains(answer, want) {
				t.Errorf("reader %d was told of a state from before the request", i)
			}
		}
	})
}

// Who waits for a look that cannot be made is told so, whoever makes it.
func TestWhoWaitsHearsOfAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(worked(t))
		goOn := make(chan struct{})
		h.reading = func() { <-goOn }
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { ask(h, "/api/v1/level", []string{"Authorization", "Bearer svc_north"}) })
		}
		synctest.Wait()
		h.reading = func() { panic("a fault of the port") }
		h.token.Version++
		var failed atomic.Int32
		for range 8 {
			all.Go(func() {
				if ask(h, "/api/v1/level", []string{"Authorization", "Bearer svc_north"}).StatusCode == http.StatusInternalServerError {
					failed.Add(1)
				}
			})
		}
		synctest.Wait()
		close(goOn)
		all.Wait()
		if failed.Load() != 8 {
			t.Errorf("%d of 8 were told of the fault", failed.Load())
		}
	})
}
