package forecast

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// Version is that of the model. A model of another version is not read: its
// hospital is learnt anew.
const Version = 3

// How many numbers each table of a model has.
const (
	shortCells = 5 * 7 * 4 // class × age × ratio of nursing
	longCells  = 4 * 2     // class × demand of one nurse and more
	hazards    = 4 * 6 * 24
	weekHours  = 168
	kinds      = 4
	cellSize   = 6

	seenHours = 24 * historyIn
)

// Model is what the hours of one hospital have taught. Its numbers fade, so that
// it follows a change of the unit; it is about 40 KB, and the pending origins.
type Model struct {
	Version    int32
	Hospital   string
	Hour       int32  // the last one learnt: hours since 1970 UTC; 0: none
	Generation int32  // the latest of a snapshot learnt
	Learnt     int32  // observed hours, ever
	Offset     int64  // of the next snapshot in its partition; for the caller
	Seen       []byte // 28 days of hours up to Hour, a bit for each that was observed; at its place modulo 672

	// For each cell: weight, then sums of what became of it beyond the frozen
	// path: R, its square, K, C, S.
	Short    [shortCells * Horizon * cellSize]float32
	Stayers  [longCells * Horizon * cellSize]float32
	Hazards  [hazards * 2]float32 // patient-hours, and how many left
	Arrivals [kinds * weekHours]float32
	Weeks    [weekHours]float32                  // how often each hour of the week was seen
	Newcomer [kinds * Horizon * cellSize]float32 // by hours since they came
	Moves    [weekHours]float32                  // sums by hour of the week
	Usual    [weekHours * 2]float32              // weight, sum of R
	Ridge    [Horizon * 5]float32                // sums of x1², x1·x2, x2², x1·y, x2·y
	// The same of C, the occupied rooms.
	UsualRooms [weekHours * 2]float32
	RidgeRooms [Horizon * 5]float32
	Tails      [Horizon * (Quantiles + 1)]float32 // quantiles of z, and how many were scored
	Spreads    [Horizon * spreadSize]float32      // weight, squares of R, R·K, R·C, R·S, squares of K, C, S
	Shifts     [Horizon * 3]float32               // of the odds of yellow, orange, red and worse
	Scores     [Horizon * scoreSize]float32       // weight, errors, those of persistence, within the band

	Pending []Origin   // the last eight observed hours, ascending
	Past    []Measured // the same hours, as they were
}

// Measured is a unit as it was at a full hour.
type Measured struct {
	Hour     int32 // since 1970 UTC
	Required catalogue.Demand
	Nurses   int32 // on duty; -1: unknown
}

// At returns the instant of the hour.
func (m Measured) At() acuity.Instant { return acuity.Instant(m.Hour) * hourLong }

const (
	spreadSize = 8
	scoreSize  = 4
)

// Origin is an hour whose forecast is still to be compared with what came.
type Origin struct {
	Snapshot acuity.Snapshot
	Ahead    [Horizon]Ahead
}

// Ahead is what was forecast for one hour ahead, in nurses required unless said.
type Ahead struct {
	Mean, SD        float32
	Single          float32 // nurses of the rooms at 1:1 and more
	Occupied, Score float32 // rooms; points
	Required, Rooms Correction
	Quantiles       [Quantiles]float32
	AtLeast         [3]float32 // probability of yellow, orange, red and worse
}

// Correction is what a mean was before it was corrected, and what it was corrected by.
type Correction struct{ Raw, ByUsual, FromUsual float32 }

// NewModel returns the model of a hospital of which no hour was seen.
func NewModel(hospital string) *Model {
	m := &Model{Version: Version, Hospital: hospital}
	for h := range Horizon {
		for i, z := range tauScores {
			m.Tails[h*(Quantiles+1)+i] = float32(z)
		}
	}
	return m
}

// Table is a part of a model by its name.
type Table struct {
	Name   string
	Values []float32 // of the model: a change changes it
}

// Tables returns the numbers of a model, always in the same order. They are all
// of it but the fields before Short and after Scores.
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

// Clone returns a copy that shares no table with the model.
func (m *Model) Clone() *Model {
	c := *m
	c.Seen, c.Pending, c.Past = slices.Clone(m.Seen), slices.Clone(m.Pending), slices.Clone(m.Past)
	return &c
}

// recordHour notes whether an hour was observed, and forgets those that are 28 days older.
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

// countObserved returns how many hours were observed in the 28 days up to an hour.
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

// amount is a need for nursing, as the parts that the axes ask for.
type amount [4]float64

// The parts.
const (
	nurses = iota // required
	single        // nurses of the rooms that require one or more
	rooms         // occupied
	points        // score
)

// need is what a visit needs by its demand in 60ths and the score of its room.
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

// isShort reports whether what follows a stage tells more than when the patient leaves.
func isShort(c acuity.StageClass) bool { return c <= acuity.StageRecovery }

// The tables of stages, by class, age of the stage and demand.
var (
	shortAges = []int32{30, 60, 120, 240, 480, 960} // minutes
	longAges  = []int32{12 * 60, 24 * 60, 36 * 60, 48 * 60, 72 * 60}
)

const (
	ages     = 7 // of short stages
	longBins = 6
	tiers    = 2 // of long stays: demand of less than one nurse, and of one or more
	ratios   = 4 // of short stages, see ratio
)

func bin(cuts []int32, age int32) int {
	for i, c := range cuts {
		if age < c {
			return i
		}
	}
	return len(cuts)
}

// ratio tells short stages apart by the nursing that they ask for now: below 1:2,
// 1:2, 1:1, two nurses. Within a class it is what tells most of what comes next.
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

// shortCell returns where a visit in a short stage is counted.
func shortCell(v *acuity.SnapshotVisit) int {
	return (int(v.Class)*ages+bin(shortAges, v.Age))*ratios + ratio(v)
}

// longCell returns where a visit in a long stay is counted.
func longCell(v *acuity.SnapshotVisit) int {
	return longClass(v)*tiers + tier(v)
}

// longClass returns the class of a long stay, from 0.
func longClass(v *acuity.SnapshotVisit) int {
	return int(min(v.Class, acuity.StageCoupletCesarean) - acuity.StageCouplet)
}

// hazardCell returns where a patient-hour of a long stay is counted.
func hazardCell(class, age, hour int) int { return ((class*longBins+age)*24 + hour) * 2 }

// sums is one cell of a table: weight, sums of what came beyond what was
// expected: nurses, their square, and the other parts.
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

// estimate is what a cell expects.
type estimate struct {
	mean     amount
	variance float64 // of the nurses
}

// shrunk returns the estimate of a cell that as many samples of a prior stand
// behind.
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

// sortVisits returns the visits in ascending order of their names, so that sums are
// the same in whatever order they come; the list itself if it is so.
func sortVisits(visits []acuity.SnapshotVisit) []acuity.SnapshotVisit {
	byName := func(a, b acuity.SnapshotVisit) int { return cmp.Compare(a.Visit, b.Visit) }
	if slices.IsSortedFunc(visits, byName) {
		return visits
	}
	visits = slices.Clone(visits)
	slices.SortFunc(visits, byName)
	return visits
}

// findVisit finds a visit among sorted ones.
func findVisit(visits []acuity.SnapshotVisit, name uint64) *acuity.SnapshotVisit {
	at := sort.Search(len(visits), func(i int) bool { return visits[i].Visit >= name })
	if at < len(visits) && visits[at].Visit == name {
		return &visits[at]
	}
	return nil
}
