package backtest

import (
	"math"
	"slices"
	"time"

	"svc/acuity/forecast"
)

// Report is the result of a backtest. Nurses are nurses required; horizons are 1 to 8 hours,
// in this order.
type Report struct {
	Hospital  string    `json:"hospital"`
	Timezone  string    `json:"timezone"` // of the hospital
	Method    string    `json:"method"`
	From      time.Time `json:"from"` // first hour that was compared
	To        time.Time `json:"to"`   // last hour that was compared
	Warmup    int       `json:"warmupHours"`
	Hours     int       `json:"hours"`     // observed hours that were compared
	Forecasts int       `json:"forecasts"` // each of one hour
	Required  float64   `json:"meanNursesRequired"`

	Models []Errors `json:"models"` // the forecast first
	Best   string   `json:"bestBaseline"`
	Gain   float64  `json:"gain"` // share of the best baseline's error that the forecast saves

	Census []Errors `json:"census"` // for the occupied rooms, in the order of Models

	Compared *Comparison `json:"compared,omitempty"` // with a foreign model

	Band [forecast.Horizon]float64 `json:"coverage80"` // share of hours within P10 … P90
	// WithinOne is the share of forecasts that were off by at most one nurse.
	WithinOne [forecast.Horizon]float64 `json:"withinOneNurse"`

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

	zone  *time.Location
	sums  []sum // in the order of Models
	inner inner
}

// Errors are the errors of one model: mean absolute errors, and roots of mean squared errors.
type Errors struct {
	Name string                    `json:"name"`
	MAE  [forecast.Horizon]float64 `json:"mae"`
	RMSE [forecast.Horizon]float64 `json:"rmse"`
	Mean float64                   `json:"meanMAE"`
}

// LevelErrors are the errors of the levels by one model.
type LevelErrors struct {
	Name  string                    `json:"name"`
	RPS   [forecast.Horizon]float64 `json:"rps"`
	Mean  float64                   `json:"meanRPS"`
	Brier [forecast.Horizon]float64 `json:"brierOrange"`
}

// Rate compares how often orange or red was forecast and came.
type Rate struct {
	Forecast float64 `json:"forecast"`
	Came     float64 `json:"came"`
}

// Age holds the errors at one length of the history.
type Age struct {
	Name      string   `json:"name"`
	Forecasts int      `json:"forecasts"`
	Models    []Errors `json:"models"`
	Gain      float64  `json:"gain"`
	Band      float64  `json:"coverage80"`
	least     int      // observed hours
}

// Week is the coverage of the band in one week.
type Week struct {
	Start time.Time `json:"start"`
	Band  float64   `json:"coverage80"`
	MAE   float64   `json:"mae"`
	n, in float64
	off   float64
}

// Bin tells how often orange came after forecasts of about the same probability.
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

// finish computes the measures from the sums.
func (r *Report) finish() {
	in, n := &r.inner, &r.sums[0].n
	r.From, r.To = time.Unix(int64(in.first)*3600, 0).UTC(), time.Unix(int64(in.last)*3600, 0).UTC()
	r.Required = rounded(in.required/float64(r.Forecasts), 2)
	r.Models, r.Best, r.Gain = r.compared(r.sums)
	r.Census, _, _ = r.compared(in.census)
	for h := range r.Band {
		r.Band[h] = rounded(in.in[h]/max(1, n[h]), 4)
		r.WithinOne[h] = rounded(in.near[h]/max(1, n[h]), 4)
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

// compared returns the errors of the compared models, the best baseline among them, and the
// gain over it.
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

func rounded(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}
