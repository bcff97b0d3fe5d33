package readapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/score"
	"svc/internal/httpapi"
)

// Forecasts provides the forecast models of hospitals.
type Forecasts interface {
	// Model returns the model of a hospital, which is empty if nothing has been learned. It returns only errors that
	// are or wrap ErrAway; any other error is a bug.
	Model(ctx context.Context, hospital string) (*forecast.Model, error)
	// Zone returns the time zone of a hospital.
	Zone(hospital string) *time.Location
}

// predictStep is the interval at which the forecast is recomputed without new facts. Requests within the same minute
// get the same forecast.
const predictStep = acuity.Instant(60_000)

// PredictAt returns the start of the minute that contains t. A forecast made at t starts at that instant, unless the
// unit has changed since then.
func PredictAt(t time.Time) acuity.Instant { return acuity.At(t) / predictStep * predictStep }

// horizonMinutes is the number of minutes that a forecast covers.
const horizonMinutes = forecast.Horizon * 60

// predict is the data of GET /api/v1/predict.
type predict struct {
	Current          current          `json:"current"`
	Prediction       prediction       `json:"prediction"`
	StaffingForecast staffingForecast `json:"staffingForecast"`
}

// current is the state of the unit at the instant of the forecast.
type current struct {
	level

	NursesRequired decimal      `json:"nursesRequired"`
	AsOf           httpapi.Time `json:"asOf"`
}

type prediction struct {
	HorizonMinutes int     `json:"horizonMinutes"`
	Points         []point `json:"points"`
}

// point is the level at one future instant.
type point struct {
	At          httpapi.Time `json:"at"`
	Level       string       `json:"level"`
	PGreen      decimal      `json:"pGreen"`
	PYellow     decimal      `json:"pYellow"`
	POrange     decimal      `json:"pOrange"`
	PRed        decimal      `json:"pRed"`
	DrivingAxis string       `json:"drivingAxis"`
}

type staffingForecast struct {
	Hours        []forecastHour `json:"hours"`
	Peak         peak           `json:"peak"`
	Drivers      []string       `json:"drivers"`
	HistoryHours int32          `json:"historyHours"`
	Method       string         `json:"method"`
	Calibration  calibration    `json:"calibration"`
	Past         []measuredHour `json:"past"` // hourly records of the last eight hours
}

// measuredHour is the recorded state of the unit at an hour mark.
type measuredHour struct {
	At             httpapi.Time `json:"at"`
	NursesRequired decimal      `json:"nursesRequired"`
	NursesOnDuty   *int32       `json:"nursesOnDuty"` // null: unknown
}

// forecastHour is the forecast of one hour. All numbers except arrivals are values at the end of the hour.
type forecastHour struct {
	Start            httpapi.Time `json:"start"`
	End              httpapi.Time `json:"end"`
	NursesP10        decimal      `json:"nursesP10"`
	NursesP50        decimal      `json:"nursesP50"`
	NursesP90        decimal      `json:"nursesP90"`
	ExpectedCensus   decimal      `json:"expectedCensus"`
	ExpectedArrivals decimal      `json:"expectedArrivals"`
	ShortfallP50     *int32       `json:"shortfallP50"` // null: the nurses on duty are unknown
	ShortfallP90     *int32       `json:"shortfallP90"`
}

type peak struct {
	At        httpapi.Time `json:"at"`
	NursesP90 decimal      `json:"nursesP90"`
}

// calibration is the accuracy of recent forecasts for the hospital. Its numbers are null while the status is "prior".
type calibration struct {
	Status         string   `json:"status"`
	Coverage80     *decimal `json:"coverage80"`
	MAE            *decimal `json:"mae"`
	MAEPersistence *decimal `json:"maePersistence"`
	Samples        int32    `json:"samples"`
	WindowDays     int32    `json:"windowDays"`
}

func (s *Reads) servePrediction(w http.ResponseWriter, r *http.Request) {
	hospital := httpapi.Caller(r.Context()).Hospital
	j, f, err := s.predictUnit(r.Context(), hospital)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer(w, r, newRendered(encode(predictOf(j.verdict, f))))
}

// predictUnit returns the current forecast for a hospital, and the judgment on which the forecast is based.
func (s *Reads) predictUnit(ctx context.Context, hospital string) (*judgment, *forecast.Forecast, error) {
	model, err := s.cfg.Forecasts.Model(ctx, hospital)
	if err != nil {
		return nil, nil, fmt.Errorf("read model: %w", err)
	}
	now := acuity.At(s.cfg.Shell.Now())
	j, err := s.current(ctx, hospital)
	if errors.Is(err, ErrNoUnit) {
		_, err = forecast.Predict(model, &forecast.Unit{At: now, Snapshot: &acuity.Snapshot{}})
	}
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the error names its cause
	}
	f, err := s.predictWith(model, hospital, j)
	return j, f, err
}

// forecastFrom returns the forecast that is based on a judgment of a hospital.
func (s *Reads) forecastFrom(ctx context.Context, hospital string, j *judgment) (*forecast.Forecast, error) {
	model, err := s.cfg.Forecasts.Model(ctx, hospital)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	return s.predictWith(model, hospital, j)
}

// predictWith returns a model's forecast. The forecast starts with the current minute, so that all requests within a
// minute get the same result. If the unit has changed since then, the forecast starts at the change.
func (s *Reads) predictWith(model *forecast.Model, hospital string, j *judgment) (*forecast.Forecast, error) {
	at := max(PredictAt(s.cfg.Shell.Now()), j.from)
	f, err := forecast.Predict(model, forecast.UnitOf(j.whole(hospital), at, s.cfg.Forecasts.Zone(hospital)))
	if err != nil {
		return nil, err //nolint:wrapcheck // the error names its cause
	}
	return &f, nil
}

func predictOf(v *score.Verdict, f *forecast.Forecast) *predict {
	p := &predict{
		Current:    current{level: *levelOf(v), NursesRequired: nurses(v.Required), AsOf: instant(f.At)},
		Prediction: prediction{HorizonMinutes: horizonMinutes, Points: make([]point, len(f.Points))},
		StaffingForecast: staffingForecast{
			Hours: make([]forecastHour, len(f.Hours)), Peak: peak{instant(f.Peak.At), places(f.Peak.P90, 2)},
			Drivers: append([]string{}, f.Drivers...), HistoryHours: f.HistoryHours, Method: f.Method, Calibration: calibrationOf(&f.Calibration),
			Past: make([]measuredHour, len(f.Past)),
		},
	}
	for i := range f.Points {
		q := &f.Points[i]
		share := func(l acuity.Level) decimal { return decimal{int64(q.P[l]), 3} }
		p.Prediction.Points[i] = point{
			At: instant(q.At), Level: q.Level.String(), DrivingAxis: q.Driving.String(),
			PGreen: share(acuity.LevelGreen), PYellow: share(acuity.LevelYellow), POrange: share(acuity.LevelOrange), PRed: share(acuity.LevelRed),
		}
	}
	for i := range f.Hours {
		h := &f.Hours[i]
		p.StaffingForecast.Hours[i] = forecastHour{
			Start: instant(h.Start), End: instant(h.End),
			NursesP10: places(h.Nurses[forecast.P10], 2), NursesP50: places(h.Nurses[forecast.P50], 2), NursesP90: places(h.Nurses[forecast.P90], 2),
			ExpectedCensus: places(h.Census, 2), ExpectedArrivals: places(h.Arrivals, 2),
			ShortfallP50: known(h.ShortfallP50), ShortfallP90: known(h.ShortfallP90),
		}
	}
	for i, h := range f.Past {
		p.StaffingForecast.Past[i] = measuredHour{instant(h.At()), nurses(h.Required), known(h.Nurses)}
	}
	return p
}

func calibrationOf(c *forecast.Calibration) calibration {
	out := calibration{Status: c.Status.String(), Samples: c.Samples, WindowDays: c.WindowDays}
	if c.Status != forecast.Prior {
		coverage, mae, persistence := places(c.Coverage80, 3), places(c.MAE, 2), places(c.MAEPersistence, 2)
		out.Coverage80, out.MAE, out.MAEPersistence = &coverage, &mae, &persistence
	}
	return out
}

// places rounds a forecast value to n decimal places.
func places(v float64, n int) decimal {
	return decimal{int64(math.Round(v * math.Pow10(n))), n}
}
