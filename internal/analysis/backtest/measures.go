package backtest

import (
	"math"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
)

type sum struct {
	n, off, square [forecast.Horizon]float64 // n: number of forecasts; off: sum of absolute errors; square: sum of squared errors
}

func (s *sum) errors(name string) Errors {
	e := Errors{Name: name}
	total, n := 0.0, 0.0
	for h := range s.n {
		e.MAE[h] = rounded(s.off[h]/max(1, s.n[h]), 4)
		e.RMSE[h] = rounded(math.Sqrt(s.square[h]/max(1, s.n[h])), 4)
		total += s.off[h]
		n += s.n[h]
	}
	e.Mean = rounded(total/max(1, n), 4)
	return e
}

type inner struct {
	first, last int32
	required    float64
	in, near    [forecast.Horizon]float64 // numbers of forecasts; in: within the band; near: within one nurse
	below       [forecast.Horizon][forecast.Quantiles]float64
	pinball     [forecast.Horizon]float64
	rps, brier  [2][4][forecast.Horizon]float64 // first index: 0 for the level with unchanged nurses, 1 for the level that occurred
	forecast    float64
	came        float64
	bins        [10][3]float64
	census      []sum // errors of the forecasts of occupied rooms, in the order of Models
	ages        [][]sum
	ageIn       []float64
	show        []int // indexes in Models() of the methods to report
}

const sampleHours = 14 * 24

func newReport(o *Options) *Report {
	r := &Report{
		Hospital: o.Hospital, Timezone: o.Zone.String(), zone: o.Zone, Method: Method, Warmup: o.Warmup,
		Compared: newComparison(o.Compare), sums: make([]sum, 1+len(baselines)),
	}
	r.Ages = []Age{
		{Name: "days 2-3", least: 24},
		{Name: "days 4-7", least: 3 * 24},
		{Name: "weeks 2-4", least: 7 * 24},
		{Name: "weeks 5-8", least: 28 * 24},
		{Name: "from week 9", least: 56 * 24},
	}
	r.inner.census = make([]sum, 1+len(baselines))
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
	addErrors(sums, float64(o.ahead[h].Quantiles[forecast.P50]), o.rivals, h, required)
}

// addErrors adds the errors of a forecast and of the baselines, for the hour at index h of the horizon.
func addErrors(sums []sum, predicted float64, rivals [][forecast.Horizon]float64, h int, came float64) {
	for i := range sums {
		x := predicted
		if i > 0 {
			x = rivals[i-1][h]
		}
		sums[i].add(h, came-x)
	}
}

// add counts one forecast with the given error.
func (s *sum) add(h int, off float64) {
	s.n[h]++
	s.off[h] += math.Abs(off)
	s.square[h] += off * off
}

func inBand(f *forecast.Ahead, required float64) bool {
	x := float32(required)
	return f.Quantiles[forecast.P10] <= x && x <= f.Quantiles[forecast.P90]
}

func (r *Report) addNurses(o *origin, h int, required float64) {
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
	if math.Abs(required-float64(f.Quantiles[forecast.P50])) <= 1 {
		in.near[h]++
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

// addLevels scores the level probabilities of the forecast and of each baseline, against the level with unchanged
// nurses (held) and the level that occurred (came).
func (r *Report) addLevels(h int, by *[4]chances, held, came acuity.Level) {
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

func (r *Report) addAge(o *origin, h int, required float64) {
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

func (r *Report) addWeek(hour int32, f *forecast.Ahead, required float64) {
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

func (r *Report) addSample(h int, hour int32, f *forecast.Ahead, required float64) {
	if h != 3 {
		return
	}
	quantile := func(i int) float64 { return rounded(float64(f.Quantiles[i]), 2) }
	r.Sample = append(r.Sample, Sample{
		At:  time.Unix(int64(hour)*3600, 0).UTC(),
		P10: quantile(forecast.P10), P50: quantile(forecast.P50), P90: quantile(forecast.P90), Came: rounded(required, 2),
	})
	if len(r.Sample) > sampleHours {
		r.Sample = r.Sample[1:]
	}
}

// warned is the probability at or above which a level counts as forecast, as in the API.
const warned = .5

// leads collects, for each time that the unit became orange or red, how many hours in advance the forecast announced
// this.
type leads struct {
	last  acuity.Level
	known bool
	hours []int // lead for each onset, in hours; 0: not announced
}

func (l *leads) gap() { l.known = false }

// observe records the level of an hour. past contains the earlier hours with forecasts, oldest first. If the unit
// became orange or red in this hour, and the forecasts of the oldest hour in past count, observe also records the
// lead. The lead is the number of consecutive hours directly before this hour at which orange or red was forecast for
// this hour.
func (l *leads) observe(level acuity.Level, past []origin, hour int32, counts func(*origin) bool) {
	if l.known && level >= acuity.LevelOrange && l.last < acuity.LevelOrange && len(past) > 0 && counts(&past[0]) {
		lead := 0
		for _, o := range slices.Backward(past) {
			h := int(hour - o.snapshot.Hour)
			if h != lead+1 || o.ahead[h-1].AtLeast[1] < warned {
				break
			}
			lead = h
		}
		l.hours = append(l.hours, lead)
	}
	l.last, l.known = level, true
}

// Lead is how long in advance the forecast announced that a unit became orange or red.
type Lead struct {
	Onsets int     `json:"onsets"` // number of times that the unit became orange or red
	Within []Share `json:"within"`
	Median float64 `json:"medianHours"` // over all onsets; an unannounced onset counts as 0
}

// Share is the fraction of onsets that were forecast at least the given number of hours in advance.
type Share struct {
	Hours int     `json:"hours"`
	Share float64 `json:"share"`
}

func (l *leads) result() Lead {
	list := Lead{Onsets: len(l.hours)}
	if len(l.hours) == 0 {
		return list
	}
	slices.Sort(l.hours)
	list.Median = float64(l.hours[(len(l.hours)-1)/2]+l.hours[len(l.hours)/2]) / 2
	for _, least := range []int{1, 2, 4, 8} {
		n := 0
		for _, h := range l.hours {
			if h >= least {
				n++
			}
		}
		list.Within = append(list.Within, Share{least, rounded(float64(n)/float64(len(l.hours)), 3)})
	}
	return list
}
