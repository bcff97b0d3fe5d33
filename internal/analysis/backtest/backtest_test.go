package backtest_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/internal/analysis/backtest"
)

// unit generates the hours of a unit. Patients arrive during the day, need one nurse each and leave after about half a
// day.
func unit(seed uint64, hours int) []acuity.Snapshot {
	random := rand.New(rand.NewPCG(seed, 7))
	list := make([]acuity.Snapshot, hours)
	ends := map[uint64]int{}
	var here []uint64
	name := uint64(0)
	for i := range list {
		s := &list[i]
		*s = acuity.Snapshot{Hour: 490_000 + int32(i), Observed: true, Nurses: 8, Call: acuity.No, Rooms: 30}
		for range random.IntN(3) * (i % 24 / 8) {
			name++
			ends[name] = i + 1 + int(12*random.ExpFloat64())
			here = append(here, name)
			s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: name, Kind: acuity.ArrivesLabor})
		}
		here = slices.DeleteFunc(here, func(n uint64) bool { return ends[n] <= i })
		for _, n := range here {
			v := acuity.SnapshotVisit{Visit: n, Class: acuity.StageLabor}
			for h := range v.Demand {
				v.Demand[h], v.Score[h] = 60, 20
			}
			s.Visits = append(s.Visits, v)
		}
		s.Occupied = int32(len(here))
	}
	return list
}

func each(list []acuity.Snapshot) (all []*acuity.Snapshot) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

func run(t *testing.T, list []acuity.Snapshot, o backtest.Options) *backtest.Report {
	t.Helper()
	r, err := backtest.Run(each(list), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCounts checks the number of forecasts that are compared.
func TestCounts(t *testing.T) {
	list := unit(1, 30*24)
	const first = 490_000
	for name, tt := range map[string]struct {
		options backtest.Options
		gap     bool
		want    int
	}{
		"after the warm-up": {backtest.Options{Warmup: 240}, false, (720-240)*8 - 28},
		"from an hour":      {backtest.Options{Warmup: 24, From: first + 700}, false, 20*8 - 36},
		"up to an hour":     {backtest.Options{Warmup: 24, From: first + 300, To: first + 310}, false, 10 * 8},
		// Each of the eight origins before the unobserved hour loses its forecasts for that hour and for all later
		// hours: one forecast at the earliest origin, eight at the latest. No forecasts are made in the unobserved
		// hour.
		"around a gap": {backtest.Options{Warmup: 24, From: first + 290, To: first + 310}, true, 10*8 - 36 + 9*8},
	} {
		t.Run(name, func(t *testing.T) {
			hours := slices.Clone(list)
			if tt.gap {
				hours[300].Observed = false
			}
			if r := run(t, hours, tt.options); r.Forecasts != tt.want {
				t.Errorf("%d forecasts, want %d", r.Forecasts, tt.want)
			}
		})
	}
}

// TestErrorsByHand: for six weeks, a unit needs one nurse in the first half of each day and two in the second half.
// Persistence is wrong only if the origin and the forecast hour are in different halves of a day. Methods that know
// the daily pattern make almost no errors.
func TestErrorsByHand(t *testing.T) {
	list := make([]acuity.Snapshot, 6*168)
	for i := range list {
		s := &list[i]
		*s = acuity.Snapshot{Hour: 490_008 + int32(i), Observed: true, Nurses: 3, Call: acuity.Yes, Occupied: 1, Rooms: 9} // midnight
		v := acuity.SnapshotVisit{Visit: 1, Class: acuity.StageOther, Age: int32(60 * i)}
		for h := range v.Demand {
			v.Demand[h], v.Score[h] = 60, 20
			if (i+h)%24 >= 12 {
				v.Demand[h] = 120
			}
		}
		s.Visits = []acuity.SnapshotVisit{v}
	}
	r := run(t, list, backtest.Options{Warmup: 4 * 168})
	for _, m := range r.Models {
		for h, mae := range m.MAE {
			switch m.Name {
			case "persistence":
				if want := float64(2*(h+1)) / 24; mae < want-.01 || mae > want+.01 {
					t.Errorf("persistence, %d h: %v, want %v", h+1, mae, want)
				}
			case "hour-of-week", "last-week", "blend":
				if mae > .02 {
					t.Errorf("%s, %d h: %v of what repeats each week", m.Name, h+1, mae)
				}
			case backtest.Method:
				if mae > .05 {
					t.Errorf("the known clock, %d h: error %v", h+1, mae)
				}
			}
		}
	}
}

// TestNothingLeaks: no forecast uses later hours, so hours after the last compared hour do not change the report.
func TestNothingLeaks(t *testing.T) {
	list := unit(2, 40*24)
	o := backtest.Options{Warmup: 10 * 24, To: list[500].Hour}
	whole, cut := run(t, list, o), run(t, list[:500+8], o)
	a, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(cut)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("with later hours\n%s\nwithout\n%s", a, b)
	}
}

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		hours   []*acuity.Snapshot
		options backtest.Options
		want    string
	}{
		"no hours":         {each(nil), backtest.Options{}, "no forecast to measure"},
		"too few":          {each(unit(1, 20)), backtest.Options{Warmup: 24}, "too few observed hours"},
		"none that counts": {each(unit(1, 40)), backtest.Options{Warmup: 24, From: math.MaxInt32 - 1}, "in the requested span"},
		"unknown model":    {each(unit(1, 48)), backtest.Options{Models: []string{"oracle"}}, `model "oracle"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := backtest.Run(tt.hours, tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestGateBites: every hour, all patients of a unit are replaced, so it does not help the forecast to know the
// current patients. The forecast is then not 10% better than the best baseline, and the gate must not pass.
func TestGateBites(t *testing.T) {
	list := unit(3, 60*24)
	for i := range list { // every hour, all patients leave and new ones arrive
		list[i].Arrivals = nil
		for j := range list[i].Visits {
			list[i].Visits[j].Visit += uint64(i) << 32
		}
	}
	r := run(t, list, backtest.Options{Warmup: 28 * 24})
	if r.Gate.Passed || !slices.ContainsFunc(r.Gate.Faults, func(f string) bool { return strings.HasPrefix(f, "gain over ") }) {
		t.Errorf("gate %+v, gain %v", r.Gate, r.Gain)
	}
}

// TestReports: the JSON, CSV and HTML reports agree, and the HTML page does not load other files.
func TestReports(t *testing.T) {
	r := run(t, unit(4, 40*24), backtest.Options{Hospital: "h <b>1</b>", Warmup: 14 * 24, Models: []string{"persistence", "blend"}})
	if len(r.Models) != 3 || r.Models[0].Name != backtest.Method {
		t.Errorf("models %+v", r.Models)
	}
	var sheet, page bytes.Buffer
	if err := errors.Join(r.CSV(&sheet), r.HTML(&page)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&sheet).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	mae := slices.IndexFunc(rows, func(row []string) bool { return slices.Equal(row[:4], []string{"mae", "blend", "all", "8"}) })
	if mae < 0 {
		t.Fatal("no error of the blend in the sheet")
	}
	number, err := json.Marshal(r.Models[2].MAE[7])
	if err != nil {
		t.Fatal(err)
	}
	if rows[mae][4] != string(number) {
		t.Errorf("sheet %v, report %s", rows[mae], number)
	}
	text := page.String()
	for _, not := range []string{"http:", "https:", "<script", "<link", "src=", "<b>1</b>", "NaN", "Inf"} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q", not)
		}
	}
	if n := strings.Count(text, "<svg "); n != 5 {
		t.Errorf("%d pictures", n)
	}
}
