package forecast

import (
	"math"

	"svc/acuity"
	"svc/acuity/score"
)

// actual is how a unit came to stand.
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

// level returns the level with the nurses that an origin went by: the forecast
// is of the patients, not of who was called in.
func (a *actual) level(o *acuity.Snapshot) acuity.Level {
	g := a.numbers
	g.Nurses, g.Call, g.Rooms = o.Nurses, o.Call, o.Rooms
	return g.Level()
}

// score compares what an origin forecast for an hour with what came, and learns
// from the difference.
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

// learnWeights adds to the sums of the ridge regression of an hour ahead what a correction ought to have been.
func learnWeights(ridge []float32, h int, by *Correction, came float64) {
	x1, x2, y := float64(by.ByUsual), float64(by.FromUsual), came-float64(by.Raw)
	for i, x := range [5]float64{x1 * x1, x1 * x2, x2 * x2, x1 * y, x2 * y} {
		ridge[h*5+i] += float32(x)
	}
}

// persistence is what an origin forecasts if all stays as it is.
func persistence(o *Origin) float64 {
	sum := 0
	for i := range o.Snapshot.Visits {
		sum += int(o.Snapshot.Visits[i].Demand[0])
	}
	return float64(sum) / 60
}

// learnTails moves each quantile of the standardised error by what the one that
// was forecast got wrong (online conformal, Gibbs and Candès 2021): whatever the
// unit does, in the long run each is exceeded as often as it should be. One that
// was hit, as of a unit that is empty, was not wrong.
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

// calibration tells how good the forecasts were.
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
	c.MAE, c.MAEPersistence, c.Coverage80 = hundredth(sums[1]/sums[0]), hundredth(sums[2]/sums[0]), hundredth(sums[3]/sums[0])
	return c
}

func hundredth(x float64) float64 { return math.Round(100*x) / 100 }
