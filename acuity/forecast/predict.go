package forecast

import (
	"math"

	"svc/acuity"
)

// Predict forecasts a unit. The only error is an [*InsufficientError].
func Predict(m *Model, u *Unit) (Forecast, error) {
	if err := sufficient(m, u); err != nil {
		return Forecast{}, err
	}
	c := clock{u.Zone}
	s := *u.Snapshot
	s.Visits = sorted(s.Visits)
	hours := c.ahead(u.At)
	p := m.follow(&s, &hours)
	ahead := m.correct(p, &hours)

	f := Forecast{At: u.At, Past: m.since(u.At), HistoryHours: m.Learnt, Method: Method, Calibration: m.calibration()}
	best := 0
	for h := range f.Hours {
		hour := &f.Hours[h]
		hour.Start = u.At + acuity.Instant(h)*hourLong
		hour.End = hour.Start + hourLong
		for i := range hour.Nurses {
			hour.Nurses[i] = hundredth(ahead[h].quantile(i))
		}
		hour.Mean, hour.Census, hour.Arrivals = hundredth(ahead[h].mean[nurses]), hundredth(ahead[h].mean[rooms]), hundredth(p.arrivals[h])
		n, _ := inForce(&s, u.Staffing, hour.End)
		hour.ShortfallP50, hour.ShortfallP90 = shortfall(hour.Nurses[P50], n), shortfall(hour.Nurses[P90], n)
		if hour.Nurses[P90] > f.Hours[best].Nurses[P90] {
			best = h
		}
	}
	f.Peak = Peak{At: f.Hours[best].End, P90: f.Hours[best].Nurses[P90]}
	all := scenes{model: m, snapshot: &s, now: p.now, ahead: &ahead, moves: m.weekly(m.Moves[:], false), hours: &hours}
	for i, minutes := range PointMinutes {
		f.Points[i] = all.point(u, minutes)
	}
	f.Drivers = drivers(m, u, p, &ahead[best], best)
	return f, nil
}

// since returns the hours that were measured within eight hours before an instant.
func (m *Model) since(at acuity.Instant) (list []Measured) {
	for _, p := range m.Past {
		if p.At() <= at && p.At() > at-Horizon*hourLong {
			list = append(list, p)
		}
	}
	return list
}

// sufficient says what is missing for a forecast.
func sufficient(m *Model, u *Unit) error {
	n := m.observed(u.At.Hour())
	switch {
	case n < needHours:
		return &InsufficientError{Missing: MissingHistory, Hours: n}
	case !u.Snapshot.Observed:
		return &InsufficientError{Missing: MissingObservation, Hours: n}
	}
	return nil
}

// shortfall returns how many whole nurses are missing of so many required.
func shortfall(required float64, onDuty int32) int32 {
	if onDuty < 0 {
		return -1
	}
	return max(0, int32(math.Ceil(required-float64(onDuty))))
}

// point is the level so many minutes ahead.
func (a *scenes) point(u *Unit, minutes int) Point {
	at := u.At + acuity.Instant(minutes)*60_000
	s := a.at(minutes)
	s.base.Nurses, s.base.Call = inForce(a.snapshot, u.Staffing, at)
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
