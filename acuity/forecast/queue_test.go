package forecast_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"svc/acuity"
	"svc/acuity/forecast"
)

// queue simulates an M/M/∞ queue: patients arrive at a constant rate, stay for an exponentially distributed time, and
// each need one nurse. Only the arrival rate and the mean stay can be learned, so the best forecast is known exactly.
func queue(seed uint64, hours int, perHour, stay float64) []acuity.Snapshot {
	random := rand.New(rand.NewPCG(seed, 1))
	type patient struct {
		name      uint64
		came, end float64
	}
	var present []patient
	list := make([]acuity.Snapshot, hours)
	next := random.ExpFloat64() / perHour
	name := uint64(0)
	for i := range list {
		s := &list[i]
		*s = acuity.Snapshot{Hour: 490_000 + int32(i), Observed: true, Nurses: 8, Call: acuity.No, Rooms: 20}
		for ; next <= float64(i); next += random.ExpFloat64() / perHour {
			name++
			present = append(present, patient{name, next, next + stay*random.ExpFloat64()})
			s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: name, Kind: acuity.ArrivesOther})
		}
		kept := present[:0]
		for _, p := range present {
			if p.end <= float64(i) {
				continue
			}
			kept = append(kept, p)
			v := acuity.SnapshotVisit{Visit: p.name, Class: acuity.StageOther, Age: int32(60 * (float64(i) - p.came))}
			for h := range v.Demand {
				v.Demand[h], v.Score[h] = 60, 20
			}
			s.Visits = append(s.Visits, v)
		}
		present = kept
		s.Occupied = int32(len(present))
	}
	return list
}

// floor returns the mean absolute error of the best forecast at h hours under the stationary
// distribution. The best forecast is the median of remaining patients (binomial) plus arrivals
// (Poisson).
func floor(perHour, stay float64, h int) float64 {
	load := perHour * stay
	survive := math.Exp(-float64(h) / stay)
	come := load * (1 - survive)
	total, p := 0.0, math.Exp(-load)
	for n := range 60 {
		if n > 0 {
			p *= load / float64(n)
		}
		// law is the distribution of the number of patients h hours ahead, given n patients now.
		var law [140]float64
		stays := make([]float64, n+1)
		for k := range stays {
			c, _ := math.Lgamma(float64(n + 1))
			a, _ := math.Lgamma(float64(k + 1))
			b, _ := math.Lgamma(float64(n - k + 1))
			stays[k] = math.Exp(c - a - b + float64(k)*math.Log(survive) + float64(n-k)*math.Log(1-survive))
		}
		q := math.Exp(-come)
		for j := range 70 {
			if j > 0 {
				q *= come / float64(j)
			}
			for k, s := range stays {
				law[j+k] += q * s
			}
		}
		median, sum := 0, law[0]
		for sum < .5 {
			median++
			sum += law[median]
		}
		for x, w := range law {
			total += p * w * math.Abs(float64(x-median))
		}
	}
	return total
}

// TestQueueFloor: after eight weeks of a simulated queue, the mean error of the forecasts is at most 15% above that
// of the best possible forecast. An error more than 2% below it would indicate a leak from the future.
func TestQueueFloor(t *testing.T) {
	const perHour, stay, weeks = .5, 13, 20
	var errors [forecast.Horizon]float64
	var n [forecast.Horizon]float64
	for seed := range uint64(4) {
		list := queue(seed+1, weeks*168, perHour, stay)
		m := forecast.NewModel("queue")
		for i := range list {
			forecast.Learn(m, &list[i], nil)
			if i < 8*168 || i+forecast.Horizon >= len(list) {
				continue
			}
			f := &m.Pending[len(m.Pending)-1]
			for h := range f.Ahead {
				came := float64(len(list[i+h+1].Visits))
				errors[h] += math.Abs(came - float64(f.Ahead[h].Quantiles[forecast.P50]))
				n[h]++
			}
		}
	}
	for h := range errors {
		mae, best := errors[h]/n[h], floor(perHour, stay, h+1)
		t.Logf("%d h: %.3f, the best possible is %.3f: %.3f", h+1, mae, best, mae/best)
		if ratio := mae / best; ratio < .98 || ratio > 1.15 {
			t.Errorf("%d h: %.3f is %.3f of the floor %.3f", h+1, mae, ratio, best)
		}
	}
}
