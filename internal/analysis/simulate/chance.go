package simulate

import (
	"math"
	"math/rand/v2"
)

// chance is a random stream for one purpose, so that an additional draw for one purpose does not change the others.
type chance struct{ *rand.Rand }

// Purposes of random streams. Each visit has its own purpose, numbered from purposeVisits up.
const (
	purposeArrivals = iota + 1
	purposeBusy
	purposeSlots
	purposeStaff
	purposeFaults
	purposeOutages
	purposeVisits = 1 << 32
)

func newChance(seed, purpose uint64) chance {
	return chance{rand.New(rand.NewPCG(mixed(seed), mixed(purpose^mixed(seed))))} //nolint:gosec // random numbers must be repeatable
}

// mixed is the finalizer of SplitMix64, which maps neighboring numbers to distant results.
func mixed(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// is returns true with probability p.
func (c chance) is(p float64) bool { return c.Float64() < p }

// span draws a log-normal span from its median and the standard deviation of its logarithm. It is at most eight times
// longer or shorter than the median.
func (c chance) span(median clock, deviation float64) clock {
	factor := math.Exp(float64(deviation * c.NormFloat64()))
	return clock(float64(median) * min(max(factor, 1./8), 8))
}

// between draws an instant or a time span from a uniform distribution.
func (c chance) between(low, high clock) clock {
	return low + clock(c.Float64()*float64(high-low))
}

// count draws a number from a Poisson distribution.
func (c chance) count(mean float64) int {
	n, left := 0, c.ExpFloat64()
	for left < mean {
		n++
		left += c.ExpFloat64()
	}
	return n
}

// gamma draws from a gamma distribution with an integer shape and mean 1.
func (c chance) gamma(shape int) float64 {
	sum := 0.
	for range shape {
		sum += c.ExpFloat64()
	}
	return sum / float64(shape)
}
