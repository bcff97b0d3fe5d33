package limit

import "time"

// Rate is how often something may happen: Burst at once, and so many per second
// after that. A PerSecond of 0 is no limit.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Bucket is a token bucket: it holds up to a burst of tokens and fills at the
// rate. The zero Bucket is full when it is first looked at.
type Bucket struct {
	Tokens float64
	At     time.Time // when Tokens was so; the zero time: never
}

// fill brings the bucket up to now. A clock that runs backwards fills nothing.
func (b *Bucket) fill(r Rate, now time.Time) {
	switch passed := now.Sub(b.At); {
	case b.At.IsZero():
		b.Tokens = float64(r.Burst)
	case passed < 0:
		return
	default:
		b.Tokens = min(b.Tokens+passed.Seconds()*r.PerSecond, float64(r.Burst))
	}
	b.At = now
}

// Take takes as many tokens as there are, up to want, and returns how many.
func (b *Bucket) Take(r Rate, now time.Time, want float64) float64 {
	b.fill(r, now)
	got := min(max(b.Tokens, 0), want)
	b.Tokens -= got
	return got
}

// wait is how long until the rate yields so many tokens.
func (r Rate) wait(tokens float64) time.Duration {
	if tokens <= 0 {
		return 0
	}
	return time.Duration(tokens / r.PerSecond * float64(time.Second))
}

// Lease is by how much two instances together may exceed a rate: each keeps a
// quarter of it at hand, and may owe the shared bucket another quarter.
func (r Rate) Lease() int { return max(r.Burst/5, 4) }

// slack is what one instance keeps, and may owe.
func (r Rate) slack() float64 { return float64(r.Lease()) / 4 }

// portion is what an instance takes at once from a shared bucket of which so much
// is left: more than the slack while there is plenty, so that a burst is served.
func (r Rate) portion(left float64) float64 { return max(r.slack(), left/4) }
