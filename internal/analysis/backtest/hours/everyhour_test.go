package hours_test

import (
	"fmt"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/internal/analysis/backtest/hours/hourstest"
	"svc/internal/analysis/simulate"
)

// TestForecastAtEveryHour: at each hour of a Sunday and of a weekday, the forecast for a unit is consistent and
// reflects the planned staffing. The test runs in two time zones, and each simulated period includes a change to or
// from daylight saving time.
func TestForecastAtEveryHour(t *testing.T) {
	const days = 5
	for zone, weekdays := range map[string][]time.Time{
		"America/Chicago":  {time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)},
		"Pacific/Auckland": {time.Date(2026, 4, 5, 0, 0, 0, 0, time.UTC), time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC)},
	} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range weekdays {
			first := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, location)
			requests, err := simulate.Requests(simulate.Options{
				Seed: 1, Profile: "small", Start: first.AddDate(0, 0, -days), For: (days + 1) * 24 * time.Hour, Steady: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			list := hourstest.Cut(t, requests, location)
			tried := 0
			model := forecast.NewModel("h")
			for _, s := range list {
				forecast.Learn(model, s, location)
				at := acuity.Instant(s.Hour) * acuity.Instant(time.Hour/time.Millisecond)
				if at.Time().Before(first) || !s.Observed {
					continue
				}
				tried++
				t.Run(fmt.Sprintf("%s/%s", zone, at.Time().In(location).Format("Mon 15:04 MST")), func(t *testing.T) {
					checkPlanned(t, model, s, at, location)
				})
			}
			if tried < 22 { // a day has 23, 24 or 25 hours; hours without a recent event are not observed
				t.Errorf("%s, %s: %d hours were tried", zone, day.Format(time.DateOnly), tried)
			}
		}
	}
}

// checkPlanned checks the forecast for a unit that has no nurses on duty now, and for which forty nurses are planned
// 90 minutes from now.
func checkPlanned(t *testing.T, model *forecast.Model, s *acuity.Snapshot, at acuity.Instant, zone *time.Location) {
	t.Helper()
	now := *s
	now.Nurses = 0
	f, err := forecast.Predict(model, &forecast.Unit{
		At: at, Snapshot: &now, Zone: zone,
		Staffing: []acuity.Staffing{{AsOf: at + acuity.Instant(90*time.Minute/time.Millisecond), Nurses: 40}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range f.Hours {
		if h.Nurses[0] > h.Nurses[len(h.Nurses)/2] || h.Nurses[len(h.Nurses)/2] > h.Nurses[len(h.Nurses)-1] || h.End-h.Start != acuity.Instant(time.Hour/time.Millisecond) {
			t.Errorf("hour %d: %+v", i, h)
		}
		switch short := h.ShortfallP50; {
		case i == 0 && h.Nurses[len(h.Nurses)/2] > 0 && short < 1, i > 0 && short != 0:
			t.Errorf("hour %d is %d short: %+v", i, short, h)
		}
	}
	for i, p := range f.Points {
		if sum := p.P[0] + p.P[1] + p.P[2] + p.P[3]; sum != 1000 {
			t.Errorf("point %d: the probabilities sum to %d", i, sum)
		}
	}
}
