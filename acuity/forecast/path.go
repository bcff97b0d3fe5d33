package forecast

import (
	"math"
	"time"

	"svc/acuity"
)

// The weights of the priors, in samples unless a comment says otherwise. The project chose them on simulated units.
// Dividing or multiplying a weight by three changes the result by less than 0.5%.
const (
	cellPrior    = 10.0 // shrinks the mean of a short cell toward the mean of its class and ratio
	classPrior   = 20.0 // shrinks the mean of a class and ratio toward 0; also used for long stays
	shortVar     = .1   // nurses², variance of a short stage without data
	stayVar      = .02  // nurses², variance of a long stay without data
	hazardPrior  = 30.0 // patient-hours
	factorPrior  = 40.0 // patient-hours; for the rates of a class by hour and by age
	hazardHours  = 25.0 // prior rate: one departure in this many patient-hours
	hazardMost   = .9
	weekPrior    = 8.0 // weeks; shrinks an hour of the week toward the hour of the day
	dayPrior     = 3.0 // weeks; shrinks an hour of the day toward the mean
	newPrior     = 3.0 // newcomers; shrinks one kind toward all kinds
	usualPrior   = 1.0 // weeks; shrinks an hour of the week toward the hour of the day
	varianceLeft = .02 // nurses², minimum variance
)

// path is the uncorrected forecast of a unit for the next hours.
type path struct {
	now      amount
	mean     [Horizon]amount
	variance [Horizon]float64
	arrivals [Horizon]float64 // expected arrivals within each hour

	// Contributions to the change in required nurses, for the drivers. Together they are the difference between mean
	// and now.
	clocks   [Horizon]float64 // changes that are certain because they depend only on the clock
	progress [Horizon]float64 // usual course of short stages, and of long stays without departure
	leaving  [Horizon]float64 // departures from long stays
	leavers  [Horizon]float64 // number of departures
	coming   [Horizon]float64 // patients who have not arrived yet
}

// follow forecasts a unit for each hour of the horizon. The snapshot's visits must be sorted. Rooms without a known
// visit are assumed not to change.
func (m *Model) follow(s *acuity.Snapshot, hours *[Horizon + 1]stretch) *path {
	p, visits := &path{}, s.Visits
	for i := range visits {
		a := need(visits[i].Demand[0], visits[i].Score[0])
		for part := range a {
			p.now[part] += a[part]
		}
	}
	m.followShort(p, visits)
	m.followLong(p, visits, hours)
	m.followNew(p, hours)
	others := float64(s.Occupied) - p.now[rooms]
	p.now[rooms] += others
	for h := range p.mean {
		p.mean[h][rooms] += others
	}
	return p
}

// add adds the expected need of one visit h+1 hours ahead (expected). For the drivers, it also needs the visit's
// current need (is) and the need at that hour if no new facts arrive (frozen).
func (p *path) add(h int, is, frozen, expected amount, variance float64) {
	for part := range expected {
		p.mean[h][part] += expected[part]
	}
	p.variance[h] += variance
	p.clocks[h] += frozen[nurses] - is[nurses]
}

// beyond returns the sum of a need on the frozen path, which assumes no new facts, and the expected deviation from
// that path, but at least 0.
func beyond(frozen, by amount) amount {
	for part := range frozen {
		frozen[part] = max(0, frozen[part]+by[part])
	}
	return frozen
}

func (m *Model) followShort(p *path, visits []acuity.SnapshotVisit) {
	var known [shortCells]bool
	var estimates [shortCells][Horizon]estimate
	for i := range visits {
		v := &visits[i]
		if !isShort(v.Class) {
			continue
		}
		c := shortCell(v)
		if !known[c] {
			known[c] = true
			m.estimateShort(c, &estimates[c])
		}
		is := need(v.Demand[0], v.Score[0])
		for h := range Horizon {
			frozen, e := need(v.Demand[h+1], v.Score[h+1]), &estimates[c][h]
			expected := beyond(frozen, e.mean)
			p.add(h, is, frozen, expected, e.variance)
			p.progress[h] += expected[nurses] - frozen[nurses]
		}
	}
}

// estimateShort estimates how far the needs of the visits in a cell will deviate from the needs without new facts
// (the frozen path). The estimate is the mean of the cell, shrunk toward the mean of its class and ratio, which in
// turn is shrunk toward 0.
func (m *Model) estimateShort(c int, to *[Horizon]estimate) {
	class, of := c/(ages*ratios), c%ratios
	for h := range to {
		var all sums
		for age := range ages {
			all.plus(cell(m.Short[:], ((class*ages+age)*ratios+of)*Horizon+h))
		}
		prior := all.shrunk(estimate{variance: shortVar}, classPrior)
		to[h] = cell(m.Short[:], c*Horizon+h).shrunk(prior, cellPrior)
	}
}

func (m *Model) followLong(p *path, visits []acuity.SnapshotVisit, hours *[Horizon + 1]stretch) {
	var rates *hazardRates
	for i := range visits {
		v := &visits[i]
		if isShort(v.Class) {
			continue
		}
		if rates == nil {
			rates = m.estimateHazards()
		}
		class, c, stay := longClass(v), longCell(v), 1.0
		is := need(v.Demand[0], v.Score[0])
		for h := range Horizon {
			age := bin(longAges, v.Age+60*int32(h))
			stay *= 1 - hours[h].mix(func(slot int) float64 { return rates[class][age][slot%24] })
			e := cell(m.Stayers[:], c*Horizon+h).shrunk(estimate{variance: stayVar}, classPrior)
			frozen := need(v.Demand[h+1], v.Score[h+1])
			y := beyond(frozen, e.mean)
			expected := y
			for part := range expected {
				expected[part] = float64(stay * y[part])
			}
			variance := float64(stay*e.variance) + float64(stay*(1-stay))*float64(y[nurses]*y[nurses])
			p.add(h, is, frozen, expected, variance)
			p.progress[h] += y[nurses] - frozen[nurses]
			p.leaving[h] += expected[nurses] - y[nurses]
			p.leavers[h] += 1 - stay
		}
	}
}

// hazardRates are the probabilities of departure within an hour, by class, age of the long stay and hour of the day.
type hazardRates [4][longBins][24]float64

// estimateHazards estimates the rates of departure. Each rate is shrunk toward the product of its hour and age effects;
// these effects are shrunk toward the rate of the class.
func (m *Model) estimateHazards() *hazardRates {
	var z hazardRates
	rate := func(n, left, prior, hours float64) float64 {
		return min(hazardMost, (left+float64(hours*prior))/(n+hours))
	}
	for class := range z {
		var all [2]float64
		var byAge [longBins][2]float64
		var byClock [24][2]float64
		for age := range longBins {
			for hour := range 24 {
				at := hazardCell(class, age, hour)
				for i := range 2 {
					x := float64(m.Hazards[at+i])
					all[i] += x
					byAge[age][i] += x
					byClock[hour][i] += x
				}
			}
		}
		mean := min(hazardMost, (all[1]+.5)/(all[0]+hazardHours))
		for age := range longBins {
			ofAge := rate(byAge[age][0], byAge[age][1], mean, factorPrior)
			for hour := range 24 {
				ofClock := rate(byClock[hour][0], byClock[hour][1], mean, factorPrior)
				at := hazardCell(class, age, hour)
				prior := min(hazardMost, float64(ofAge*ofClock)/mean)
				z[class][age][hour] = rate(float64(m.Hazards[at]), float64(m.Hazards[at+1]), prior, hazardPrior)
			}
		}
	}
	return &z
}

// followNew adds the patients who have not arrived yet to the forecast. For each kind of arrival, it multiplies the
// arrival rate of an hour by the expected need of these patients after their arrival, by hours since arrival.
func (m *Model) followNew(p *path, hours *[Horizon + 1]stretch) {
	var lags [kinds][Horizon]estimate
	var squares [kinds][Horizon]float64
	for lag := range Horizon {
		var all sums
		for kind := range kinds {
			all.plus(cell(m.Newcomer[:], kind*Horizon+lag))
		}
		prior := all.shrunk(estimate{}, newPrior)
		for kind := range kinds {
			e := cell(m.Newcomer[:], kind*Horizon+lag).shrunk(prior, newPrior)
			lags[kind][lag] = e
			squares[kind][lag] = e.variance + float64(e.mean[nurses]*e.mean[nurses])
		}
	}
	for kind := range kinds {
		rates := m.arrivalRates(kind)
		for j := range Horizon {
			rate := hours[j].mix(func(slot int) float64 { return rates[slot] })
			p.arrivals[j] += rate
			for h := j; h < Horizon; h++ {
				e := &lags[kind][h-j]
				for part := range e.mean {
					p.mean[h][part] += float64(rate * e.mean[part])
				}
				p.variance[h] += float64(rate * squares[kind][h-j]) // compound Poisson
				p.coming[h] += float64(rate * e.mean[nurses])
			}
		}
	}
}

// arrivalRates returns the arrivals per hour for a kind of arrival, by hour of the week. The rates of triage are
// smoothed over the hours of the day.
func (m *Model) arrivalRates(kind int) *[weekHours]float64 {
	return m.averageWeek(m.Arrivals[kind*weekHours:], kind == int(acuity.ArrivesTriage))
}

// averageWeek returns the means of the sums in table, by hour of the week; m.Weeks contains the weights. It shrinks
// each mean toward the mean for the same hour of the day on weekdays or weekends, which it first shrinks toward the
// overall mean. If smooth is true, the means of adjacent hours of the day are also averaged.
func (m *Model) averageWeek(table []float32, smooth bool) *[weekHours]float64 {
	var days, seen [2][24]float64 // index 0: weekdays, 1: weekends
	total, weeks := 0.0, 0.0
	for slot := range weekHours {
		end, n, w := dayOf(slot), float64(table[slot]), float64(m.Weeks[slot])
		days[end][slot%24] += n
		seen[end][slot%24] += w
		total += n
		weeks += w
	}
	mean := 0.0
	if weeks > 0 {
		mean = total / weeks
	}
	for end := range days {
		for hour := range 24 {
			days[end][hour] = (days[end][hour] + float64(dayPrior*mean)) / (seen[end][hour] + dayPrior)
		}
		if smooth {
			raw := days[end]
			for hour := range 24 {
				days[end][hour] = raw[(hour+23)%24]/4 + raw[hour]/2 + raw[(hour+1)%24]/4
			}
		}
	}
	var rates [weekHours]float64
	for slot := range rates {
		rates[slot] = (float64(table[slot]) + float64(weekPrior*days[dayOf(slot)][slot%24])) / (float64(m.Weeks[slot]) + weekPrior)
	}
	return &rates
}

// usual returns the usual value at an hour of the week from a table of weights and sums, shrunk toward the mean for
// the same hour of all days. It also reports whether the table has data for that hour of the day on any day of the
// week.
func usual(table []float32, slot int) (float64, bool) {
	var n, sum float64
	for s := slot % 24; s < weekHours; s += 24 {
		n += float64(table[2*s])
		sum += float64(table[2*s+1])
	}
	if n == 0 {
		return 0, false
	}
	return (float64(table[2*slot+1]) + float64(usualPrior*sum)/n) / (float64(table[2*slot]) + usualPrior), true
}

// usualAt returns the usual value for an hour that starts at an arbitrary instant: the average for the two hours of
// the week that it overlaps. For an hour of the day without data on any day of the week, it uses the given default.
func usualAt(table []float32, s *stretch, otherwise float64) float64 {
	return s.mix(func(slot int) float64 {
		if x, known := usual(table, slot); known {
			return x
		}
		return otherwise
	})
}

// deviation returns the standard deviation for a variance, with a minimum.
func deviation(variance float64) float64 { return math.Sqrt(max(varianceLeft, variance)) }

const hourLong acuity.Instant = 3_600_000

// clock converts instants to the local time of the hospital.
type clock struct{ zone *time.Location }

// local returns the local time of an instant.
func (c clock) local(at acuity.Instant) time.Time {
	if c.zone == nil {
		return time.UnixMilli(int64(at)).UTC()
	}
	return time.UnixMilli(int64(at)).In(c.zone)
}

// slot returns the hour of the week in local time (Sunday 0:00 is 0) for a whole hour in UTC. At the start of daylight
// saving time, one local hour gets no sample; at its end, one gets two.
func (c clock) slot(hour int32) int {
	t := c.local(acuity.Instant(hour) * hourLong)
	return int(t.Weekday())*24 + t.Hour()
}

// stretch is an hour that starts at an arbitrary instant, split into shares of two hours of the week.
type stretch struct {
	slots [2]int
	share [2]float64
}

// ahead returns consecutive hours, of which the k-th starts k hours after an instant.
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

// mix returns the average of the values for the two hours of the week, weighted by their shares of the stretch.
func (s *stretch) mix(value func(slot int) float64) float64 {
	x := float64(s.share[0] * value(s.slots[0]))
	if s.share[1] > 0 {
		x += float64(s.share[1] * value(s.slots[1]))
	}
	return x
}

// dayOf returns 1 if an hour of the week is on a Saturday or Sunday, and 0 if not.
func dayOf(slot int) int {
	if slot < 24 || slot >= 144 {
		return 1
	}
	return 0
}
