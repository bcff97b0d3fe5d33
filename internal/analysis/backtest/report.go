package backtest

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"svc/acuity/forecast"
)

// Report is the result of a backtest. All numbers of nurses are required nurses. An array with forecast.Horizon
// elements contains the values for forecasts 1 to 8 hours ahead.
type Report struct {
	Hospital  string    `json:"hospital"`
	Timezone  string    `json:"timezone"` // time zone of the hospital
	Method    string    `json:"method"`
	From      time.Time `json:"from"` // first compared hour
	To        time.Time `json:"to"`   // last compared hour
	Warmup    int       `json:"warmupHours"`
	Hours     int       `json:"hours"`     // number of observed hours that were compared
	Forecasts int       `json:"forecasts"` // number of forecasts for these hours, up to eight for each hour
	Required  float64   `json:"meanNursesRequired"`

	Models []Errors `json:"models"` // the forecast first
	Best   string   `json:"bestBaseline"`
	Gain   float64  `json:"gain"` // fraction by which svc's error is smaller than the best baseline's

	Census []Errors `json:"census"` // errors for the occupied rooms, in the order of Models

	Compared *Comparison `json:"compared,omitempty"` // comparison with an external model

	Band [forecast.Horizon]float64 `json:"coverage80"` // share of hours in which the required nurses were within P10 … P90
	// WithinOne is the share of forecasts that were off by at most one nurse.
	WithinOne [forecast.Horizon]float64 `json:"withinOneNurse"`

	Below   [forecast.Horizon][forecast.Quantiles]float64 `json:"shareBelowQuantile"`
	Pinball [forecast.Horizon]float64                     `json:"pinball"` // mean over the quantiles, in nurses
	Levels  []LevelErrors                                 `json:"levels"`  // with the nurses on duty at the origin; svc's forecast first
	Came    []LevelErrors                                 `json:"levelsAsTheyCame"`
	Orange  Rate                                          `json:"orange"`
	Lead    Lead                                          `json:"lead"`
	Ages    []Age                                         `json:"byAgeOfHistory"`
	Weeks   []Week                                        `json:"byWeek"`
	Curve   []Bin                                         `json:"reliabilityOfOrange"`

	Gate   Gate     `json:"gate"`
	Sample []Sample `json:"sample"` // the last two weeks, as forecast four hours in advance

	zone  *time.Location
	sums  []sum // in the order of Models
	inner inner
}

// Errors are the errors of one model: mean absolute errors and root mean squared errors.
type Errors struct {
	Name string                    `json:"name"`
	MAE  [forecast.Horizon]float64 `json:"mae"`
	RMSE [forecast.Horizon]float64 `json:"rmse"`
	Mean float64                   `json:"meanMAE"`
}

// LevelErrors are the errors of one model's forecast levels.
type LevelErrors struct {
	Name  string                    `json:"name"`
	RPS   [forecast.Horizon]float64 `json:"rps"`
	Mean  float64                   `json:"meanRPS"`
	Brier [forecast.Horizon]float64 `json:"brierOrange"`
}

// Rate compares how often orange or red was forecast with how often it occurred.
type Rate struct {
	Forecast float64 `json:"forecast"`
	Came     float64 `json:"came"`
}

// Age contains the errors of the forecasts that were made when the model had learned for a certain time, such as
// weeks 2 to 4.
type Age struct {
	Name      string   `json:"name"`
	Forecasts int      `json:"forecasts"`
	Models    []Errors `json:"models"`
	Gain      float64  `json:"gain"`
	Band      float64  `json:"coverage80"`
	least     int      // minimum observed hours
}

// Week contains the coverage of the band and the error in one week.
type Week struct {
	Start time.Time `json:"start"`
	Band  float64   `json:"coverage80"`
	MAE   float64   `json:"mae"`
	n, in float64
	off   float64
}

// Bin counts how often orange or red occurred after forecasts of similar probability.
type Bin struct {
	Forecast  float64 `json:"forecast"`
	Came      float64 `json:"came"`
	Forecasts int     `json:"forecasts"`
}

// Sample compares the nurses required in one hour with the forecast that was made four hours earlier.
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

// compared returns the errors of the methods to report, the name of the best baseline among them, and the gain over
// that baseline.
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

// Gate reports whether the forecast is accurate enough to be displayed, and lists the reasons if it is not.
type Gate struct {
	Passed bool     `json:"passed"`
	Faults []string `json:"faults"`
}

// Limits of the gate, chosen by this project: the minimum gain over the best baseline, the coverage of the band with
// its tolerance, the maximum ratio of the forecast's RPS to that of the best level baseline, and the minimum length
// of the period. A forecast that misses these limits is less useful than the experience of the unit's staff.
const (
	leastGain = .10
	bandShare = .80 // fraction of hours within P10 … P90
	bandOff   = .05 // tolerance of bandShare
	mostRPS   = .90
	leastDays = 7 // minimum length of the period, in days
)

// chanceErrors is the tolerance for the gain and for the band's coverage over a short period, in standard errors.
// Eight coverages are checked, so with a limit of two standard errors, a calibrated forecast would fail one in four
// backtests.
const chanceErrors = 3

// wideAtFirst raises the upper limit for the band's coverage over a short period, because the band of a model that
// has learned for only a few weeks starts wide and narrows. In 30 simulated units that had learned for 14 days, the
// band contained 84, 86, 87 and 87% of the next 14 days at 1, 2, 4 and 8 hours ahead.
const wideAtFirst = .04

// bandLimits returns the accepted coverage of the band, from 0 to 1, for n hourly forecasts that were made the given
// number of hours ahead. The errors of overlapping forecasts are correlated, so n forecasts count as n/ahead
// independent ones. From 28 weeks on, the limits are bandShare ± bandOff for every number of hours ahead.
func bandLimits(ahead int, n float64) (least, most float64) {
	off := chanceErrors * math.Sqrt(bandShare*(1-bandShare)*float64(ahead)/max(1, n))
	if off <= bandOff {
		return bandShare - bandOff, bandShare + bandOff
	}
	return bandShare - off, min(1, bandShare+off+wideAtFirst)
}

// gainError is the standard deviation of the gain over periods of gainDays days, measured in 33 periods of a simulated
// unit after 14 days of learning: the gain was 18.2% on average, from 7.2 to 22.7%. From steadyDays on, a period is
// long enough for the full minimum gain.
const (
	gainError  = .035
	gainDays   = 14
	steadyDays = 28 * 7
)

// minimumGain returns the minimum gain over a period. The shorter the period, the more the gain depends on chance. A
// forecast must never be worse than the best baseline.
func minimumGain(days float64) float64 {
	chance := func(days float64) float64 { return chanceErrors * gainError * math.Sqrt(gainDays/days) }
	return max(0, leastGain-max(0, chance(days)-chance(steadyDays)))
}

func (r *Report) gate() Gate {
	g := Gate{Faults: []string{}}
	fault := func(format string, args ...any) { g.Faults = append(g.Faults, fmt.Sprintf(format, args...)) }
	if least := leastDays * 24; r.Hours < least {
		fault("only %d hours compared, minimum %d", r.Hours, least)
	}
	if least := minimumGain(float64(r.Hours) / 24); r.Best != "" && r.Gain < least {
		fault("gain over %s: %.1f%%, minimum %.0f%%", r.Best, 100*r.Gain, 100*least)
	}
	for _, e := range r.Models {
		if e.Name == "persistence" && r.Models[0].MAE[0] > e.MAE[0] {
			fault("1 h: error %.3f, above that of persistence (%.3f)", r.Models[0].MAE[0], e.MAE[0])
		}
	}
	for _, e := range r.Census[1:] {
		if e.Name != "persistence" && e.Name != "hour-of-week" {
			continue
		}
		for h := range e.RMSE {
			if r.Census[0].RMSE[h] > e.RMSE[h] {
				fault("occupied rooms, %d h: root mean square error %.3f, above that of %s (%.3f)", h+1, r.Census[0].RMSE[h], e.Name, e.RMSE[h])
			}
		}
	}
	for h, b := range r.Band {
		if least, most := bandLimits(h+1, r.sums[0].n[h]); b < least || b > most {
			fault("%d h: %.1f%% within the 80%% range, must be %.0f to %.0f%%", h+1, 100*b, 100*least, 100*most)
		}
	}
	best := slices.MinFunc(r.Levels[1:], func(a, b LevelErrors) int { return cmp.Compare(a.Mean, b.Mean) })
	if best.Mean > 0 && r.Levels[0].Mean > mostRPS*best.Mean {
		fault("levels: RPS %.3f is %.2f times that of %s, maximum %.2f", r.Levels[0].Mean, r.Levels[0].Mean/best.Mean, best.Name, mostRPS)
	}
	g.Passed = len(g.Faults) == 0
	return g
}

// CSV writes one row for each value of each measure. The columns are the measure, the model, the length of the
// history ("all" or the name of an [Age]), the hours ahead (empty for the mean) and the value.
func (r *Report) CSV(to io.Writer) error {
	w := csv.NewWriter(to)
	rows := [][]string{{"measure", "model", "history", "hours_ahead", "value"}}
	row := func(measure, model, history string, ahead int, value float64) {
		h := ""
		if ahead > 0 {
			h = strconv.Itoa(ahead)
		}
		rows = append(rows, []string{measure, model, history, h, strconv.FormatFloat(value, 'f', -1, 64)})
	}
	errs := func(history string, list []Errors) {
		for _, e := range list {
			for h, x := range e.MAE {
				row("mae", e.Name, history, h+1, x)
			}
			row("mae", e.Name, history, 0, e.Mean)
		}
	}
	errs("all", r.Models)
	both := func(measure string, list []Errors) {
		for _, e := range list {
			for h := range e.MAE {
				row(measure+"_mae", e.Name, "all", h+1, e.MAE[h])
				row(measure+"_rmse", e.Name, "all", h+1, e.RMSE[h])
			}
		}
	}
	both("census", r.Census)
	if c := r.Compared; c != nil {
		both("compared", c.Models)
		both("compared_census", c.Census)
	}
	for h := range forecast.Horizon {
		row("coverage80", Method, "all", h+1, r.Band[h])
		row("within_one_nurse", Method, "all", h+1, r.WithinOne[h])
		row("pinball", Method, "all", h+1, r.Pinball[h])
		for i, tau := range forecast.Taus {
			row("share_below_p"+strconv.Itoa(int(100*tau+.5)), Method, "all", h+1, r.Below[h][i])
		}
	}
	for i, list := range [][]LevelErrors{r.Levels, r.Came} {
		measure := [...]string{"", "_as_it_came"}[i]
		for _, e := range list {
			for h := range e.RPS {
				row("rps"+measure, e.Name, "all", h+1, e.RPS[h])
				row("brier_orange"+measure, e.Name, "all", h+1, e.Brier[h])
			}
		}
	}
	for _, a := range r.Ages {
		errs(a.Name, a.Models)
		row("coverage80", Method, a.Name, 0, a.Band)
	}
	for _, s := range r.Lead.Within {
		row("share_of_orange_said_before", Method, "all", s.Hours, s.Share)
	}
	return w.WriteAll(rows)
}
