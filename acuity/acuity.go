// Package acuity is the vocabulary of a maternity unit: what is said about it, what is
// known of it, what changed. The words, smallest first:
//
//   - An [Observation] is what one request of one hospital says: facts.
//   - An [Evidence] is what one source says about one factor of one patient.
//   - A [Chart] is who is in which room with what evidence: all that scoring needs.
//   - A [Change] is what one observation or one due instant did to a hospital.
//   - A [Snapshot] is a unit at a full hour: all that the forecast learns from.
//
// The catalogue lies below it: what each factor asks for. Above it, the package hospital
// turns observations into charts and changes, and the package score judges a chart at an
// instant. Nobody asks what time it is: the caller passes now.
package acuity

import (
	"time"

	"svc/acuity/codes"
)

// Instant is a moment in milliseconds since the Unix epoch, UTC; see [codes.Instant].
type Instant = codes.Instant

// At returns the instant of t, cut to the millisecond; the zero time is 0.
func At(t time.Time) Instant { return codes.At(t) }
