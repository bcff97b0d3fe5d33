package forecast

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// Version is the version of the model. A model with a different version is discarded and learned again.
const Version = 3

// The number of cells in each table of a model.
const (
	shortCells = 5 * 7 * 4 // class × age × ratio
	longCells  = 4 * 2     // class × demand (below one nurse, or at least one)
	hazards    = 4 * 6 * 24
	weekHours  = 168
	kinds      = 4
	cellSize   = 6

	seenHours = 24 * historyIn
)

// Model is the learned behavior of one hospital's unit. Its weights decay, so that it follows changes in the unit. A
// model is about 40 KB plus the pending origins. The comments on its fields call the four quantities in an amount R
// (required nurses), K (required nurses in rooms at 1:1 or more), C (occupied rooms) and S (score points).
type Model struct {
	Version    int32
	Hospital   string
	Hour       int32  // the last hour learned, in hours since 1970 UTC; 0: none
	Generation int32  // the latest generation among the learned snapshots
	Learnt     int32  // total number of observed hours learned
	Offset     int64  // offset of the next snapshot in the partition; maintained by the caller
	Seen       []byte // one bit for each observed hour of the 28 days up to Hour, indexed by hour modulo 672

	// Each cell of Short, Stayers and Newcomer holds a weight and then, summed over the samples, R, R², K, C and S.
	// In Short and Stayers, R, K, C and S are deviations from the frozen path (the need if no new facts arrive).
	Short    [shortCells * Horizon * cellSize]float32
	Stayers  [longCells * Horizon * cellSize]float32
	Hazards  [hazards * 2]float32 // patient-hours and number of departures
	Arrivals [kinds * weekHours]float32
	Weeks    [weekHours]float32                  // number of observations of each hour of the week
	Newcomer [kinds * Horizon * cellSize]float32 // needs of new patients, by hours since arrival
	Moves    [weekHours]float32                  // sums of the moves, by hour of the week
	Usual    [weekHours * 2]float32              // weight, sum of R
	Ridge    [Horizon * 5]float32                // sums of x1², x1·x2, x2², x1·y, x2·y; see learnWeights
	// UsualRooms and RidgeRooms are like Usual and Ridge, for C, the occupied rooms.
	UsualRooms [weekHours * 2]float32
	RidgeRooms [Horizon * 5]float32
	Tails      [Horizon * (Quantiles + 1)]float32 // quantiles of the standardized error, and number of scored forecasts
	Spreads    [Horizon * spreadSize]float32      // weight, then sums over the forecast errors: R², R·K, R·C, R·S, K², C², S²
	Shifts     [Horizon * 3]float32               // shifts of the log odds of at least yellow, at least orange and at least red
	Scores     [Horizon * scoreSize]float32       // weight, errors, errors of the persistence forecast, hits within the band

	Pending []Origin   // forecasts made in the last eight hours, ascending; none from before an unobserved hour
	Past    []Measured // states observed in the last eight hours, ascending; none from before an unobserved hour
}

// Measured is the observed state of a unit at a whole hour.
type Measured struct {
	Hour     int32 // hours since 1970 UTC
	Required catalogue.Demand
	Nurses   int32 // nurses on duty; -1: unknown
}

// At returns the instant of Hour.
func (m Measured) At() acuity.Instant { return acuity.Instant(m.Hour) * hourLong }

const (
	spreadSize = 8
	scoreSize  = 4
)

// Origin is a past forecast that is still to be compared with the hours that followed.
type Origin struct {
	Snapshot acuity.Snapshot
	Ahead    [Horizon]Ahead
}

// Ahead is the forecast for one hour. The values are in required nurses unless a comment says otherwise.
type Ahead struct {
	Mean, SD        float32
	Single          float32 // nurses required in rooms at 1:1 or more
	Occupied, Score float32 // occupied rooms, and score points
	Required, Rooms Correction
	Quantiles       [Quantiles]float32
	AtLeast         [3]float32 // probability of at least yellow, orange and red
}

// Correction holds the mean before correction (Raw) and the inputs of its two corrections.
type Correction struct{ Raw, ByUsual, FromUsual float32 }

// NewModel returns a model of a hospital that has not learned any hours.
func NewModel(hospital string) *Model {
	m := &Model{Version: Version, Hospital: hospital}
	for h := range Horizon {
		for i, z := range tauScores {
			m.Tails[h*(Quantiles+1)+i] = float32(z)
		}
	}
	return m
}

// Table is a named part of a model.
type Table struct {
	Name   string
	Values []float32 // shares the memory of the model
}

// Tables returns the tables of a model, the fields from Short to Scores, always in the same order.
func (m *Model) Tables() []Table {
	return []Table{
		{"short", m.Short[:]},
		{"stayers", m.Stayers[:]},
		{"hazards", m.Hazards[:]},
		{"arrivals", m.Arrivals[:]},
		{"weeks", m.Weeks[:]},
		{"newcomers", m.Newcomer[:]},
		{"moves", m.Moves[:]},
		{"usual", m.Usual[:]},
		{"ridge", m.Ridge[:]},
		{"usual-rooms", m.UsualRooms[:]},
		{"ridge-rooms", m.RidgeRooms[:]},
		{"tails", m.Tails[:]},
		{"spreads", m.Spreads[:]},
		{"shifts", m.Shifts[:]},
		{"scores", m.Scores[:]},
	}
}

// Clone returns a deep copy of the model.
func (m *Model) Clone() *Model {
	c := *m
	c.Seen, c.Pending, c.Past = slices.Clone(m.Seen), slices.Clone(m.Pending), slices.Clone(m.Past)
	return &c
}

// recordHour records whether an hour was observed, and makes it the last hour learned. It records the hours skipped
// since the previous one as not observed.
func (m *Model) recordHour(hour int32, observed bool) {
	if len(m.Seen) != seenHours/8 {
		m.Seen = make([]byte, seenHours/8)
	}
	for h := max(m.Hour+1, hour-seenHours+1); h <= hour; h++ {
		m.Seen[h%seenHours/8] &^= 1 << (h % 8)
	}
	if observed {
		m.Seen[hour%seenHours/8] |= 1 << (hour % 8)
	}
	m.Hour = hour
}

// countObserved returns the number of observed hours in the 28 days up to an hour.
func (m *Model) countObserved(hour int32) int {
	n := 0
	if hour <= m.Hour {
		for _, b := range m.Seen {
			n += bits.OnesCount8(b)
		}
		return n
	}
	if len(m.Seen) == 0 {
		return 0
	}
	for h := hour - seenHours + 1; h <= m.Hour; h++ {
		n += int(m.Seen[h%seenHours/8] >> (h % 8) & 1)
	}
	return n
}

// amount is a nursing need, split into the quantities that the axes use.
type amount [4]float64

// The indexes of an amount.
const (
	nurses = iota // nurses required
	single        // nurses required in rooms at 1:1 or more
	rooms         // occupied rooms
	points
)

// need returns the need of a visit from its demand in 60ths and the score of its room.
func need(demand, score uint8) amount {
	a := amount{nurses: float64(demand) / 60, points: float64(score)}
	if demand >= 60 {
		a[single] = a[nurses]
	}
	if score > 0 {
		a[rooms] = 1
	}
	return a
}

// isShort reports whether a stage of class c is usually short, in which case the next stage matters more than the
// departure.
func isShort(c acuity.StageClass) bool { return c <= acuity.StageRecovery }

// The dimensions of the tables of stages: class, age of the stage and demand.
var (
	shortAges = []int32{30, 60, 120, 240, 480, 960} // minutes
	longAges  = []int32{12 * 60, 24 * 60, 36 * 60, 48 * 60, 72 * 60}
)

const (
	ages     = 7 // number of age groups of short stages
	longBins = 6
	tiers    = 2 // number of demand groups of long stays: below one nurse, or at least one
	ratios   = 4 // number of ratio groups of short stages, see ratio
)

func bin(cuts []int32, age int32) int {
	for i, c := range cuts {
		if age < c {
			return i
		}
	}
	return len(cuts)
}

// ratio classifies a short stage by its current demand: 0 for less than 1:2, 1 for less than 1:1, 2 for less than two
// nurses, and 3 for two nurses or more. Within a class, the demand is the best predictor of what follows.
func ratio(v *acuity.SnapshotVisit) int {
	switch d := v.Demand[0]; {
	case d < 30:
		return 0
	case d < 60:
		return 1
	case d < 120:
		return 2
	}
	return 3
}

func tier(v *acuity.SnapshotVisit) int {
	if v.Demand[0] >= 60 {
		return 1
	}
	return 0
}

// shortCell returns the cell of a visit in a short stage.
func shortCell(v *acuity.SnapshotVisit) int {
	return (int(v.Class)*ages+bin(shortAges, v.Age))*ratios + ratio(v)
}

// longCell returns the cell of a visit in a long stay.
func longCell(v *acuity.SnapshotVisit) int {
	return longClass(v)*tiers + tier(v)
}

// longClass returns the class of a long stay as an index that starts at 0.
func longClass(v *acuity.SnapshotVisit) int {
	return int(min(v.Class, acuity.StageCoupletCesarean) - acuity.StageCouplet)
}

// hazardCell returns the cell for a patient-hour in a long stay.
func hazardCell(class, age, hour int) int { return ((class*longBins+age)*24 + hour) * 2 }

// sums is one cell of a table: the weight, followed by the sums of R, R², K, C and S over all samples (see [Model]).
type sums [cellSize]float32

func cell(table []float32, i int) *sums { return (*sums)(table[i*cellSize:]) }

func (s *sums) add(a amount) {
	s[0]++
	s[1] += float32(a[nurses])
	s[2] += float32(a[nurses] * a[nurses])
	s[3] += float32(a[single])
	s[4] += float32(a[rooms])
	s[5] += float32(a[points])
}

func (s *sums) plus(o *sums) {
	for i := range s {
		s[i] += o[i]
	}
}

// estimate is the expected value of a cell.
type estimate struct {
	mean     amount
	variance float64 // variance of the nurses required
}

// shrunk returns the estimate of a cell, shrunk toward a prior that counts as the given number of samples.
func (s *sums) shrunk(prior estimate, samples float64) estimate {
	n := float64(s[0]) + samples
	var e estimate
	for part, at := range [4]int{1, 3, 4, 5} {
		e.mean[part] = (float64(s[at]) + float64(samples*prior.mean[part])) / n
	}
	square := float64(prior.mean[nurses]*prior.mean[nurses]) + prior.variance
	second := (float64(s[2]) + float64(samples*square)) / n
	e.variance = max(0, second-float64(e.mean[nurses]*e.mean[nurses]))
	return e
}

// sortVisits returns the visits in ascending order of their ids, so that sums do not depend on the input order. It
// returns visits itself if the list is already sorted.
func sortVisits(visits []acuity.SnapshotVisit) []acuity.SnapshotVisit {
	byName := func(a, b acuity.SnapshotVisit) int { return cmp.Compare(a.Visit, b.Visit) }
	if slices.IsSortedFunc(visits, byName) {
		return visits
	}
	visits = slices.Clone(visits)
	slices.SortFunc(visits, byName)
	return visits
}

// findVisit returns the visit with the given id from a sorted list, or nil if the list does not contain the visit.
func findVisit(visits []acuity.SnapshotVisit, name uint64) *acuity.SnapshotVisit {
	at := sort.Search(len(visits), func(i int) bool { return visits[i].Visit >= name })
	if at < len(visits) && visits[at].Visit == name {
		return &visits[at]
	}
	return nil
}
