package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"svc/acuity"
)

// Predict forecasts a unit. The only error is an [*InsufficientError].
func Predict(m *Model, u *Unit) (Forecast, error) {
	if err := checkHistory(m, u); err != nil {
		return Forecast{}, err
	}
	s := *u.Snapshot
	s.Visits = sortVisits(s.Visits)
	all := m.forecastScenes(&s, u.At, clock{u.Zone})

	f := Forecast{At: u.At, Past: m.pastHours(u.At), HistoryHours: m.Learnt, Method: Method, Calibration: m.calibration()}
	best := 0
	for h := range f.Hours {
		hour, o := &f.Hours[h], &all.ahead[h]
		hour.Start = u.At + acuity.Instant(h)*hourLong
		hour.End = hour.Start + hourLong
		for i := range hour.Nurses {
			hour.Nurses[i] = roundHundredth(o.quantile(i))
		}
		hour.Mean, hour.Census, hour.Arrivals = roundHundredth(o.mean[nurses]), roundHundredth(o.mean[rooms]), roundHundredth(all.arrivals[h])
		n, _ := findStaffing(&s, u.Staffing, hour.End)
		hour.ShortfallP50, hour.ShortfallP90 = shortfall(hour.Nurses[P50], n), shortfall(hour.Nurses[P90], n)
		if hour.Nurses[P90] > f.Hours[best].Nurses[P90] {
			best = h
		}
	}
	f.Peak = Peak{At: f.Hours[best].End, P90: f.Hours[best].Nurses[P90]}
	for i, minutes := range PointMinutes {
		f.Points[i] = all.point(u, minutes)
	}
	f.Drivers = explainPeak(m, u, all.path, &all.ahead[best], best)
	return f, nil
}

// pastHours returns the measured hours among the last eight hours before an instant.
func (m *Model) pastHours(at acuity.Instant) (list []Measured) {
	for _, p := range m.Past {
		if p.At() <= at && p.At() > at-Horizon*hourLong {
			list = append(list, p)
		}
	}
	return list
}

// checkHistory returns an error if there is not enough data for a forecast.
func checkHistory(m *Model, u *Unit) error {
	n := m.countObserved(u.At.Hour())
	switch {
	case n < needHours:
		return &InsufficientError{Missing: MissingHistory, Hours: n}
	case !u.Snapshot.Observed:
		return &InsufficientError{Missing: MissingObservation, Hours: n}
	}
	return nil
}

// shortfall returns the shortfall in whole nurses, or -1 if the number of nurses on duty is unknown.
func shortfall(required float64, onDuty int32) int32 {
	if onDuty < 0 {
		return -1
	}
	return max(0, int32(math.Ceil(required-float64(onDuty))))
}

// point returns the forecast for the level a given number of minutes ahead.
func (a *scenes) point(u *Unit, minutes int) Point {
	at := u.At + acuity.Instant(minutes)*60_000
	s := a.at(minutes)
	s.base.Nurses, s.base.Call = findStaffing(a.snapshot, u.Staffing, at)
	l := s.judge()
	p := Point{At: at, Driving: l.driving}
	worse := int32(0) // thousandths
	for x := 3; x >= 1; x-- {
		least := int32(math.Round(1000 * l.atLeast[x-1]))
		p.P[x], worse = least-worse, least
	}
	p.P[0] = 1000 - worse
	sum := int32(0)
	for p.Level = acuity.LevelGreen; ; p.Level++ {
		if sum += p.P[p.Level]; sum >= 500 {
			return p
		}
	}
}

// The weights of the priors for the tracked quantities, chosen in the same way as the weights in path.go.
const (
	ridgePrior  = 240.0 // nurses², or rooms²
	spreadPrior = 20.0  // nurses², for the slopes of K, C and S on R
	spreadHours = 20.0  // weight of the prior residual variances, in hours
)

// spreadFirst are the prior residual variances of K, C and S: nurses², rooms², points².
var spreadFirst = [3]float64{.25, .5, 200}

// outlook is the corrected forecast for one hour, with its distribution.
type outlook struct {
	required, occupied correction // for R and for C
	mean               amount
	sd                 float64
	slopes             [3]float64 // slopes of K, C and S on R; the means use the slopes of K and S, the scenarios use all three
	sds                [3]float64 // standard deviations of the residuals of K, C and S
	tails              [Quantiles]float64
}

// correction holds a mean and the terms that correct it.
type correction struct {
	raw       float64 // the uncorrected mean
	byUsual   float64 // difference from raw to the usual value at that hour
	fromUsual float64 // difference from the usual value now to the current value
}

// by returns the mean corrected with two learned weights.
func (c *correction) by(w1, w2 float64) float64 {
	return max(0, c.raw+float64(w1*c.byUsual)+float64(w2*c.fromUsual))
}

// correct computes the outlooks of a path. A path depends only on the current patients, not on what is usual for the
// unit. Two learned weights therefore pull the mean toward the usual value at that hour, and preserve the unit's
// current distance from the usual value. If stages are not informative at a hospital, the result is a blend of
// persistence and the usual value. Nurses and occupied rooms have separate weights.
func (m *Model) correct(p *path, hours *[Horizon + 1]stretch) [Horizon]outlook {
	var list [Horizon]outlook
	correctionOf := func(usual []float32, part, h int) correction {
		raw := p.mean[h][part]
		return correction{
			raw:       raw,
			byUsual:   usualAt(usual, &hours[h+1], raw) - raw,
			fromUsual: p.now[part] - usualAt(usual, &hours[0], p.now[part]),
		}
	}
	for h := range list {
		o := &list[h]
		o.required, o.occupied = correctionOf(m.Usual[:], nurses, h), correctionOf(m.UsualRooms[:], rooms, h)
		o.mean = p.mean[h]
		o.mean[nurses] = o.required.by(solveRidge(m.Ridge[:], h))
		o.mean[rooms] = o.occupied.by(solveRidge(m.RidgeRooms[:], h))
		o.slopes, o.sds = m.estimateSpread(h)
		for i, part := range [3]int{single, rooms, points} {
			if part != rooms {
				o.mean[part] = max(0, o.mean[part]+float64(o.slopes[i]*(o.mean[nurses]-o.required.raw)))
			}
		}
		o.sd = deviation(p.variance[h])
		o.tails = m.tails(h)
	}
	return list
}

// solveRidge solves the ridge regression for h hours ahead.
func solveRidge(ridge []float32, h int) (w1, w2 float64) {
	r := (*[5]float32)(ridge[h*5:])
	a, b, c := float64(r[0])+ridgePrior, float64(r[1]), float64(r[2])+ridgePrior
	y1, y2 := float64(r[3]), float64(r[4])
	det := float64(a*c) - float64(b*b)
	return (float64(c*y1) - float64(b*y2)) / det, (float64(a*y2) - float64(b*y1)) / det
}

// estimateSpread returns the slopes of K, C and S on R, and the standard deviations of the residuals.
func (m *Model) estimateSpread(h int) (slopes, sds [3]float64) {
	s := (*[spreadSize]float32)(m.Spreads[h*spreadSize:])
	n, square := float64(s[0]), float64(s[1])
	for i := range slopes {
		cross, own := float64(s[2+i]), float64(s[5+i])
		b := cross / (square + spreadPrior)
		slopes[i] = b
		left := own - float64(2*b*cross) + float64(float64(b*b)*square)
		sds[i] = math.Sqrt(max(0, left+float64(spreadHours*spreadFirst[i])) / (n + spreadHours))
	}
	return slopes, sds
}

// tails returns the quantiles of (actual - mean)/sd, ascending.
func (m *Model) tails(h int) [Quantiles]float64 {
	var q [Quantiles]float64
	for i := range q {
		q[i] = float64(m.Tails[h*(Quantiles+1)+i])
	}
	slices.Sort(q[:])
	return q
}

// quantile returns the i-th quantile of the nurses required.
func (o *outlook) quantile(i int) float64 {
	return max(0, o.mean[nurses]+float64(o.sd*o.tails[i]))
}

const (
	mostDrivers = 5
	leastEffect = .25 // nurses
)

// explainPeak returns sentences that explain the forecast peak to a nurse: first the largest changes in required
// nurses, then the assumptions and limits of the forecast.
func explainPeak(m *Model, u *Unit, p *path, o *outlook, h int) []string {
	local := func(at acuity.Instant) string { return at.FormatClock(clock{u.Zone}.local(at).Location()) }
	by := local(u.At + acuity.Instant(h+1)*hourLong)
	arrivals := 0.0
	for _, n := range p.arrivals[:h+1] {
		arrivals += n
	}
	type effect struct {
		nurses float64
		text   string
	}
	effects := []effect{
		{p.coming[h], fmt.Sprintf("%.1f arrivals expected by %s", arrivals, by)},
		{p.leaving[h], fmt.Sprintf("%.1f mothers likely to leave by %s", p.leavers[h], by)},
		{p.progress[h], "births and progress of labor by " + by},
		{p.clocks[h], "known changes in care, such as the end of a recovery, by " + by},
		{o.mean[nurses] - o.required.raw, "usual for this hour"},
	}
	effects = slices.DeleteFunc(effects, func(e effect) bool { return math.Abs(e.nurses) < leastEffect })
	slices.SortStableFunc(effects, func(a, b effect) int { return cmp.Compare(math.Abs(b.nurses), math.Abs(a.nurses)) })

	caveats := listDoubts(m, u, local)
	list := make([]string, 0, mostDrivers)
	for _, e := range effects[:min(len(effects), mostDrivers-len(caveats))] {
		list = append(list, fmt.Sprintf("%s: %+.1f nurses", e.text, e.nurses))
	}
	return append(list, caveats...)
}

// listDoubts returns at most three sentences about the assumptions and limits of a forecast.
func listDoubts(m *Model, u *Unit, local func(acuity.Instant) string) []string {
	var list []string
	end := u.At + Horizon*hourLong
	switch {
	case len(u.Staffing) > 0 && u.Staffing[0].AsOf <= end:
		plan, noun := u.Staffing[0], "nurses"
		if plan.Nurses == 1 {
			noun = "nurse"
		}
		list = append(list, fmt.Sprintf("Staffing plan from %s: %d %s.", local(plan.AsOf), plan.Nurses, noun))
	case u.Snapshot.Nurses < 0:
		list = append(list, "Nurses on duty are unknown: the forecast has no shortfall, and its levels do not include staffing.")
	default:
		list = append(list, fmt.Sprintf("Nurses on duty are assumed to remain %d: no staffing plan was sent.", u.Snapshot.Nurses))
	}
	if m.Learnt < 14*24 {
		list = append(list, fmt.Sprintf("Learned from only %d hours (less than 14 days).", m.Learnt))
	}
	moves := float32(0)
	for _, n := range m.Moves {
		moves += n
	}
	if moves == 0 {
		list = append(list, "Learned only from censuses: no admission, transfer or discharge was received.")
	}
	return list
}
