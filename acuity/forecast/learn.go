package forecast

import (
	"math"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/score"
)

// The decay factors of the model's weights. Each is computed from a half-life in hours, which this project chose: for
// half-lives between 21 and 84 days, the result changes by less than 1% on simulated units.
var (
	fadeStages   = halveIn(42 * 24)
	fadeArrivals = halveIn(56 * 24)
	fadeTracked  = halveIn(28 * 24)
	fadeUsual    = halveIn(8) // half-life in observations of the same hour of the week, so eight weeks
)

// halveIn returns the hourly factor that halves a weight in the given number of hours.
func halveIn(hours float64) float32 { return float32(math.Exp2(-1 / hours)) }

// Learn updates a model with one hour. If the hour is not after the last one learned, Learn skips it and returns false.
// The model keeps the snapshot, which must not change afterwards. A nil zone is UTC.
func Learn(m *Model, s *acuity.Snapshot, zone *time.Location) bool {
	if s.Hour <= m.Hour {
		return false
	}
	m.recordHour(s.Hour, s.Observed)
	m.Generation = max(m.Generation, s.Generation)
	m.Pending = slices.DeleteFunc(m.Pending, func(o Origin) bool { return !s.Observed || o.Snapshot.Hour < s.Hour-Horizon })
	m.Past = slices.DeleteFunc(m.Past, func(p Measured) bool { return !s.Observed || p.Hour <= s.Hour-Horizon })
	if !s.Observed {
		return true
	}
	m.Past = append(m.Past, Measured{s.Hour, score.SumSnapshot(s).Required, s.Nurses})
	now := *s
	now.Visits = sortVisits(s.Visits)
	c := clock{zone}
	m.fade()
	m.learnArrivals(&now, c.slot(s.Hour-1))
	came := newActual(&now)
	for i := range m.Pending {
		o := &m.Pending[i]
		h := int(s.Hour-o.Snapshot.Hour) - 1
		if h == 0 {
			m.learnHazards(o, &now, c.slot(o.Snapshot.Hour)%24)
		}
		if h+1 < Horizon {
			m.learnNewcomers(o.Snapshot.Arrivals, &now, h+1)
		}
		m.learnStages(o, &now, h)
		m.score(o, h, came)
	}
	m.learnNewcomers(now.Arrivals, &now, 0)
	learnUsual(m.Usual[:], c.slot(s.Hour), came.is[nurses])
	learnUsual(m.UsualRooms[:], c.slot(s.Hour), came.is[rooms])
	m.Learnt++
	m.Pending = append(m.Pending, m.origin(&now, c))
	return true
}

// fade multiplies all weights by their decay factors for one hour.
func (m *Model) fade() {
	by := func(f float32, tables ...[]float32) {
		for _, t := range tables {
			for i := range t {
				t[i] *= f
			}
		}
	}
	by(fadeStages, m.Short[:], m.Stayers[:], m.Hazards[:], m.Newcomer[:])
	by(fadeArrivals, m.Arrivals[:], m.Weeks[:], m.Moves[:])
	by(fadeTracked, m.Ridge[:], m.RidgeRooms[:], m.Spreads[:], m.Scores[:])
}

func (m *Model) learnArrivals(now *acuity.Snapshot, slot int) {
	m.Weeks[slot]++
	m.Moves[slot] += float32(now.Moves)
	for _, a := range now.Arrivals {
		m.Arrivals[int(min(a.Kind, acuity.ArrivesOther))*weekHours+slot]++
	}
}

// learnHazards counts the long stays of an origin and those that ended within the following hour.
func (m *Model) learnHazards(o *Origin, now *acuity.Snapshot, hour int) {
	for i := range o.Snapshot.Visits {
		v := &o.Snapshot.Visits[i]
		if isShort(v.Class) {
			continue
		}
		at := hazardCell(longClass(v), bin(longAges, v.Age), hour)
		m.Hazards[at]++
		if findVisit(now.Visits, v.Visit) == nil {
			m.Hazards[at+1]++
		}
	}
}

// learnNewcomers records the current need of patients who arrived lag hours ago.
func (m *Model) learnNewcomers(came []acuity.SnapshotArrival, now *acuity.Snapshot, lag int) {
	for _, a := range came {
		c := cell(m.Newcomer[:], int(min(a.Kind, acuity.ArrivesOther))*Horizon+lag)
		if v := findVisit(now.Visits, a.Visit); v != nil {
			c.add(need(v.Demand[0], v.Score[0]))
		} else {
			c.add(amount{})
		}
	}
}

// learnStages records, for each visit of an origin, how far its need after h+1 hours differs from its frozen path,
// which is the need if no new facts arrive. It skips the long stays that have ended, which learnHazards counts.
func (m *Model) learnStages(o *Origin, now *acuity.Snapshot, h int) {
	for i := range o.Snapshot.Visits {
		v := &o.Snapshot.Visits[i]
		is := findVisit(now.Visits, v.Visit)
		var a amount
		if is != nil {
			a = need(is.Demand[0], is.Score[0])
		}
		frozen := need(v.Demand[h+1], v.Score[h+1])
		for part := range a {
			a[part] -= frozen[part]
		}
		switch {
		case isShort(v.Class):
			cell(m.Short[:], shortCell(v)*Horizon+h).add(a)
		case is != nil:
			cell(m.Stayers[:], longCell(v)*Horizon+h).add(a)
		}
	}
}

func learnUsual(table []float32, slot int, r float64) {
	u := (*[2]float32)(table[2*slot:])
	u[0] = float32(fadeUsual*u[0]) + 1
	u[1] = float32(fadeUsual*u[1]) + float32(r)
}

// origin returns the forecast of a unit at a whole hour, for comparison with the hours that follow.
func (m *Model) origin(s *acuity.Snapshot, c clock) Origin {
	o := Origin{Snapshot: *s}
	all := m.forecastScenes(s, acuity.Instant(s.Hour)*hourLong, c)
	for h := range all.ahead {
		from, to := &all.ahead[h], &o.Ahead[h]
		to.Mean, to.SD = float32(from.mean[nurses]), float32(from.sd)
		to.Single, to.Occupied, to.Score = float32(from.mean[single]), float32(from.mean[rooms]), float32(from.mean[points])
		to.Required, to.Rooms = from.required.record(), from.occupied.record()
		for i := range to.Quantiles {
			to.Quantiles[i] = float32(from.quantile(i))
		}
		at := all.at(60 * (h + 1))
		l := at.judgeLevels()
		for x := range to.AtLeast {
			to.AtLeast[x] = float32(l.atLeast[x])
		}
	}
	return o
}

func (c *correction) record() Correction {
	return Correction{float32(c.raw), float32(c.byUsual), float32(c.fromUsual)}
}

// actual is the observed state of a unit.
type actual struct {
	is      amount
	numbers score.UnitNumbers
}

func newActual(s *acuity.Snapshot) *actual {
	g := score.SumSnapshot(s)
	a := &actual{numbers: g}
	a.is = amount{nurses: float64(g.Required) / 60, single: float64(g.Single) / 60, rooms: float64(g.Occupied), points: float64(g.Score)}
	return a
}

// level returns the level that the observed state would have with the nurses who were on duty at the origin, because
// the model forecasts patients, not which nurses are called in.
func (a *actual) level(o *acuity.Snapshot) acuity.Level {
	g := a.numbers
	g.Nurses, g.Call, g.Rooms = o.Nurses, o.Call, o.Rooms
	return g.Level()
}

// score compares an origin's forecast for one hour with the observed state and updates the model.
func (m *Model) score(o *Origin, h int, came *actual) {
	f := &o.Ahead[h]
	r := came.is[nurses]

	learnWeights(m.Ridge[:], h, &f.Required, r)
	learnWeights(m.RidgeRooms[:], h, &f.Rooms, came.is[rooms])

	e := r - float64(f.Mean)
	k, c, s := came.is[single]-float64(f.Single), came.is[rooms]-float64(f.Occupied), came.is[points]-float64(f.Score)
	for i, x := range [spreadSize]float64{1, e * e, e * k, e * c, e * s, k * k, c * c, s * s} {
		m.Spreads[h*spreadSize+i] += float32(x)
	}

	level := came.level(&o.Snapshot)
	for x := range f.AtLeast {
		happened := 0.0
		if int(level) > x {
			happened = 1
		}
		m.Shifts[h*3+x] += float32(shiftStep * (happened - float64(f.AtLeast[x])))
	}

	scores := (*[scoreSize]float32)(m.Scores[h*scoreSize:])
	scores[0]++
	scores[1] += float32(math.Abs(r - float64(f.Quantiles[P50])))
	scores[2] += float32(math.Abs(r - persistence(o)))
	if q := float32(r); f.Quantiles[P10] <= q && q <= f.Quantiles[P90] {
		scores[3]++
	}
	m.learnTails(h, r, f)
}

// learnWeights adds one observation to the sums of the ridge regression for h hours ahead. The argument came is the
// observed value, from which it computes the correction that would have been exact.
func learnWeights(ridge []float32, h int, by *Correction, came float64) {
	x1, x2, y := float64(by.ByUsual), float64(by.FromUsual), came-float64(by.Raw)
	for i, x := range [5]float64{x1 * x1, x1 * x2, x2 * x2, x1 * y, x2 * y} {
		ridge[h*5+i] += float32(x)
	}
}

// persistence returns the forecast from an origin on the assumption that nothing changes.
func persistence(o *Origin) float64 {
	sum := 0
	for i := range o.Snapshot.Visits {
		sum += int(o.Snapshot.Visits[i].Demand[0])
	}
	return float64(sum) / 60
}

// learnTails adjusts each quantile of the standardized error according to whether the observed value exceeded that
// quantile of the forecast (online conformal prediction, Gibbs and Candès 2021). In the long run, each quantile is
// then exceeded as often as its probability implies, whatever the unit does. A quantile that was met exactly, as in
// an empty unit, does not move.
func (m *Model) learnTails(h int, r float64, f *Ahead) {
	t := (*[Quantiles + 1]float32)(m.Tails[h*(Quantiles+1):])
	step := max(.01, 1/(10+float64(t[Quantiles])/2))
	for i, tau := range Taus {
		switch is := float32(r); {
		case is < f.Quantiles[i]:
			t[i] += float32(step * (tau - 1))
		case is > f.Quantiles[i]:
			t[i] += float32(step * tau)
		}
	}
	t[Quantiles]++
}

// calibration summarizes the accuracy of the forecasts.
func (m *Model) calibration() Calibration {
	c := Calibration{WindowDays: historyIn}
	var sums [scoreSize]float64
	for h := range Horizon {
		c.Samples += int32(m.Tails[h*(Quantiles+1)+Quantiles])
		for i := range sums {
			sums[i] += float64(m.Scores[h*scoreSize+i])
		}
	}
	if c.Samples < 100 || sums[0] == 0 {
		return c
	}
	c.Status = Learning
	if m.Learnt >= 14*24 {
		c.Status = Calibrated
	}
	c.MAE, c.MAEPersistence, c.Coverage80 = roundHundredth(sums[1]/sums[0]), roundHundredth(sums[2]/sums[0]), roundHundredth(sums[3]/sums[0])
	return c
}

func roundHundredth(x float64) float64 { return math.Round(100*x) / 100 }
