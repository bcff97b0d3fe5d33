package readapi_test

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/forecast"
	"svc/acuity/score"
	"svc/readapi"
)

// fakeForecasts returns one model for every hospital.
type fakeForecasts struct {
	model *forecast.Model
	err   error
}

func (l *fakeForecasts) Model(context.Context, string) (*forecast.Model, error) {
	return l.model, l.err
}
func (l *fakeForecasts) Zone(string) *time.Location { return time.UTC }

// observedFor returns a model that has learned n hours up to noon.
func observedFor(n int32) *forecast.Model {
	m := forecast.NewModel("north")
	for i := range n {
		forecast.Learn(m, &acuity.Snapshot{Hour: noon.Hour() - n + 1 + i, Observed: true, Nurses: -1}, nil)
	}
	return m
}

// predictions contains those parts of a response that the tests check.
type predictions struct {
	Current          map[string]any
	StaffingForecast struct {
		Hours []struct {
			Start, End   time.Time
			ShortfallP90 *int
		}
		HistoryHours int
		Past         []struct {
			At             time.Time
			NursesRequired float64
			NursesOnDuty   *int
		}
		Calibration map[string]any
	}
}

func predictionOf(t *testing.T, h *fixture) (p predictions, tag string) {
	t.Helper()
	a := h.get(t, "/api/v1/predict")
	if err := json.Unmarshal([]byte(data(t, a)), &p); err != nil {
		t.Fatal(err)
	}
	return p, a.Header.Get("ETag")
}

// TestPredictIsOfNow: the field current of a predict response equals the verdict at the same instant. Without a
// change of the unit, the response stays the same until the minute ends.
func TestPredictIsOfNow(t *testing.T) {
	chart := worked(t)
	chart.Unit.Clock, chart.Unit.ObservedAt = noon, noon
	h := newFixture(chart)
	h.learned.model = observedFor(30)
	h.learned.model.Past[7].Nurses, h.learned.model.Past[7].Required = 5, 5*catalogue.Nurse/2
	h.now = noon.Add(90 * time.Second)
	p, tag := predictionOf(t, h)
	v := score.Judge(chart, h.now)
	if p.Current["level"] != v.Level.String() || p.Current["drivingAxis"] != v.Driving.String() || p.Current["drivingAxisLabel"] != v.DrivingLabel() ||
		p.Current["ratioShortfall"] != float64(v.Shortfall) || p.Current["nursesRequired"] != float64((v.Required*100+30)/60)/100 {
		t.Errorf("current %v, verdict %v %v %d %d", p.Current, v.Level, v.Driving, v.Shortfall, v.Required)
	}
	if p.StaffingForecast.HistoryHours != 30 || p.StaffingForecast.Hours[0].Start.Before(noon.Time()) {
		t.Errorf("%+v", p)
	}
	if past := p.StaffingForecast.Past; len(past) != 8 || past[6].NursesOnDuty != nil || *past[7].NursesOnDuty != 5 || past[7].NursesRequired != 2.5 || !past[7].At.Equal(noon.Time()) {
		t.Errorf("measured until now: %+v", past)
	}
	if p.StaffingForecast.Calibration["status"] == "prior" && p.StaffingForecast.Calibration["mae"] != nil {
		t.Errorf("numbers without a score: %v", p.StaffingForecast.Calibration)
	}
	h.now = noon.Add(100 * time.Second)
	if again, same := predictionOf(t, h); same != tag || !reflect.DeepEqual(again, p) {
		t.Error("another answer within the minute")
	}
	h.now = noon.Add(121 * time.Second)
	if _, same := predictionOf(t, h); same == tag {
		t.Error("the same answer after the minute")
	}
}

// TestPredictRefusals: if there is too little history for a forecast, the response says what is missing, even if the
// hospital has no state. If the view is unavailable, the response is 503 instead.
func TestPredictRefusals(t *testing.T) {
	silent := worked(t)
	silent.Unit.ObservedAt = noon.Add(-13 * time.Hour)
	fresh := worked(t)
	fresh.Unit.ObservedAt = noon
	for name, tt := range map[string]struct {
		chart     *acuity.Chart
		learned   fakeForecasts
		status    int
		path      string
		unitsAway bool
	}{
		"no state":     {learned: fakeForecasts{model: forecast.NewModel("north")}, status: 422, path: "history.hours"},
		"short":        {chart: fresh, learned: fakeForecasts{model: observedFor(9)}, status: 422, path: "history.hours"},
		"silent":       {chart: silent, learned: fakeForecasts{model: observedFor(40)}, status: 422, path: "history.lastObservation"},
		"models away":  {chart: fresh, learned: fakeForecasts{err: readapi.ErrAway}, status: 503, path: "data"},
		"units away":   {chart: fresh, learned: fakeForecasts{model: observedFor(40)}, status: 503, path: "data", unitsAway: true},
		"enough":       {chart: fresh, learned: fakeForecasts{model: observedFor(24)}, status: 200},
		"nearly so":    {chart: fresh, learned: fakeForecasts{model: observedFor(23)}, status: 422, path: "history.hours"},
		"broken model": {chart: fresh, learned: fakeForecasts{err: io.ErrUnexpectedEOF}, status: 500},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(tt.chart)
			if tt.unitsAway {
				h.err = readapi.ErrAway
			}
			h.learned = tt.learned
			a := h.get(t, "/api/v1/predict")
			var answer struct {
				Error struct{ Details []struct{ Path string } }
			}
			if err := json.NewDecoder(a.Body).Decode(&answer); err != nil {
				t.Fatal(err)
			}
			path := ""
			if len(answer.Error.Details) > 0 {
				path = answer.Error.Details[0].Path
			}
			if a.StatusCode != tt.status || path != tt.path {
				t.Errorf("%d, %q", a.StatusCode, path)
			}
		})
	}
}

// TestPredictHonoursPlans: a future staffing plan determines the shortfall of every hour that ends after the plan
// takes effect.
func TestPredictHonoursPlans(t *testing.T) {
	chart := worked(t)
	chart.Unit.ObservedAt = noon
	chart.Unit.Staffing = []acuity.Staffing{{AsOf: noon - 1, Nurses: 0}, {AsOf: noon.Add(150 * time.Minute), Nurses: 90}}
	h := newFixture(chart)
	h.learned.model = observedFor(30)
	p, _ := predictionOf(t, h)
	for i, hour := range p.StaffingForecast.Hours {
		if hour.ShortfallP90 == nil || (*hour.ShortfallP90 == 0) != hour.End.After(noon.Add(150*time.Minute).Time()) {
			t.Errorf("hour %d: %+v", i, hour)
		}
	}
}
