package forecast_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"svc/acuity"
	"svc/acuity/forecast"
)

// sized generates hours of a unit with the given number of simultaneous visits.
func sized(visits, hours int) []acuity.Snapshot {
	random := rand.New(rand.NewPCG(1, 1))
	list := make([]acuity.Snapshot, hours)
	here := make([]acuity.SnapshotVisit, visits)
	for i := range here {
		here[i] = acuity.SnapshotVisit{Visit: uint64(i) << 32, Class: acuity.StageClass(random.IntN(9))}
	}
	for i := range list {
		s := &list[i]
		*s = acuity.Snapshot{Hour: firstHour + int32(i), Observed: true, Nurses: int32(visits / 3), Call: acuity.No, Occupied: int32(visits), Rooms: int32(visits + 3), Moves: 3}
		for j := range here {
			v := &here[j]
			v.Age += 60
			if random.IntN(14) == 0 {
				v.Visit++
				v.Age, v.Class = 0, acuity.StageClass(random.IntN(9))
				s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: v.Visit})
			}
			for h := range v.Demand {
				v.Demand[h], v.Score[h] = []uint8{20, 30, 60}[random.IntN(3)], 20
			}
		}
		s.Visits = append([]acuity.SnapshotVisit(nil), here...)
	}
	return list
}

// BenchmarkPredict computes one forecast. Goal: below 1 ms for 40 visits, 5 ms for 500.
func BenchmarkPredict(b *testing.B) {
	for _, visits := range []int{40, 500} {
		b.Run(fmt.Sprintf("%d visits", visits), func(b *testing.B) {
			list := sized(visits, 100)
			m := learnt(list, nil)
			u := &forecast.Unit{At: acuity.Instant(m.Hour)*3_600_000 + 1_234_567, Snapshot: &list[99]}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := forecast.Predict(m, u); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLearn processes one hour of a hospital. Goal: below 0.5 ms.
func BenchmarkLearn(b *testing.B) {
	for _, visits := range []int{40, 500} {
		b.Run(fmt.Sprintf("%d visits", visits), func(b *testing.B) {
			list := sized(visits, 200)
			m := learnt(list, nil)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s := list[i%len(list)]
				s.Hour = m.Hour + 1
				forecast.Learn(m, &s, nil)
			}
		})
	}
}

// BenchmarkHospitals processes one hour of 2,700 hospitals with 27 visits each. Goal: below 2 s.
func BenchmarkHospitals(b *testing.B) {
	list := sized(27, 40)
	models := make([]*forecast.Model, 2700)
	base := learnt(list, nil)
	for i := range models {
		models[i] = base.Clone()
	}
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		s := list[i%len(list)]
		s.Hour = models[0].Hour + 1
		for _, m := range models {
			forecast.Learn(m, &s, nil)
		}
	}
}
