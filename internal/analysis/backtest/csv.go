package backtest

import (
	"encoding/csv"
	"io"
	"strconv"

	"svc/acuity/forecast"
)

// CSV writes each measure by horizon as a row: measure, model, history ("all" or an age),
// hours ahead (empty for the mean), value.
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
