package backtest

import (
	"svc/acuity"
	"svc/acuity/forecast"
)

// baseline forecasts one number, such as the nurses required or the occupied rooms, only from earlier values of that
// number.
type baseline interface {
	// observe learns from an observed hour. It is called in ascending order of the hours, and not for unobserved
	// hours.
	observe(hour int32, slot int, required float64)
	// ahead forecasts the hours after the last observed hour. slots contains the hour of the week, from 0 to 167, of
	// each forecast hour.
	ahead(slots *[forecast.Horizon]int) [forecast.Horizon]float64
}

// baselines are the simple methods with which every forecast is compared.
var baselines = []struct {
	Name string
	make func() baseline
}{
	{"persistence", func() baseline { return &persistence{} }},
	{"hour-of-week", func() baseline { return &hourOfWeek{} }},
	{"last-week", func() baseline { return &lastWeek{seen: map[int32]float64{}} }},
	{"blend", func() baseline { return &blend{} }},
	{"holt-winters", func() baseline { return &holtWinters{} }},
}

// persistence forecasts the current value.
type persistence struct{ now float64 }

func (p *persistence) observe(_ int32, _ int, required float64) { p.now = required }

func (p *persistence) ahead(*[forecast.Horizon]int) [forecast.Horizon]float64 {
	var list [forecast.Horizon]float64
	for h := range list {
		list[h] = p.now
	}
	return list
}

// hourOfWeek forecasts the weighted mean at the same hour of the week; recent weeks have larger weights. The mean at
// the same hour of the day counts as one additional observation. If that hour of the day was never observed,
// hourOfWeek forecasts the current value.
type hourOfWeek struct {
	weight, sum [168]float64
	now         float64
}

// usualFade is the weekly factor that halves a weight in eight weeks.
const usualFade = .917

func (u *hourOfWeek) observe(_ int32, slot int, required float64) {
	u.weight[slot] = usualFade*u.weight[slot] + 1
	u.sum[slot] = usualFade*u.sum[slot] + required
	u.now = required
}

func (u *hourOfWeek) usual(slot int) float64 {
	weight, sum := 0.0, 0.0
	for s := slot % 24; s < len(u.sum); s += 24 {
		weight += u.weight[s]
		sum += u.sum[s]
	}
	if weight == 0 {
		return u.now
	}
	return (u.sum[slot] + sum/weight) / (u.weight[slot] + 1)
}

func (u *hourOfWeek) ahead(slots *[forecast.Horizon]int) [forecast.Horizon]float64 {
	var list [forecast.Horizon]float64
	for h, slot := range slots {
		list[h] = u.usual(slot)
	}
	return list
}

// lastWeek forecasts the value at the same hour a week earlier or, if that hour was not observed, the current value.
type lastWeek struct {
	seen map[int32]float64
	hour int32
}

func (l *lastWeek) observe(hour int32, _ int, required float64) {
	for h := l.hour; l.hour > 0 && h < hour; h++ {
		delete(l.seen, h-168)
	}
	l.seen[hour], l.hour = required, hour
}

func (l *lastWeek) ahead(*[forecast.Horizon]int) [forecast.Horizon]float64 {
	var list [forecast.Horizon]float64
	for h := range list {
		x, known := l.seen[l.hour+int32(h)+1-168]
		if !known {
			x = l.seen[l.hour]
		}
		list[h] = x
	}
	return list
}

// blend forecasts the mean at the same hour of the week, plus a learned fraction of the current deviation from that
// mean.
type blend struct {
	hourOfWeek
	past   []blendPast // forecasts made at the last eight observed hours
	square [forecast.Horizon]float64
	cross  [forecast.Horizon]float64
}

type blendPast struct {
	hour     int32
	distance float64
	usual    [forecast.Horizon]float64
	complete bool
}

// blendFade is the hourly factor that halves a weight in 28 days.
const blendFade = .99897

func (b *blend) observe(hour int32, slot int, required float64) {
	for _, p := range b.past {
		if h := int(hour-p.hour) - 1; h < forecast.Horizon && p.complete {
			b.square[h] = blendFade*b.square[h] + p.distance*p.distance
			b.cross[h] = blendFade*b.cross[h] + p.distance*(required-p.usual[h])
		}
	}
	b.past = append(b.past, blendPast{hour: hour, distance: required - b.usual(slot)})
	if len(b.past) > forecast.Horizon {
		b.past = b.past[1:]
	}
	b.hourOfWeek.observe(hour, slot, required)
}

func (b *blend) ahead(slots *[forecast.Horizon]int) [forecast.Horizon]float64 {
	last := &b.past[len(b.past)-1]
	last.usual, last.complete = b.hourOfWeek.ahead(slots), true
	list := last.usual
	for h := range list {
		list[h] = max(0, list[h]+last.distance*b.cross[h]/(b.square[h]+10))
	}
	return list
}

// holtWinters is additive exponential smoothing with a weekly season. Its parameters are not
// tuned.
type holtWinters struct {
	level, trend float64
	season       [168]float64
	begun        bool
}

const (
	levelStep  = .3
	trendStep  = .01
	trendDamp  = .8
	seasonStep = .15
)

func (w *holtWinters) observe(_ int32, slot int, required float64) {
	if !w.begun {
		w.begun, w.level = true, required
		return
	}
	before, season := w.level, w.season[slot]
	w.level = levelStep*(required-season) + (1-levelStep)*(w.level+trendDamp*w.trend)
	w.trend = trendStep*(w.level-before) + (1-trendStep)*trendDamp*w.trend
	w.season[slot] = seasonStep*(required-w.level) + (1-seasonStep)*season
}

func (w *holtWinters) ahead(slots *[forecast.Horizon]int) [forecast.Horizon]float64 {
	var list [forecast.Horizon]float64
	x, trend := w.level, w.trend
	for h, slot := range slots {
		trend *= trendDamp
		x += trend
		list[h] = max(0, x+w.season[slot])
	}
	return list
}

// chances are the probabilities that a level is at least yellow, at least orange, and red.
type chances [3]float64

// rps is the ranked probability score of a level forecast: the sum of the squared errors over yellow, orange and red.
// 0 is perfect.
func (c *chances) rps(came acuity.Level) float64 {
	sum := 0.0
	for x, p := range c {
		if int(came) > x {
			p--
		}
		sum += p * p
	}
	return sum
}

// brier is the squared error of the probability of orange or red.
func (c *chances) brier(came acuity.Level) float64 {
	p := c[1]
	if came >= acuity.LevelOrange {
		p--
	}
	return p * p
}

// levelBaselines are the simple methods with which the forecast levels are compared.
var levelBaselines = []string{"persistence", "hour-of-week", "transitions"}

// transitions counts, for each level, which levels followed it, separately for 1 to 8 hours later. It also counts how
// often each level occurred at each hour of the week.
type transitions struct {
	count [forecast.Horizon][4][4]float64
	usual [168][4]float64
}

func (t *transitions) observe(h, slot int, origin, came acuity.Level) {
	t.count[h][origin][came]++
	if h == 0 {
		t.usual[slot][came]++
	}
}

// ahead returns the probabilities of the levels according to each baseline, in the order of levelBaselines.
func (t *transitions) ahead(h, slot int, now acuity.Level) [3]chances {
	var list [3]chances
	for x := range list[0] {
		if int(now) > x {
			list[0][x] = 1
		}
	}
	list[1] = chancesOf(&t.usual[slot], now)
	list[2] = chancesOf(&t.count[h][now], now)
	return list
}

// chancesOf converts counts to probabilities. An additional count for the current level avoids certainty based on too
// few observations.
func chancesOf(count *[4]float64, now acuity.Level) chances {
	all := *count
	all[now]++
	total := all[0] + all[1] + all[2] + all[3]
	above := 0.0
	var c chances
	for x := 3; x >= 1; x-- {
		above += all[x]
		c[x-1] = above / total
	}
	return c
}
