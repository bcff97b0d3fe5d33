package backtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
)

// Report is what a backtest found. Nurses are nurses required; horizons are 1 to
// 8 hours, in this order.
type Report struct {
	Hospital  string    `json:"hospital"`
	Method    string    `json:"method"`
	From      time.Time `json:"from"` // first hour that was compared
	To        time.Time `json:"to"`   // last one
	Warmup    int       `json:"warmupHours"`
	Hours     int       `json:"hours"`     // observed ones that were compared
	Forecasts int       `json:"forecasts"` // of one hour each
	Required  float64   `json:"meanNursesRequired"`

	Models []Errors `json:"models"` // the forecast first
	Best   string   `json:"bestBaseline"`
	Gain   float64  `json:"gain"` // over it: share of its error that is saved

	Band    [forecast.Horizon]float64                     `json:"coverage80"` // share within P10 … P90
	Below   [forecast.Horizon][forecast.Quantiles]float64 `json:"shareBelowQuantile"`
	Pinball [forecast.Horizon]float64                     `json:"pinball"` // mean over the quantiles, in nurses
	Levels  []LevelErrors                                 `json:"levels"`  // with the nurses of the origin; the forecast first
	Came    []LevelErrors                                 `json:"levelsAsTheyCame"`
	Orange  Rate                                          `json:"orange"`
	Lead    Lead                                          `json:"lead"`
	Ages    []Age                                         `json:"byAgeOfHistory"`
	Weeks   []Week                                        `json:"byWeek"`
	Curve   []Bin                                         `json:"reliabilityOfOrange"`

	Gate   Gate     `json:"gate"`
	Sample []Sample `json:"sample"` // the last two weeks, four hours ahead

	sums  []sum // as Models
	inner inner
}

// Errors are the absolute errors of one model.
type Errors struct {
	Name string                    `json:"name"`
	MAE  [forecast.Horizon]float64 `json:"mae"`
	Mean float64                   `json:"meanMAE"`
}

// LevelErrors are those of the levels.
type LevelErrors struct {
	Name  string                    `json:"name"`
	RPS   [forecast.Horizon]float64 `json:"rps"`
	Mean  float64                   `json:"meanRPS"`
	Brier [forecast.Horizon]float64 `json:"brierOrange"`
}

// Rate compares how often orange and worse was forecast and came.
type Rate struct {
	Forecast float64 `json:"forecast"`
	Came     float64 `json:"came"`
}

// Age are errors by how long the history was.
type Age struct {
	Name      string   `json:"name"`
	Forecasts int      `json:"forecasts"`
	Models    []Errors `json:"models"`
	Gain      float64  `json:"gain"`
	Band      float64  `json:"coverage80"`
	least     int      // observed hours
}

// Week is one week of the band.
type Week struct {
	Start time.Time `json:"start"`
	Band  float64   `json:"coverage80"`
	MAE   float64   `json:"mae"`
	n, in float64
	off   float64
}

// Bin is how often orange came of the forecasts with about the same probability.
type Bin struct {
	Forecast  float64 `json:"forecast"`
	Came      float64 `json:"came"`
	Forecasts int     `json:"forecasts"`
}

// Sample is one hour of the picture.
type Sample struct {
	At   time.Time `json:"at"`
	P10  float64   `json:"p10"`
	P50  float64   `json:"p50"`
	P90  float64   `json:"p90"`
	Came float64   `json:"came"`
}

type sum struct {
	n, off [forecast.Horizon]float64
}

func (s *sum) errors(name string) Errors {
	e := Errors{Name: name}
	total, n := 0.0, 0.0
	for h := range s.n {
		e.MAE[h] = rounded(s.off[h]/max(1, s.n[h]), 4)
		total += s.off[h]
		n += s.n[h]
	}
	e.Mean = rounded(total/max(1, n), 4)
	return e
}

type inner struct {
	first, last int32
	required    float64
	in          [forecast.Horizon]float64
	below       [forecast.Horizon][forecast.Quantiles]float64
	pinball     [forecast.Horizon]float64
	rps, brier  [2][4][forecast.Horizon]float64 // held, came
	forecast    float64
	came        float64
	bins        [10][3]float64
	ages        [][]sum
	ageIn       []float64
	show        []int // models that are compared
}

const sampleHours = 14 * 24

func newReport(o *Options) *Report {
	r := &Report{Hospital: o.Hospital, Method: Method, Warmup: o.Warmup, sums: make([]sum, 1+len(baselines))}
	r.Ages = []Age{
		{Name: "days 2-3", least: 24},
		{Name: "days 4-7", least: 3 * 24},
		{Name: "weeks 2-4", least: 7 * 24},
		{Name: "weeks 5-8", least: 28 * 24},
		{Name: "from week 9", least: 56 * 24},
	}
	r.inner.ages, r.inner.ageIn = make([][]sum, len(r.Ages)), make([]float64, len(r.Ages))
	for i := range r.inner.ages {
		r.inner.ages[i] = make([]sum, 1+len(baselines))
	}
	for i, name := range Models() {
		if i == 0 || len(o.Models) == 0 || slices.Contains(o.Models, name) {
			r.inner.show = append(r.inner.show, i)
		}
	}
	return r
}

func add(sums []sum, o *origin, h int, required float64) {
	for i := range sums {
		x := float64(o.ahead[h].Quantiles[forecast.P50])
		if i > 0 {
			x = o.rivals[i-1][h]
		}
		sums[i].n[h]++
		sums[i].off[h] += math.Abs(required - x)
	}
}

func inBand(f *forecast.Ahead, required float64) bool {
	x := float32(required)
	return f.Quantiles[forecast.P10] <= x && x <= f.Quantiles[forecast.P90]
}

func (r *Report) nurses(o *origin, h int, required float64) {
	in, f := &r.inner, &o.ahead[h]
	hour := o.snapshot.Hour + int32(h) + 1 //nolint:gosec // at most 7
	if in.first == 0 {
		in.first = hour
	}
	if hour > in.last {
		in.last = hour
		r.Hours++
	}
	r.Forecasts++
	in.required += required
	add(r.sums, o, h, required)
	if inBand(f, required) {
		in.in[h]++
	}
	for i, tau := range forecast.Taus {
		q := float64(f.Quantiles[i])
		if float32(required) <= f.Quantiles[i] {
			in.below[h][i]++
			in.pinball[h] += (1 - tau) * (q - required) / forecast.Quantiles
		} else {
			in.pinball[h] += tau * (required - q) / forecast.Quantiles
		}
	}
}

// level takes the chances by the forecast and by each baseline.
func (r *Report) level(h int, by *[4]chances, held, came acuity.Level) {
	in := &r.inner
	for i := range by {
		for j, level := range [2]acuity.Level{held, came} {
			in.rps[j][i][h] += by[i].rps(level)
			in.brier[j][i][h] += by[i].brier(level)
		}
	}
	p, happened := by[0][1], 0.0
	if held >= acuity.LevelOrange {
		happened = 1
	}
	in.forecast += p
	in.came += happened
	b := &in.bins[min(int(p*10), 9)]
	b[0]++
	b[1] += p
	b[2] += happened
}

func (r *Report) age(o *origin, h int, required float64) {
	i := len(r.Ages) - 1
	for o.age < r.Ages[i].least {
		i--
	}
	r.Ages[i].Forecasts++
	add(r.inner.ages[i], o, h, required)
	if inBand(&o.ahead[h], required) {
		r.inner.ageIn[i]++
	}
}

func (r *Report) week(hour int32, f *forecast.Ahead, required float64) {
	start := int64(hour-r.inner.first)/168*168 + int64(r.inner.first)
	at := time.Unix(start*3600, 0).UTC()
	if n := len(r.Weeks); n == 0 || r.Weeks[n-1].Start.Before(at) {
		r.Weeks = append(r.Weeks, Week{Start: at})
	}
	w := &r.Weeks[len(r.Weeks)-1]
	w.n++
	w.off += math.Abs(required - float64(f.Quantiles[forecast.P50]))
	if inBand(f, required) {
		w.in++
	}
}

func (r *Report) show(h int, hour int32, f *forecast.Ahead, required float64) {
	if h != 3 {
		return
	}
	r.Sample = append(r.Sample, Sample{
		At:  time.Unix(int64(hour)*3600, 0).UTC(),
		P10: rounded(float64(f.Quantiles[forecast.P10]), 2), P50: rounded(float64(f.Quantiles[forecast.P50]), 2), P90: rounded(float64(f.Quantiles[forecast.P90]), 2),
		Came: rounded(required, 2),
	})
	if len(r.Sample) > sampleHours {
		r.Sample = r.Sample[1:]
	}
}

// finish makes the measures of the sums.
func (r *Report) finish() {
	in, n := &r.inner, &r.sums[0].n
	r.From, r.To = time.Unix(int64(in.first)*3600, 0).UTC(), time.Unix(int64(in.last)*3600, 0).UTC()
	r.Required = rounded(in.required/float64(r.Forecasts), 2)
	r.Models, r.Best, r.Gain = r.compared(r.sums)
	for h := range r.Band {
		r.Band[h] = rounded(in.in[h]/max(1, n[h]), 4)
		r.Pinball[h] = rounded(in.pinball[h]/max(1, n[h]), 4)
		for i := range r.Below[h] {
			r.Below[h][i] = rounded(in.below[h][i]/max(1, n[h]), 4)
		}
	}
	for j, to := range []*[]LevelErrors{&r.Levels, &r.Came} {
		for i, name := range append([]string{Method}, levelBaselines...) {
			e := LevelErrors{Name: name}
			total := 0.0
			for h := range e.RPS {
				e.RPS[h] = rounded(in.rps[j][i][h]/max(1, n[h]), 4)
				e.Brier[h] = rounded(in.brier[j][i][h]/max(1, n[h]), 4)
				total += in.rps[j][i][h]
			}
			e.Mean = rounded(total/float64(r.Forecasts), 4)
			*to = append(*to, e)
		}
	}
	r.Orange = Rate{rounded(in.forecast/float64(r.Forecasts), 4), rounded(in.came/float64(r.Forecasts), 4)}
	for i := range r.Ages {
		a := &r.Ages[i]
		a.Models, _, a.Gain = r.compared(in.ages[i])
		a.Band = rounded(in.ageIn[i]/max(1, float64(a.Forecasts)), 4)
	}
	r.Ages = slices.DeleteFunc(r.Ages, func(a Age) bool { return a.Forecasts == 0 })
	for i := range r.Weeks {
		w := &r.Weeks[i]
		w.Band, w.MAE = rounded(w.in/w.n, 4), rounded(w.off/w.n, 4)
	}
	for _, b := range in.bins {
		if b[0] > 0 {
			r.Curve = append(r.Curve, Bin{rounded(b[1]/b[0], 4), rounded(b[2]/b[0], 4), int(b[0])})
		}
	}
	r.Gate = r.gate()
}

// compared returns the errors of the models that are compared, the best baseline
// of them, and the gain over it.
func (r *Report) compared(sums []sum) (list []Errors, best string, gain float64) {
	names := Models()
	for _, i := range r.inner.show {
		list = append(list, sums[i].errors(names[i]))
	}
	least := math.Inf(1)
	for _, e := range list[1:] {
		if e.Mean < least {
			least, best = e.Mean, e.Name
		}
	}
	if best != "" && least > 0 {
		gain = rounded(1-list[0].Mean/least, 4)
	}
	return list, best, gain
}

// Gate is whether a forecast is good enough to be shown.
type Gate struct {
	Passed bool     `json:"passed"`
	Faults []string `json:"faults"`
}

// What a forecast must reach. Our choice: below these a unit is better off with
// its own experience.
const (
	leastGain           = .10
	leastBand, mostBand = .75, .85
	mostRPS             = .90
)

func (r *Report) gate() Gate {
	g := Gate{Faults: []string{}}
	fault := func(format string, args ...any) { g.Faults = append(g.Faults, fmt.Sprintf(format, args...)) }
	if r.Best != "" && r.Gain < leastGain {
		fault("gain over %s %.1f %%, at least %.0f %%", r.Best, 100*r.Gain, 100*leastGain)
	}
	for _, e := range r.Models {
		if e.Name == "persistence" && r.Models[0].MAE[0] > e.MAE[0] {
			fault("1 h: error %.3f, persistence %.3f", r.Models[0].MAE[0], e.MAE[0])
		}
	}
	for h, b := range r.Band {
		if b < leastBand || b > mostBand {
			fault("%d h: %.1f %% within the band of 80 %%, %.0f to %.0f %%", h+1, 100*b, 100*leastBand, 100*mostBand)
		}
	}
	best := slices.MinFunc(r.Levels[1:], func(a, b LevelErrors) int {
		switch {
		case a.Mean < b.Mean:
			return -1
		case a.Mean > b.Mean:
			return 1
		}
		return 0
	})
	if best.Mean > 0 && r.Levels[0].Mean > mostRPS*best.Mean {
		fault("levels: RPS %.3f is %.2f of %s, at most %.2f", r.Levels[0].Mean, r.Levels[0].Mean/best.Mean, best.Name, mostRPS)
	}
	g.Passed = len(g.Faults) == 0
	return g
}

func rounded(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}
