package simulate

import (
	"math"
	"slices"
	"time"
)

// calendar draws the arrivals of each day and hour at random.
type calendar struct {
	arrivals, days, slots chance

	today clock   // local midnight
	busy  float64 // logarithm of the current day's rate of arrivals relative to the mean
	storm [2]clock
}

// These constants define how a unit varies over time.
const (
	// Busy days are clustered: the logarithm of a day's rate follows an AR(1) process. The values are assumed.
	busyMemory    = 0.6
	busyDeviation = 0.09

	// A storm is a period of 6 to 16 hours with many more arrivals; about three occur in two months. The values are
	// assumed.
	stormsADay  = 0.05
	stormFactor = 1.8

	// The number of arrivals per hour varies more than a Poisson distribution would, because their rate is multiplied
	// by a gamma variable with this shape. The value is assumed.
	hourShape = 4

	// chanceRepair is the daily probability that a room is closed for a day. The value is assumed.
	chanceRepair = .15

	// In week 30, the regime changes: a neighboring hospital closes its unit, so more patients arrive, and stays
	// become shorter.
	regimeWeek     = 30
	regimeArrivals = 1.15
	regimeStays    = 0.88
	regimeRounds   = -1.6 // hours
	growthYear     = 0.40 // growth of the frequency of modifiers over 52 weeks

	// Fractions of births by kind of arrival. Source: NCHS, Births: Final Data for 2022 (32.1% cesareans, about half
	// of them planned; 32% inductions).
	shareCesareans  = 0.16
	shareInductions = 0.28
	// triageForBirth is the number of women, per birth, who visit triage and go home again. The value is assumed.
	triageForBirth = 1.3
	// Numbers per birth: antepartum stays without labor, readmissions, patients of other services, and minor
	// procedures. The values are assumed.
	shareAntepartum  = 0.055
	shareReadmission = 0.012
	shareOverflow    = 0.025
	shareProcedures  = 0.03
)

// triageHours is the relative number of women arriving in triage by hour of the day: lowest before dawn, highest in
// the afternoon and evening. The values are assumed.
var triageHours = [24]float64{
	.80, .70, .60, .55, .50, .55, .60, .75, .90, 1.05, 1.15, 1.20,
	1.25, 1.25, 1.30, 1.30, 1.25, 1.25, 1.25, 1.30, 1.25, 1.15, 1.05, .95,
}

// laborHours is the relative number of women arriving in labor by hour of the day. Spontaneous births peak at about
// 4 in the morning (Martin et al., PLOS ONE 2018); the mothers arrive several hours earlier.
var laborHours = [24]float64{
	1.20, 1.20, 1.15, 1.10, 1.05, 1.00, .95, .90, .90, .90, .90, .90,
	.90, .90, .90, .90, .90, .95, .95, 1.00, 1.05, 1.10, 1.20, 1.20,
}

func newCalendar(u *unit) calendar {
	seed := u.options.Seed
	c := calendar{arrivals: newChance(seed, purposeArrivals), days: newChance(seed, purposeBusy), slots: newChance(seed, purposeSlots)}
	c.today = u.hourOf(u.now, 0)
	return c
}

// local returns the local time of an instant.
func (u *unit) local(t clock) time.Time { return time.Unix(int64(t), 0).In(u.options.Start.Location()) }

// hourOf returns the instant at which the local clock shows hour h on the day of t.
func (u *unit) hourOf(t clock, h float64) clock {
	d := u.local(t)
	return at(time.Date(d.Year(), d.Month(), d.Day(), 0, 0, int(h*3600), 0, d.Location()))
}

// week returns the number of weeks from the start to an instant, at least 0.
func (u *unit) week(t clock) float64 { return max(0, float64(t-u.from)/float64(week)) }

// load returns the current frequency of modifiers as a multiple of the frequency at the start of the simulation.
func (u *unit) load() float64 { return 1 + growthYear*u.week(u.now)/52 }

// stays returns the current length of stay as a multiple of the length at the start of the simulation.
func (u *unit) stays() float64 {
	if u.week(u.now) >= regimeWeek {
		return regimeStays
	}
	return 1
}

// nextDay schedules the arrivals of the day and the next call to nextDay.
func (c *calendar) nextDay(u *unit) {
	midnight := c.today
	tomorrow := u.hourOf(midnight, 24)
	c.busy = busyMemory*c.busy + busyDeviation*c.days.NormFloat64()
	if c.days.is(stormsADay) {
		begin := midnight + c.days.between(0, day)
		c.storm = [2]clock{begin, begin + c.days.between(6*hour, 16*hour)}
	} else {
		c.days.Float64()
		c.days.Float64()
	}
	if c.days.is(chanceRepair) {
		u.repair()
	}
	regime := 1.
	if u.week(midnight) >= regimeWeek {
		regime = regimeArrivals
	}
	c.scheduleAppointments(u, midnight, regime)
	births := float64(u.births) / 365 / 24 * regime * math.Exp(c.busy)
	for begin := midnight; begin < tomorrow; begin += hour {
		h := u.local(begin).Hour()
		rate := births * c.arrivals.gamma(hourShape)
		if begin >= c.storm[0] && begin < c.storm[1] {
			rate *= stormFactor
		}
		c.scheduleArrivals(u, begin, rate*triageForBirth*triageHours[h], pathway.beginTriage)
		c.scheduleArrivals(u, begin, rate*(1-shareCesareans-shareInductions)*laborHours[h], pathway.beginLabor)
		c.scheduleArrivals(u, begin, rate*shareAntepartum, pathway.beginAntepartum)
		c.scheduleArrivals(u, begin, rate*shareReadmission, pathway.beginReadmission)
		c.scheduleArrivals(u, begin, rate*shareOverflow, pathway.beginOverflow)
	}
	c.today = tomorrow
	u.schedule(tomorrow, func() { c.nextDay(u) })
}

// scheduleArrivals schedules a random number of arrivals, with the given mean, in the hour that starts at begin.
func (c *calendar) scheduleArrivals(u *unit, begin clock, mean float64, as func(pathway)) {
	for range c.arrivals.count(mean) {
		u.schedule(begin+c.arrivals.between(0, hour), func() { as(pathway{u.admit()}) })
	}
}

// scheduleAppointments schedules a day's appointments: cesareans and procedures on working days, and inductions in
// the morning and evening. Weekends have half as many inductions; holidays have no appointments.
func (c *calendar) scheduleAppointments(u *unit, midnight clock, regime float64) {
	local := u.local(midnight)
	weekend := local.Weekday() == time.Saturday || local.Weekday() == time.Sunday
	off := isHoliday(local)
	working := float64(u.births) / 250 * regime // births per working day
	book := func(share, weekends float64, slots []float64, as func(pathway)) {
		mean := share * working
		switch {
		case off:
			mean = 0
		case weekend:
			mean *= weekends
		}
		// Appointment slots are limited and mostly filled, so the number of appointments varies less than a Poisson
		// distribution would.
		tries := int(math.Ceil(mean * 1.6))
		for i := range tries {
			if !c.slots.is(mean / float64(max(tries, 1))) {
				continue
			}
			when := u.hourOf(midnight, slots[i%len(slots)]) + c.slots.between(-20*minute, 20*minute)
			u.schedule(when, func() { as(pathway{u.admit()}) })
		}
	}
	book(shareCesareans, 0, []float64{5.5, 8, 10.5, 13}, pathway.beginCesarean)
	book(shareInductions*.8, .5, []float64{7, 19, 7.5, 20}, pathway.beginInduction)
	book(shareProcedures, 0, []float64{9, 12}, pathway.beginProcedure)
}

// isHoliday reports whether a day has no appointments because it is a US holiday that hospitals observe.
func isHoliday(d time.Time) bool {
	nth := (d.Day()-1)/7 + 1
	last := d.AddDate(0, 0, 7).Month() != d.Month()
	fixed := [][2]int{{1, 1}, {7, 4}, {12, 24}, {12, 25}, {12, 31}}
	switch {
	case slices.Contains(fixed, [2]int{int(d.Month()), d.Day()}):
	case d.Month() == time.May && d.Weekday() == time.Monday && last:
	case d.Month() == time.September && d.Weekday() == time.Monday && nth == 1:
	case d.Month() == time.November && d.Weekday() == time.Thursday && nth == 4:
	default:
		return false
	}
	return true
}
