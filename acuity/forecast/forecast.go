// Package forecast predicts the staffing needs of a maternity unit for the next eight hours. It forecasts the
// number of nurses that the patients will require, with an uncertainty band, and the level.
//
//   - An [acuity.Snapshot] is the state of a unit at one whole hour.
//   - A [Model] is what [Learn] has learned from a hospital's past hours.
//   - A [Forecast] is the result of [Predict] for a model and the current unit.
//
// The forecast concerns the unit, never the delivery of one patient, and is not clinically validated. It uses no clock
// and no randomness: the same hours give the same model, and the same model and unit give the same forecast on every
// machine, to the digits shown (products are rounded before they are added). docs/forecast.md describes the method and
// its accuracy.
package forecast

import (
	"fmt"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/score"
)

// Method is the name of the forecasting method.
const Method = "pathway-v1"

// Horizon is the number of hours in a forecast.
const Horizon = acuity.Horizon

// Quantiles is the number of forecast quantiles of the nurses required.
const Quantiles = 7

// Taus are the probabilities of the quantiles.
var Taus = [Quantiles]float64{.05, .10, .25, .50, .75, .90, .95}

// The indexes of the quantiles shown to users.
const (
	P10 = 1
	P50 = 3
	P90 = 5
)

// Points is the number of instants in the trajectory of levels: one every half hour for two hours, then one every hour.
const Points = 10

// PointMinutes are the instants of the trajectory, in minutes after Forecast.At.
var PointMinutes = [Points]int{30, 60, 90, 120, 180, 240, 300, 360, 420, 480}

// Unit is the state of a unit at the instant at which the forecast starts.
type Unit struct {
	At acuity.Instant
	// Snapshot is the state of the unit at the instant At. Its frozen path, which is the need if no new facts arrive,
	// has one value for each hour, starting at At. Its Hour and Arrivals are ignored.
	Snapshot *acuity.Snapshot
	Staffing []acuity.Staffing // plans: entries with AsOf after At, ascending
	Zone     *time.Location    // the hospital's time zone; nil: UTC
}

// UnitOf returns the Unit for a chart at the given instant, or at the chart's clock if the clock is later.
func UnitOf(c *acuity.Chart, at acuity.Instant, zone *time.Location) *Unit {
	at = max(at, c.Unit.Clock)
	snapshot := score.MakeSnapshot(c, at)
	plans := len(c.Unit.Staffing)
	if n := slices.IndexFunc(c.Unit.Staffing, func(s acuity.Staffing) bool { return s.AsOf > at }); n >= 0 {
		plans = n
	}
	return &Unit{At: at, Snapshot: &snapshot, Staffing: c.Unit.Staffing[plans:], Zone: zone}
}

// Forecast is the forecast of a unit for the next eight hours.
type Forecast struct {
	At     acuity.Instant // start
	Hours  [Horizon]Hour
	Points [Points]Point
	Peak   Peak
	// Drivers are at most five English sentences for nurses. They first explain why the need changes, then state the
	// assumptions and limits of the forecast. They use local time and contain no patient data.
	Drivers      []string
	Past         []Measured // observed states of the last eight hours, as far as known, ascending
	HistoryHours int32      // observed hours that the model has learned from
	Method       string
	Calibration  Calibration
}

// Hour is the forecast for one hour. All fields except Arrivals are values at End.
type Hour struct {
	Start, End acuity.Instant
	Nurses     [Quantiles]float64 // quantiles of the nurses required, indexed like Taus, rounded to hundredths
	Mean       float64            // mean of the nurses required
	Census     float64            // expected number of occupied rooms
	Arrivals   float64            // expected number of arrivals within the hour
	// ShortfallP50 and ShortfallP90 are the shortfalls in whole nurses at the median and at the 90% quantile, or -1
	// if the number of nurses on duty is unknown.
	ShortfallP50, ShortfallP90 int32
}

// Point is the forecast level at one instant.
type Point struct {
	At      acuity.Instant
	Level   acuity.Level // median level: the lowest level that the unit, with a probability of at least 50%, does not exceed
	P       [4]int32     // probability of each level in thousandths; the sum is 1000
	Driving acuity.Axis  // the axis that most often drives Level
}

// Peak is the hour with the greatest 90% quantile.
type Peak struct {
	At  acuity.Instant // end of the hour
	P90 float64        // 90% quantile of the nurses required
}

// Calibration measures the accuracy of a hospital's recent forecasts.
type Calibration struct {
	Status         CalibrationStatus
	Coverage80     float64 // fraction of hours within P10 … P90; the target is .80
	MAE            float64 // mean absolute error of P50, in nurses, over all horizons
	MAEPersistence float64 // mean absolute error of a forecast that assumes no change
	Samples        int32   // total number of one-hour forecasts scored
	WindowDays     int32   // approximate period that the numbers cover
}

// CalibrationStatus indicates how far a calibration's numbers can be trusted.
type CalibrationStatus uint8

// The calibration states.
const (
	Prior    CalibrationStatus = iota // fewer than 100 forecasts have been scored, so there are no numbers
	Learning                          // less than 14 days of history
	Calibrated
)

func (s CalibrationStatus) String() string {
	return [...]string{"prior", "learning", "calibrated"}[s]
}

// The minimum data for a forecast.
const (
	needHours = 24 // minimum number of observed hours in the last historyIn days
	historyIn = 28 // days
	silentFor = 12 // maximum hours since the last observation, see acuity.Snapshot.Observed
)

// Missing is the reason why a unit cannot be forecast.
type Missing uint8

// The reasons why a unit cannot be forecast.
const (
	MissingHistory     Missing = iota + 1 // too few observed hours
	MissingObservation                    // no observation for too long
)

// InsufficientError means that there is not enough data to forecast a unit.
type InsufficientError struct {
	Missing Missing
	Hours   int // hours observed in the last 28 days
}

func (e *InsufficientError) Error() string {
	if e.Missing == MissingObservation {
		return fmt.Sprintf("No forecast: nothing was observed in the last %d hours.", silentFor)
	}
	return fmt.Sprintf("Not enough history to forecast: %d of the %d required hours were observed in the last %d days.",
		e.Hours, needHours, historyIn)
}

// Field returns the stable name for the missing data.
func (e *InsufficientError) Field() string {
	if e.Missing == MissingObservation {
		return "history.lastObservation"
	}
	return "history.hours"
}

// Rule returns the minimum amount of data that is required.
func (e *InsufficientError) Rule() string {
	if e.Missing == MissingObservation {
		return fmt.Sprintf("at most %d hours old", silentFor)
	}
	return fmt.Sprintf("at least %d observed hours in %d days", needHours, historyIn)
}
