package backtest

import (
	"svc/acuity"
	"svc/acuity/forecast"
)

// chances are the probabilities that a level is at least yellow, orange, red.
type chances [3]float64

// rps is the ranked probability score of a forecast level: the sum of the squared errors over
// yellow, orange and red. 0 is perfect.
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

// levelBaselines are the rivals of the forecast levels.
var levelBaselines = []string{"persistence", "hour-of-week", "transitions"}

// transitions count the level that follows a level after some hours, and the usual level at an
// hour of the week.
type transitions struct {
	count [forecast.Horizon][4][4]float64
	usual [168][4]float64
}

func (t *transitions) observe(h, slot int, was, is acuity.Level) {
	t.count[h][was][is]++
	if h == 0 {
		t.usual[slot][is]++
	}
}

// ahead returns the chances by each of the baselines.
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

// chancesOf turns counts into chances. One more count of the present level avoids certainty
// from too few observations.
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
