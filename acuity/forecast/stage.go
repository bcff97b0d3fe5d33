package forecast

import (
	"slices"

	"svc/acuity"
)

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

// A stage is short if what follows tells more than when the patient leaves.
func short(c acuity.StageClass) bool { return c <= acuity.StageRecovery }

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
	return long(v)*tiers + tier(v)
}

func long(v *acuity.SnapshotVisit) int {
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

// sorted returns the visits in ascending order of their names, so that sums are
// the same in whatever order they come; the list itself if it is so.
func sorted(visits []acuity.SnapshotVisit) []acuity.SnapshotVisit {
	byName := func(a, b acuity.SnapshotVisit) int {
		switch {
		case a.Visit < b.Visit:
			return -1
		case a.Visit > b.Visit:
			return 1
		}
		return 0
	}
	if slices.IsSortedFunc(visits, byName) {
		return visits
	}
	visits = slices.Clone(visits)
	slices.SortFunc(visits, byName)
	return visits
}

// search finds a visit among sorted ones.
func search(visits []acuity.SnapshotVisit, name uint64) *acuity.SnapshotVisit {
	low, high := 0, len(visits)
	for low < high {
		if mid := int(uint(low+high) >> 1); visits[mid].Visit < name {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(visits) && visits[low].Visit == name {
		return &visits[low]
	}
	return nil
}
