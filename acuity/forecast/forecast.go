// Package forecast says how a maternity unit will stand in each of the next
// eight hours. It forecasts the nurses that its patients will require, with a
// band, and its level. The words, smallest first:
//
//   - An [acuity.Snapshot] is a unit at one full hour.
//   - A [Model] is what a hospital's hours have taught, see [Learn].
//   - A [Forecast] is what [Predict] makes of a model and a unit as it is.
//
// It forecasts a unit, never when one patient will deliver, and is not validated
// clinically. It has no clock and no randomness: same hours, same model; same
// model and unit, same forecast, on every machine to the digits shown (products are
// rounded before they are added). docs/forecast.md says how it works and how well.
package forecast

import (
	"fmt"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/score"
)

// Method names the way in which a forecast was made.
const Method = "pathway-v1"

// Horizon is how many hours ahead a forecast looks.
const Horizon = acuity.Horizon

// Quantiles are how many quantiles of the nurses required are forecast.
const Quantiles = 7

// Taus are the probabilities of the quantiles.
var Taus = [Quantiles]float64{.05, .10, .25, .50, .75, .90, .95}

// The places of the quantiles that are shown.
const (
	P10 = 1
	P50 = 3
	P90 = 5
)

// Points are how many instants the trajectory of levels has: every half hour up
// to two hours, then every hour.
const Points = 10

// PointMinutes are the instants of the trajectory, in minutes after the forecast.
var PointMinutes = [Points]int{30, 60, 90, 120, 180, 240, 300, 360, 420, 480}

// Unit is a unit at the instant from which it is forecast.
type Unit struct {
	At acuity.Instant
	// Snapshot is of that instant: its frozen path goes on from At by the hour.
	// Hour and Arrivals do not count.
	Snapshot *acuity.Snapshot
	Staffing []acuity.Staffing // plans: entries with AsOf after At, ascending
	Zone     *time.Location    // of the hospital; nil: UTC
}

// UnitOf is a chart as it is forecast from an instant on, not before that of the
// chart.
func UnitOf(c *acuity.Chart, at acuity.Instant, zone *time.Location) *Unit {
	at = max(at, c.Unit.Clock)
	snapshot := score.TakeSnapshot(c, at)
	plans := len(c.Unit.Staffing)
	if n := slices.IndexFunc(c.Unit.Staffing, func(s acuity.Staffing) bool { return s.AsOf > at }); n >= 0 {
		plans = n
	}
	return &Unit{At: at, Snapshot: &snapshot, Staffing: c.Unit.Staffing[plans:], Zone: zone}
}

// Forecast is the next eight hours of a unit.
type Forecast struct {
	At     acuity.Instant // from when
	Hours  [Horizon]Hour
	Points [Points]Point
	Peak   Peak
	// Drivers are at most five texts for a nurse, without patients: why the
	// need changes, then why to trust the forecast less. In English, local times.
	Drivers      []string
	Past         []Measured // the full hours of the last eight, as far as they are known, ascending
	HistoryHours int32      // observed hours that the model has learnt from
	Method       string
	Calibration  Calibration
}

// Hour is one hour ahead. All but Arrivals holds at End.
type Hour struct {
	Start, End acuity.Instant
	Nurses     [Quantiles]float64 // required, by Taus; hundredths
	Mean       float64            // nurses required
	Census     float64            // occupied rooms expected
	Arrivals   float64            // expected within the hour
	// Shortfalls are whole nurses by the median and the 90 % quantile; -1: the
	// nurses on duty are unknown.
	ShortfallP50, ShortfallP90 int32
}

// Point is the level at one instant ahead.
type Point struct {
	At      acuity.Instant
	Level   acuity.Level // lowest that is not exceeded with a probability of one half
	P       [4]int32     // probability of each level in thousandths; their sum is 1000
	Driving acuity.Axis  // most frequent one at Level
}

// Peak is the hour with the greatest 90 % quantile.
type Peak struct {
	At  acuity.Instant // its end
	P90 float64        // nurses
}

// Calibration tells how good the forecasts of this hospital were of late.
type Calibration struct {
	Status         CalibrationStatus
	Coverage80     float64 // share of hours that were within P10 … P90; target .80
	MAE            float64 // mean absolute error of P50, in nurses, over all horizons
	MAEPersistence float64 // the same of "it stays as it is"
	Samples        int32   // forecasts of one hour that were scored, ever
	WindowDays     int32   // about how far back the numbers reach
}

// CalibrationStatus is how far the numbers of a calibration can be trusted.
type CalibrationStatus uint8

// The states.
const (
	Prior      CalibrationStatus = iota // fewer than 100 forecasts scored: no numbers
	Learning                            // less than 14 days of history
	Calibrated                          //
)

func (s CalibrationStatus) String() string {
	return [...]string{"prior", "learning", "calibrated"}[s]
}

// What a unit needs to be forecast.
const (
	needHours = 24 // observed hours within
	historyIn = 28 // days
	silentFor = 12 // hours since the last observation; acuity.Snapshot.Observed
)

// Missing says why a unit cannot be forecast.
type Missing uint8

// The reasons.
const (
	MissingHistory     Missing = iota + 1 // too few observed hours
	MissingObservation                    // the unit is silent for too long
)

// InsufficientError is that a unit cannot be forecast yet, or not now.
type InsufficientError struct {
	Missing Missing
	Hours   int // observed in the last 28 days
}

func (e *InsufficientError) Error() string {
	if e.Missing == MissingObservation {
		return fmt.Sprintf("No forecast: nothing was observed in the last %d hours.", silentFor)
	}
	return fmt.Sprintf("Not enough history to forecast: %d of %d observed hours in the last %d days.", e.Hours, needHours, historyIn)
}

// Field names what is missing.
func (e *InsufficientError) Field() string {
	if e.Missing == MissingObservation {
		return "history.lastObservation"
	}
	return "history.hours"
}

// Rule says how much of it there must be.
func (e *InsufficientError) Rule() string {
	if e.Missing == MissingObservation {
		return fmt.Sprintf("at most %d hours old", silentFor)
	}
	return fmt.Sprintf("at least %d observed hours in %d days", needHours, historyIn)
}
