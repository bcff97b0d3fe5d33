// Package acuity defines the data types of a maternity unit, from reported facts to the state that svc derives from
// them. The main types, smallest first:
//
//   - An [Observation] contains the facts of one request from one hospital.
//   - [Evidence] is what one source reports about one factor of one patient.
//   - A [Chart] is all the input to scoring: the rooms, their patients and the evidence about each patient.
//   - A [Change] is the effect of one observation, or of one due instant, on a hospital.
//   - A [Snapshot] is the state of a unit at a whole hour: all the input to the forecast.
//
// The package builds on the catalogue, which defines what each factor demands. The package hospital turns
// observations into charts and changes, and the package score evaluates a chart at an instant. No code in these
// packages reads the clock: the caller passes the current time.
package acuity

import (
	"time"

	"svc/acuity/codes"
)

// Instant is a moment in milliseconds since the Unix epoch, UTC; see [codes.Instant].
type Instant = codes.Instant

// At returns the instant of t, truncated to the millisecond. The instant of the zero time is 0.
func At(t time.Time) Instant { return codes.At(t) }
