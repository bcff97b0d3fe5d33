package forecast

import (
	"math/bits"
	"slices"

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

// see notes whether an hour was observed, and forgets those that are 28 days older.
func (m *Model) see(hour int32, observed bool) {
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

// observed returns how many hours were observed in the 28 days up to an hour.
func (m *Model) observed(hour int32) int {
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
