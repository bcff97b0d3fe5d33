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
	"svc/acuity/score"
	"svc/readapi"
)

// drawnFactors are factors with which a verdict can change as time passes.
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

// drawChart draws a chart in which rooms are changed, added or removed. before contains the rooms of the previous
// chart; it may be nil.
func drawChart(t *rapid.T, version int64, clock acuity.Instant, before []acuity.RoomChart) *acuity.Chart {
	c := &acuity.Chart{Hospital: "north", Unit: acuity.UnitChart{Version: version, Since: clock, Clock: clock, HasCensus: true, TotalRooms: 5}}
	c.Unit.Run = acuity.LevelRun{Since: clock.Add(-20 * minutes), Prior: acuity.LevelRed, HasPrior: rapid.Bool().Draw(t, "had a level")}
	if n := rapid.Int32Range(-1, 4).Draw(t, "nurses"); n >= 0 {
		c.Unit.Staffing = []acuity.Staffing{{AsOf: clock, Nurses: n}, {AsOf: clock.Add(45 * minutes), Nurses: n + 1}}
	}
	if ago := rapid.IntRange(-1, 130).Draw(t, "move"); ago >= 0 {
		c.Unit.Moves = []acuity.Instant{clock.Add(-time.Duration(ago) * minutes)}
	}
	for id := range int32(6) {
		at := slices.IndexFunc(before, func(r acuity.RoomChart) bool { return r.ID == id })
		switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
		case what < 2: // the room changes or is added
			c.Rooms = append(c.Rooms, drawRoom(t, id, clock))
		case what > 2 && at >= 0: // an existing room is unchanged; in all other cases, the chart has no such room
			c.Rooms = append(c.Rooms, before[at])
		}
	}
	return c
}

// plainVerdict judges the whole chart at every due instant up to now.
func plainVerdict(c *acuity.Chart, now acuity.Instant) *score.Verdict {
	v := score.Judge(c, c.Unit.Clock)
	for v.Next != 0 && v.Next <= now {
		at, before := v.Next, v
		v = score.Judge(c, at)
		v.AsOf, v.Run = at, before.Run
		if v.Level != before.Level {
			v.Run = acuity.LevelRun{Since: at, Prior: before.Level, HasPrior: true}
		}
	}
	return &v
}

// TestCachedAnswersAreFresh: a response from the cache equals a fresh one, at any instant and after any change of the
// chart. After a change, only the rooms that changed are decoded, even if the view returns the whole state.
func TestCachedAnswersAreFresh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		later := func(label string, from, to int) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * minutes
		}
		cached := newFixture(drawChart(t, 1, noon, nil))
		headers := []string{"Authorization", "Bearer svc_north"}
		answered := map[int32]acuity.RoomChart{}
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			cached.now = max(noon, cached.now.Add(later("later", -10, 90)))
			if rapid.IntRange(0, 1).Draw(t, "change") == 0 {
				cached.token.Version++
				// The clock of the process that writes charts may be slower or faster than the reader's.
				clock := max(cached.chart.Unit.Clock, cached.now.Add(later("behind", -60, 10)))
				cached.chart = drawChart(t, cached.token.Version, clock, cached.chart.Rooms)
			}
			differ := int32(0)
			for _, r := range cached.chart.Rooms {
				if old, ok := answered[r.ID]; !ok || !reflect.DeepEqual(old, r) {
					differ++
				}
			}
			cached.decoded.Store(0)
			cached.partial = rapid.Bool().Draw(t, "partial")
			fresh := newFixture(cached.chart)
			fresh.now = cached.now
			for _, path := range []string{"/api/v1/level", "/api/v1/unit-state"} {
				got, want := ask(cached, path, headers), ask(fresh, path, headers)
				text := data(t, got)
				if text != data(t, want) || got.Header.Get("Etag") != want.Header.Get("Etag") {
					t.Fatalf("%s at %v differs from a fresh answer", path, cached.now.Time())
				}
				if all := string(readapi.UnitState(plainVerdict(cached.chart, cached.now))); path == "/api/v1/unit-state" && text != all {
					t.Fatalf("at %v:\n%s\nwant\n%s", cached.now.Time(), text, all)
				}
			}
			if cached.decoded.Load() > differ {
				t.Fatalf("%d rooms decoded, %d differ", cached.decoded.Load(), differ)
			}
			clear(answered)
			for _, r := range cached.chart.Rooms {
				answered[r.ID] = r
			}
		}
		// Each new state is read at most twice: once for an answer, and once to validate it.
		if cached.given.Load() > 2*int32(cached.token.Version) {
			t.Fatalf("%d charts for %d versions", cached.given.Load(), cached.token.Version)
		}
	})
}

// TestManyShareOneValidation: requests that arrive during a validation wait for the next one and share it. Each of
// them gets a state that is at least as new as the request.
func TestManyShareOneValidation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(worked(t))
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
		synctest.Wait() // all requests wait for the one that validates
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

// TestWaitingRequestsGetTheFault: if a validation fails, every request that waited for it gets the error.
func TestWaitingRequestsGetTheFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(worked(t))
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
