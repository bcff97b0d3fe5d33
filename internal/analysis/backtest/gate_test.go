package backtest_test

import (
	"flag"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/backtest"
	"svc/internal/analysis/backtest/hours/hourstest"
	"svc/internal/analysis/simulate"
)

// year enables the tests that take minutes. make backtest sets it.
var year = flag.Bool("year", false, "the gates on whole years of small and medium units, and what docs/forecast.md tells")

// madeUnit is a simulated unit.
type madeUnit struct {
	profile string
	seed    uint64
	weeks   int
}

func (m madeUnit) String() string {
	return fmt.Sprintf("%s, seed %d, %d weeks", m.profile, m.seed, m.weeks)
}

var (
	cutOnce sync.Mutex
	cut     = map[madeUnit][]*acuity.Snapshot{}
)

var chicago = func() *time.Location {
	z, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err)
	}
	return z
}()

// hoursOf simulates a unit, applies its feeds as a live processor does, and returns the recorded hours. It caches
// them, because several tests use the same unit.
func hoursOf(tb testing.TB, m madeUnit) []*acuity.Snapshot {
	tb.Helper()
	cutOnce.Lock()
	defer cutOnce.Unlock()
	if list := cut[m]; list != nil {
		return list
	}
	requests, err := simulate.Requests(simulate.Options{
		Seed: m.seed, Profile: m.profile, Start: time.Date(2026, 1, 5, 0, 0, 0, 0, chicago), For: time.Duration(m.weeks) * 7 * 24 * time.Hour,
	})
	if err != nil {
		tb.Fatal(err)
	}
	list := hourstest.Cut(tb, requests, chicago)
	cut[m] = list
	return list
}

// TestGates: the forecast passes the gate on simulated units that were not used to tune the forecast.
func TestGates(t *testing.T) {
	units := []madeUnit{{"small", 1, 26}, {"small", 2, 26}}
	if *year {
		units = []madeUnit{{"small", 1, 52}, {"small", 2, 52}, {"medium", 1, 52}, {"medium", 2, 52}}
	}
	for _, m := range units {
		t.Run(m.String(), func(t *testing.T) {
			r, err := backtest.Run(hoursOf(t, m), backtest.Options{Hospital: "h", Zone: chicago, Warmup: 8 * 168})
			if err != nil {
				t.Fatal(err)
			}
			logReport(t, r)
			if !r.Gate.Passed {
				t.Errorf("gate: %q", r.Gate.Faults)
			}
			for h, b := range r.Band { // half a year is long enough for the limits of long periods
				if b < .75 || b > .85 {
					t.Errorf("%d h: %.3f within the band", h+1, b)
				}
			}
		})
	}
}

// TestGateOfDemo: the forecast passes the gate on the 28 days of the demo, on whichever weekday the demo starts.
func TestGateOfDemo(t *testing.T) {
	for day := range 7 {
		start := time.Date(2026, 10, 1+day*31, 3*day, 17, 0, 0, chicago)
		requests, err := simulate.Requests(simulate.Options{Seed: 1, Profile: "medium", Start: start, For: 28 * 24 * time.Hour, Steady: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := backtest.Run(hourstest.Cut(t, requests, chicago), backtest.Options{Hospital: "demo", Zone: chicago, Warmup: 14 * 24})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Gate.Passed {
			t.Errorf("from %v: %q", start, r.Gate.Faults)
		}
	}
}

// TestBandLimits: the limits for the coverage of the band are wider for short periods and for hours further ahead.
// For long periods, they are 75 and 85%.
func TestBandLimits(t *testing.T) {
	for _, c := range []struct {
		ahead, days int
		least, most float64
	}{{1, 14, .735, .905}, {8, 14, .615, 1}, {1, 28, .75, .85}, {8, 28, .669, .971}, {8, 364, .75, .85}} {
		least, most := backtest.BandLimits(c.ahead, float64(24*c.days))
		if math.Abs(least-c.least) > .001 || math.Abs(most-c.most) > .001 {
			t.Errorf("%d h ahead, %d days: %.3f to %.3f, not %.3f to %.3f", c.ahead, c.days, least, most, c.least, c.most)
		}
	}
}

// TestMinimumGain: the minimum gain is lower for short periods. From 28 weeks on, it is 10%.
func TestMinimumGain(t *testing.T) {
	for days, want := range map[float64]float64{1: 0, 7: 0, 14: .023, 28: .054, 196: .10, 364: .10} {
		if got := backtest.MinimumGain(days); math.Abs(got-want) > .001 {
			t.Errorf("%v days: %.3f, want %.3f", days, got, want)
		}
	}
}

// TestOthers measures units for which only the limits in measure apply, not the gate: other seeds, a large unit, and
// a unit that sends only census feeds. docs/forecast.md contains the results.
func TestOthers(t *testing.T) {
	if !*year {
		units := []madeUnit{{"census-only", 1, 12}}
		for _, m := range units {
			measure(t, m, 8*168)
		}
		return
	}
	for _, m := range []madeUnit{{"small", 3, 52}, {"small", 4, 52}, {"medium", 3, 52}, {"medium", 4, 52}, {"large", 1, 40}, {"census-only", 1, 52}} {
		measure(t, m, 8*168)
	}
}

// TestFirstDays: on days 2 to 7 of a unit's history, the mean error of the forecast is at most that of persistence.
// The test averages several units, because the result for a few days of one unit depends on chance.
func TestFirstDays(t *testing.T) {
	const units = 6
	var ours, persistence [2]float64 // days 2-3, 4-7
	for seed := range uint64(units) {
		r, err := backtest.Run(hoursOf(t, madeUnit{"small", seed + 1, 1}), backtest.Options{Hospital: "h", Zone: chicago, Warmup: 24, Models: []string{"persistence"}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range ours {
			ours[i] += r.Ages[i].Models[0].Mean / units
			persistence[i] += r.Ages[i].Models[1].Mean / units
		}
	}
	t.Logf("error in days 2-3, 4-7: %.2f, persistence %.2f", ours, persistence)
	for i := range ours {
		if ours[i] > persistence[i] {
			t.Errorf("error %.3f, persistence %.3f", ours[i], persistence[i])
		}
	}
}

// measure checks a unit of any kind: the coverage of the band is within its limits, and the error is below that of
// persistence.
func measure(t *testing.T, m madeUnit, warmup int) {
	t.Helper()
	t.Run(m.String(), func(t *testing.T) {
		r, err := backtest.Run(hoursOf(t, m), backtest.Options{Hospital: "h", Zone: chicago, Warmup: warmup})
		if err != nil {
			t.Fatal(err)
		}
		logReport(t, r)
		for h, b := range r.Band {
			if b < .75 || b > .85 {
				t.Errorf("%d h: %.3f within the band", h+1, b)
			}
		}
		if r.Models[0].Mean >= r.Models[1].Mean {
			t.Errorf("error %.3f, %s %.3f", r.Models[0].Mean, r.Models[1].Name, r.Models[1].Mean)
		}
	})
}

func logReport(t *testing.T, r *backtest.Report) {
	t.Helper()
	t.Logf("R %.1f, gain %.1f %% over %s, band %.3f", r.Required, 100*r.Gain, r.Best, r.Band)
	for _, m := range r.Models {
		t.Logf("  %-13s %.2f %.2f", m.Name, m.Mean, m.MAE)
	}
	for _, m := range r.Census {
		t.Logf("  rooms %-13s %.2f %.2f, root of the mean square %.2f", m.Name, m.Mean, m.MAE, m.RMSE)
	}
	for i, name := range []string{"held", "came"} {
		for _, l := range [][]backtest.LevelErrors{r.Levels, r.Came}[i] {
			t.Logf("  level %s %-13s RPS %.3f %.2f, Brier %.2f", name, l.Name, l.Mean, l.RPS, l.Brier)
		}
	}
	t.Logf("  pinball %.2f, orange %+v, lead %+v", r.Pinball, r.Orange, r.Lead)
	for _, a := range r.Ages {
		t.Logf("  %s: error %.2f, gain %.1f %%, band %.3f", a.Name, a.Models[0].Mean, 100*a.Gain, a.Band)
	}
}

// BenchmarkYear runs the backtest on the recorded hours of a unit's year. The goal is less than 10 s.
func BenchmarkYear(b *testing.B) {
	list := hoursOf(b, madeUnit{"small", 1, 52})
	for b.Loop() {
		if _, err := backtest.Run(list, backtest.Options{Hospital: "h", Warmup: 8 * 168}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(len(list)), "ms/hour")
}
