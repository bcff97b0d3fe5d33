package backtest

import (
	"slices"

	"svc/acuity"
)

// warned is the probability from which a level counts as forecast; from there on the answer of
// the API shows it.
const warned = .5

// leads collects how long before each onset of orange the forecast announced it.
type leads struct {
	last  acuity.Level
	known bool
	hours []int // lead of each onset; 0: not announced
}

func (l *leads) gap() { l.known = false }

// observe takes the level of the next hour and the origins before it. At an onset, the lead is the
// number of the latest origins that forecast orange for this hour, without a break.
func (l *leads) observe(level acuity.Level, past []origin, hour int32, counts func(*origin) bool) {
	if l.known && level >= acuity.LevelOrange && l.last < acuity.LevelOrange && len(past) > 0 && counts(&past[0]) {
		lead := 0
		for _, o := range slices.Backward(past) {
			h := int(hour - o.snapshot.Hour)
			if h != lead+1 || o.ahead[h-1].AtLeast[1] < warned {
				break
			}
			lead = h
		}
		l.hours = append(l.hours, lead)
	}
	l.last, l.known = level, true
}

// Lead is how long before a unit became orange or red the forecast announced it.
type Lead struct {
	Onsets int     `json:"onsets"` // times that the unit became orange or red
	Within []Share `json:"within"`
	Median float64 `json:"medianHours"` // of all onsets; 0: not announced
}

// Share is the share of onsets that were announced at least so many hours before.
type Share struct {
	Hours int     `json:"hours"`
	Share float64 `json:"share"`
}

func (l *leads) result() Lead {
	list := Lead{Onsets: len(l.hours)}
	if len(l.hours) == 0 {
		return list
	}
	slices.Sort(l.hours)
	list.Median = float64(l.hours[(len(l.hours)-1)/2]+l.hours[len(l.hours)/2]) / 2
	for _, least := range []int{1, 2, 4, 8} {
		n := 0
		for _, h := range l.hours {
			if h >= least {
				n++
			}
		}
		list.Within = append(list.Within, Share{least, rounded(float64(n)/float64(len(l.hours)), 3)})
	}
	return list
}
