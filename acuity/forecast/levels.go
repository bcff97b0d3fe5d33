package forecast

import (
	"math"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
)

// The scenarios of a level forecast: 40 quantiles of the required nurses times 5 quantiles of the residual noise.
const (
	cutsOfR   = 40
	noises    = 5
	scenarios = cutsOfR * noises
)

// The forecast odds of each level are shifted so that each level is forecast as often as it occurs. shiftStep is the
// learning rate; shareClip keeps the odds finite. Both values were chosen by this project.
const (
	shiftStep = .03
	shareClip = .01
)

// tauScores are the quantiles of the normal distribution at Taus.
var tauScores = func() (z [Quantiles]float64) {
	for i, tau := range Taus {
		z[i] = normalQuantile(tau)
	}
	return z
}()

// noiseTaus are the probabilities of the noise quantiles.
var noiseTaus = [noises]float64{.1, .3, .5, .7, .9}

var noiseScores = func() (z [noises]float64) {
	for i, tau := range noiseTaus {
		z[i] = normalQuantile(tau)
	}
	return z
}()

// between gives, for each of the cutsOfR quantiles of the required nurses, its position between two tracked
// quantiles: the index of the lower one (left), and the fraction of the distance from there to the next one (share).
// Distances are measured in normal scores, and positions are extrapolated beyond the outermost tracked quantiles.
var between = func() (list [cutsOfR]struct {
	left  int
	share float64
},
) {
	for i := range list {
		z := normalQuantile((float64(i) + .5) / cutsOfR)
		j := 0
		for j < Quantiles-2 && z > tauScores[j+1] {
			j++
		}
		list[i].left, list[i].share = j, (z-tauScores[j])/(tauScores[j+1]-tauScores[j])
	}
	return list
}()

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// levels is the level forecast for one instant.
type levels struct {
	atLeast [3]float64 // probability of at least yellow, orange and red
	driving acuity.Axis
	level   acuity.Level
}

// scene is the input to the level forecast for one instant.
type scene struct {
	outlook
	moves float64           // expected number of future moves in the 120 min before the instant
	known int32             // number of past moves that still count at the instant
	base  score.UnitNumbers // all other numbers
	shift [3]float64
}

// judge evaluates the verdict's axes for all scenarios at one instant.
func (s *scene) judge() levels {
	moves := poisson(s.moves)
	var seen [4][acuity.AxisCount]int
	var count [4]int
	for j := range noises {
		for i := range cutsOfR {
			g := s.scenario(i, j, moves[j])
			level, axis := g.Driving()
			seen[level][axis]++
			count[level]++
		}
	}
	l := s.shares(&count)
	l.driving = findDriving(&seen, l.level)
	return l
}

// judgeLevels evaluates the same scenarios as judge, but determines only the levels and not the driving axis. If no
// slope is negative, the level never falls as the required nurses increase, so a binary search finds the scenarios at
// which the level changes. Otherwise, judgeLevels calls judge.
func (s *scene) judgeLevels() levels {
	moves := poisson(s.moves)
	var count [4]int
	for _, slope := range s.slopes {
		if slope < 0 {
			return s.judge()
		}
	}
	for j := range noises {
		level := func(i int) acuity.Level {
			g := s.scenario(i, j, moves[j])
			return g.Level()
		}
		for i, here, last := 0, level(0), level(cutsOfR-1); ; {
			if here == last {
				count[here] += cutsOfR - i
				break
			}
			low, high := i, cutsOfR-1 // level(low) equals the level here, and level(high) is above it
			next := last
			for high-low > 1 {
				mid := (low + high) / 2
				if l := level(mid); l == here {
					low = mid
				} else {
					high, next = mid, l
				}
			}
			count[here] += high - i
			i, here = high, next
		}
	}
	return s.shares(&count)
}

// scenario returns the unit at the i-th quantile of the required nurses and the j-th quantile of the noise. The
// argument moves is the number of future moves that the scenario assumes.
func (s *scene) scenario(i, j int, moves int32) score.UnitNumbers {
	at := &between[i]
	low, high := s.tails[at.left], s.tails[at.left+1]
	r := max(0, s.mean[nurses]+float64(s.sd*(low+float64(at.share*(high-low)))))
	by, z := r-s.mean[nurses], noiseScores[j]
	g := s.base
	g.Required = catalogue.Demand(math.Round(60 * r))
	g.Single = catalogue.Demand(math.Round(60 * min(r, s.part(single, 0, by, z))))
	g.Occupied = int32(math.Round(s.part(rooms, 1, by, z)))
	g.Score = int64(math.Round(s.part(points, 2, by, z)))
	g.Moves = s.known + moves
	return g
}

// shares converts the number of scenarios at each level to the probabilities of the levels, which it corrects by
// s.shift, and determines the median level.
func (s *scene) shares(count *[4]int) levels {
	var l levels
	above := 0
	for x := 3; x >= 1; x-- {
		above += count[x]
		share := min(max(float64(above)/scenarios, shareClip), 1-shareClip)
		l.atLeast[x-1] = logistic(math.Log(share/(1-share)) + s.shift[x-1])
	}
	for x := range l.atLeast {
		if x > 0 {
			l.atLeast[x] = min(l.atLeast[x], l.atLeast[x-1])
		}
		if l.atLeast[x] > .5 {
			l.level = acuity.Level(x + 1)
		}
	}
	return l
}

// part returns one of the quantities K, C and S (see [Model]) for a scenario. The argument part is the quantity's
// index in an amount, and i its index in s.slopes and s.sds. In the scenario, the required nurses exceed their mean
// by excess, and the noise has the normal score z.
func (s *scene) part(part, i int, excess, z float64) float64 {
	return max(0, s.mean[part]+float64(s.slopes[i]*excess)+float64(s.sds[i]*z))
}

// findDriving returns the most frequent driving axis among the scenarios at a level, or among all scenarios if none is
// at that level.
func findDriving(seen *[4][acuity.AxisCount]int, level acuity.Level) acuity.Axis {
	of := seen[level]
	if of == [acuity.AxisCount]int{} {
		for l := range seen {
			for a, n := range seen[l] {
				of[a] += n
			}
		}
	}
	best := 0
	for a, n := range of {
		if n > of[best] {
			best = a
		}
	}
	return acuity.Axis(best)
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// poisson returns the quantiles of a Poisson distribution at noiseTaus.
func poisson(mean float64) (quantiles [noises]int32) {
	p := math.Exp(-mean)
	sum := p
	k := int32(0)
	for i, tau := range noiseTaus {
		for sum < tau && k < 1000 {
			k++
			p *= mean / float64(k)
			sum += p
		}
		quantiles[i] = k
	}
	return quantiles
}

// scenes computes the state of the unit a given number of minutes ahead. Between two hours of the forecast, it
// interpolates the forecast quantities. It does not interpolate the number of rooms of class 4, but uses the number
// that the earlier hour would have if no new facts arrived.
type scenes struct {
	*path
	model    *Model
	snapshot *acuity.Snapshot
	ahead    [Horizon]outlook
	moves    *[weekHours]float64
	hours    [Horizon + 1]stretch
}

// forecastScenes forecasts a unit, starting at an instant. The visits of s must be sorted.
func (m *Model) forecastScenes(s *acuity.Snapshot, at acuity.Instant, c clock) *scenes {
	a := &scenes{model: m, snapshot: s, moves: m.averageWeek(m.Moves[:], false), hours: c.ahead(at)}
	a.path = m.follow(s, &a.hours)
	a.ahead = m.correct(a.path, &a.hours)
	return a
}

func (a *scenes) at(minutes int) scene {
	h, share := minutes/60, float64(minutes%60)/60
	s := scene{base: score.SumSnapshot(a.snapshot)}
	s.base.STAT = a.snapshot.Class4[h]
	if minutes > 60 {
		s.base.Boarders = 0 // the model assumes that boarders get a room within an hour
	}
	left, right := a.outlook(h), a.outlook(min(h+1, Horizon))
	s.outlook = left
	mix := func(x, y float64) float64 { return x + float64(share*(y-x)) }
	if share > 0 {
		for i := range s.mean {
			s.mean[i] = mix(left.mean[i], right.mean[i])
		}
		s.sd = math.Sqrt(mix(float64(left.sd*left.sd), float64(right.sd*right.sd)))
		for i := range s.slopes {
			s.slopes[i] = mix(left.slopes[i], right.slopes[i])
			s.sds[i] = math.Sqrt(mix(float64(left.sds[i]*left.sds[i]), float64(right.sds[i]*right.sds[i])))
		}
		for i := range s.tails {
			s.tails[i] = mix(left.tails[i], right.tails[i])
		}
	}
	for x := range s.shift {
		s.shift[x] = mix(a.shift(h, x), a.shift(min(h+1, Horizon), x))
	}
	s.expectMoves(a, minutes)
	return s
}

// outlook returns the outlook for the unit h hours ahead. The outlook for 0 hours has no uncertainty.
func (a *scenes) outlook(h int) outlook {
	if h > 0 {
		return a.ahead[h-1]
	}
	o := a.ahead[0]
	o.mean, o.sd, o.sds = a.now, 0, [3]float64{}
	return o
}

func (a *scenes) shift(h, x int) float64 { return float64(a.model.Shifts[max(h-1, 0)*3+x]) }

// expectMoves estimates the moves that count in the 120 minutes before the instant that is the given number of
// minutes ahead. It splits them into moves that were already observed and expected future moves.
func (s *scene) expectMoves(a *scenes, minutes int) {
	come := min(float64(minutes)/120, 1)
	h := (minutes + 59) / 60
	usual := a.hours[h-1].mix(func(slot int) float64 { return a.moves[slot] })
	s.moves = float64(come * usual)
	s.known = int32(math.Round(float64(1-come) * float64(a.snapshot.Moves)))
}

// findStaffing returns the nurses on duty and the call state at an instant according to the plans; -1 nurses means
// unknown.
func findStaffing(s *acuity.Snapshot, plans []acuity.Staffing, at acuity.Instant) (int32, acuity.Tristate) {
	n, call := s.Nurses, s.Call
	for i := range plans {
		if plans[i].AsOf > at {
			break
		}
		n = plans[i].Nurses
		if plans[i].Call != acuity.Unsaid {
			call = plans[i].Call
		}
	}
	return n, call
}
