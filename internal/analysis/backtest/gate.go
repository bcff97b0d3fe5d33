package backtest

import (
	"cmp"
	"fmt"
	"slices"
)

// Gate tells whether a forecast is good enough to be shown.
type Gate struct {
	Passed bool     `json:"passed"`
	Faults []string `json:"faults"`
}

// The limits of the gate. Our choice: below them a unit's own experience is of more use than the
// forecast.
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
	for _, e := range r.Census[1:] {
		if e.Name != "persistence" && e.Name != "hour-of-week" {
			continue
		}
		for h := range e.RMSE {
			if r.Census[0].RMSE[h] > e.RMSE[h] {
				fault("occupied rooms, %d h: root of the mean square %.3f, %s %.3f", h+1, r.Census[0].RMSE[h], e.Name, e.RMSE[h])
			}
		}
	}
	for h, b := range r.Band {
		if b < leastBand || b > mostBand {
			fault("%d h: %.1f %% within the band of 80 %%, %.0f to %.0f %%", h+1, 100*b, 100*leastBand, 100*mostBand)
		}
	}
	best := slices.MinFunc(r.Levels[1:], func(a, b LevelErrors) int { return cmp.Compare(a.Mean, b.Mean) })
	if best.Mean > 0 && r.Levels[0].Mean > mostRPS*best.Mean {
		fault("levels: RPS %.3f is %.2f of %s, at most %.2f", r.Levels[0].Mean, r.Levels[0].Mean/best.Mean, best.Name, mostRPS)
	}
	g.Passed = len(g.Faults) == 0
	return g
}
