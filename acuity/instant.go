package acuity

import (
	"time"

	"svc/acuity/codes"
)

// Instant is a moment in milliseconds since the Unix epoch, UTC; see [codes.Instant].
type Instant = codes.Instant

// At returns the instant of t, cut to the millisecond; the zero time is 0.
func At(t time.Time) Instant { return codes.At(t) }
