package forecast

import (
	"time"

	"svc/acuity"
)

const hourLong acuity.Instant = 3_600_000

// clock tells what an hour is where the hospital is.
type clock struct{ zone *time.Location }

// slot returns the hour of the week, Sunday 0:00 is 0, of the local hour around
// a full hour of UTC. The hour that a spring leaves out gets no sample, the one
// that an autumn has twice gets two.
func (c clock) slot(hour int32) int {
	zone := c.zone
	if zone == nil {
		zone = time.UTC
	}
	t := time.Unix(int64(hour)*3600, 0).In(zone)
	return int(t.Weekday())*24 + t.Hour()
}

// stretch is an hour that begins at an instant: so much of two hours of the week.
type stretch struct {
	slots [2]int
	share [2]float64
}

// ahead returns the hours from an instant on; the k-th begins k hours later.
func (c clock) ahead(at acuity.Instant) [Horizon + 1]stretch {
	var list [Horizon + 1]stretch
	first, late := at.Hour(), float64(at%hourLong)/float64(hourLong)
	next := c.slot(first)
	for k := range list {
		here := next
		next = c.slot(first + int32(k) + 1)
		list[k] = stretch{[2]int{here, next}, [2]float64{1 - late, late}}
	}
	return list
}

// mix mixes what holds for an hour of the week.
func (s *stretch) mix(value func(slot int) float64) float64 {
	x := float64(s.share[0] * value(s.slots[0]))
	if s.share[1] > 0 {
		x += float64(s.share[1] * value(s.slots[1]))
	}
	return x
}

// dayOf tells hours of the week on a Saturday or Sunday, 1, from the others.
func dayOf(slot int) int {
	if slot < 24 || slot >= 144 {
		return 1
	}
	return 0
}
