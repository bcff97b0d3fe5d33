package forecast_test

import (
	"bytes"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/internal/analysis/backtest/hours/hourstest"
	"svc/internal/analysis/simulate"
)

var update = flag.Bool("update", false, "write the golden files")

var zone = func() *time.Location {
	z, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err)
	}
	return z
}()

// simulated returns the requests that a simulated unit sends before the given time, which is at most three weeks
// after the start.
func simulated(t *testing.T, until time.Duration) iter.Seq[simulate.Request] {
	t.Helper()
	o := simulate.Options{Seed: 1, Profile: "medium", Start: time.Date(2026, 1, 5, 0, 0, 0, 0, zone), For: 21 * 24 * time.Hour}
	all, err := simulate.Requests(o)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(simulate.Request) bool) {
		for r := range all {
			if r.At.Sub(o.Start) >= until || !yield(r) {
				return
			}
		}
	}
}

// TestGolden compares twenty forecasts from three simulated weeks with golden values. The values change with the
// forecast and with svc simulate; after such a change, run with -update and review the difference.
func TestGolden(t *testing.T) {
	list := hourstest.Cut(t, simulated(t, 21*24*time.Hour), zone)
	m := forecast.NewModel("h")
	var got bytes.Buffer
	for i, s := range list {
		forecast.Learn(m, s, zone)
		if i%25 != 24 {
			continue
		}
		u := &forecast.Unit{At: acuity.Instant(s.Hour) * 3_600_000, Snapshot: s, Zone: zone}
		if i%2 == 1 {
			u.Staffing = []acuity.Staffing{{AsOf: u.At + 5*3_600_000, Nurses: 14, Call: acuity.Yes}}
		}
		f, err := forecast.Predict(m, u)
		if err != nil {
			fmt.Fprintf(&got, "%s %v\n\n", u.At.Time().Format(time.RFC3339), err)
			continue
		}
		write(&got, &f)
	}
	name := filepath.Join("testdata", "forecasts.golden")
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got.Bytes(), want) {
		return
	}
	is, was := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(is), len(was)) {
		if !bytes.Equal(is[i], was[i]) {
			t.Fatalf("line %d\n%s\nwant\n%s", i+1, is[i], was[i])
		}
	}
	t.Fatalf("%d lines, want %d", len(is), len(was))
}

func write(to *bytes.Buffer, f *forecast.Forecast) {
	fmt.Fprintf(to, "%s %s after %d hours, peak %s %.2f, %s %+v\n", f.At.Time().Format(time.RFC3339), f.Method, f.HistoryHours,
		f.Peak.At.Time().Format("15:04"), f.Peak.P90, f.Calibration.Status, f.Calibration)
	for _, h := range f.Hours {
		fmt.Fprintf(to, "  %s %.2f mean %.2f census %.2f arrivals %.2f short %d %d\n", h.End.Time().Format("15:04"), h.Nurses, h.Mean, h.Census, h.Arrivals, h.ShortfallP50, h.ShortfallP90)
	}
	for _, p := range f.Points {
		fmt.Fprintf(to, "  %s level %d %4d by %d\n", p.At.Time().Format("15:04"), p.Level, p.P, p.Driving)
	}
	for _, d := range f.Drivers {
		fmt.Fprintf(to, "  - %s\n", d)
	}
	to.WriteByte('\n')
}

// TestLaterRecordsChangeNothing: later records in a log do not change a single byte of a model learned from earlier
// ones, or of its forecasts.
func TestLaterRecordsChangeNothing(t *testing.T) {
	whole := hourstest.Cut(t, simulated(t, 10*24*time.Hour), zone)
	cut := hourstest.Cut(t, simulated(t, 6*24*time.Hour), zone)
	a, b := forecast.NewModel("h"), forecast.NewModel("h")
	for i, s := range cut {
		forecast.Learn(a, whole[i], zone)
		forecast.Learn(b, s, zone)
	}
	if len(cut) < 5*24 || !bytes.Equal(encoded(t, a), encoded(t, b)) {
		t.Fatalf("after %d hours the models differ", len(cut))
	}
}

// TestDriversAreTexts: each kind of driver sentence except "usual for this hour" occurs in at least one forecast of
// three simulated weeks, and every forecast in those weeks is consistent.
func TestDriversAreTexts(t *testing.T) {
	list := hourstest.Cut(t, simulated(t, 21*24*time.Hour), zone)
	m := forecast.NewModel("h")
	kinds := map[string]int{}
	begins := []string{"arrivals expected by", "mothers likely to leave by", "births and progress of labor by", "known changes in care", "usual for this hour"}
	for _, s := range list {
		forecast.Learn(m, s, zone)
		f, err := forecast.Predict(m, &forecast.Unit{At: acuity.Instant(s.Hour) * 3_600_000, Snapshot: s, Zone: zone})
		if err != nil {
			continue
		}
		sound(t, &f)
		for _, d := range f.Drivers {
			i := slices.IndexFunc(begins, func(b string) bool { return strings.Contains(d, b) })
			if i >= 0 {
				kinds[begins[i]]++
			}
		}
	}
	for _, b := range begins[:4] {
		if kinds[b] == 0 {
			t.Errorf("never: %s", b)
		}
	}
	t.Log(kinds)
}
