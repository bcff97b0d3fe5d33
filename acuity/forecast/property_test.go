package forecast_test

import (
	"bytes"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/score"
)

const firstHour = 490_000

// anyUnit generates hours of a unit with arbitrary stages, demands and numbers of nurses. Some hours are not
// observed. The unit is not realistic but reveals divisions by zero.
func anyUnit(random *rand.Rand, hours int) []acuity.Snapshot {
	list := make([]acuity.Snapshot, hours)
	var here []acuity.SnapshotVisit
	name, quiet := uint64(0), 0
	nurses := int32(random.IntN(12) - 1)
	for i := range list {
		s := &list[i]
		*s = acuity.Snapshot{Hour: firstHour + int32(i), Observed: true, Nurses: nurses, Call: acuity.Tristate(random.IntN(3)), Moves: int32(random.IntN(4)), Rooms: 25}
		for range random.IntN(4) {
			name++
			here = append(here, acuity.SnapshotVisit{Visit: random.Uint64(), Class: acuity.StageClass(random.IntN(9))})
			s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: here[len(here)-1].Visit, Kind: acuity.ArrivalKind(random.IntN(4))})
		}
		here = slices.DeleteFunc(here, func(acuity.SnapshotVisit) bool { return random.IntN(12) == 0 })
		for j := range here {
			v := &here[j]
			v.Age += 60
			if random.IntN(6) == 0 {
				v.Class, v.Age = acuity.StageClass(random.IntN(9)), 0
			}
			for h := range v.Demand {
				v.Demand[h] = []uint8{0, 20, 30, 60, 120}[random.IntN(5)]
				v.Score[h] = v.Demand[h] / 2
			}
		}
		s.Visits = slices.Clone(here)
		s.Occupied = int32(len(here))
		if quiet == 0 && random.IntN(60) == 0 {
			quiet = 1 + random.IntN(40)
		}
		if quiet > 0 {
			quiet--
			*s = acuity.Snapshot{Hour: s.Hour, Nurses: -1}
		}
	}
	return list
}

func learnt(list []acuity.Snapshot, zone *time.Location) *forecast.Model {
	m := forecast.NewModel("h")
	for i := range list {
		s := list[i]
		forecast.Learn(m, &s, zone)
	}
	return m
}

func encoded(t interface{ Fatal(...any) }, m *forecast.Model) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func drawUnit(t *rapid.T, hours int) []acuity.Snapshot {
	return anyUnit(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), hours)
}

// sound reports a test error if a forecast is inconsistent.
func sound(t interface {
	Helper()
	Errorf(string, ...any)
}, f *forecast.Forecast,
) {
	t.Helper()
	number := func(x float64) {
		t.Helper()
		if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
			t.Errorf("a number is %v", x)
		}
	}
	for h := range f.Hours {
		hour := &f.Hours[h]
		for i, q := range hour.Nurses {
			number(q)
			if i > 0 && q < hour.Nurses[i-1] {
				t.Errorf("quantiles fall: %v", hour.Nurses)
			}
		}
		number(hour.Census)
		number(hour.Arrivals)
		number(hour.Mean)
		if hour.Nurses[forecast.P90] > f.Peak.P90 || hour.End == f.Peak.At && hour.Nurses[forecast.P90] != f.Peak.P90 {
			t.Errorf("peak %+v, but %+v", f.Peak, hour)
		}
	}
	for i := range f.Points {
		p := &f.Points[i]
		sum, below := int32(0), int32(0)
		for l, part := range p.P {
			if part < 0 {
				t.Errorf("probability %d", part)
			}
			sum += part
			if l < int(p.Level) {
				below += part
			}
		}
		if sum != 1000 || below >= 500 || below+p.P[p.Level] < 500 {
			t.Errorf("level %d of %v", p.Level, p.P)
		}
	}
	for _, d := range f.Drivers {
		if d == "" {
			t.Errorf("empty driver in %q", f.Drivers)
		}
	}
	if len(f.Drivers) > 5 {
		t.Errorf("drivers %q", f.Drivers)
	}
}

// TestSound: after any history and at any minute, quantiles ascend, probabilities sum to one, and
// no value is NaN.
func TestSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawUnit(t, rapid.IntRange(30, 150).Draw(t, "hours"))
		m := learnt(list, nil)
		last := list[len(list)-1]
		last.Observed = true
		at := acuity.Instant(m.Hour)*3_600_000 + acuity.Instant(rapid.IntRange(0, 3*3_600_000).Draw(t, "later"))
		f, err := forecast.Predict(m, &forecast.Unit{At: at, Snapshot: &last})
		if err != nil {
			return // too few hours, see TestInsufficient
		}
		sound(t, &f)
	})
}

// TestOrderOfVisits: the order of visits does not change a single byte of the forecast.
func TestOrderOfVisits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawUnit(t, 40)
		turned := slices.Clone(list)
		for i := range turned {
			turned[i].Visits = slices.Clone(turned[i].Visits)
			slices.Reverse(turned[i].Visits)
		}
		a, b := learnt(list, nil), learnt(turned, nil)
		if !bytes.Equal(encoded(t, a), encoded(t, b)) {
			t.Fatal("the models differ")
		}
		at := acuity.Instant(a.Hour) * 3_600_000
		f, first := forecast.Predict(a, &forecast.Unit{At: at, Snapshot: &list[39]})
		g, second := forecast.Predict(b, &forecast.Unit{At: at, Snapshot: &turned[39]})
		if !reflect.DeepEqual(f, g) || (first == nil) != (second == nil) {
			t.Fatalf("%+v\n%+v", f, g)
		}
	})
}

// TestRestore: a model that was encoded and decoded behaves like the original.
func TestRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawUnit(t, 40)
		cut := rapid.IntRange(1, 39).Draw(t, "cut")
		whole := learnt(list, nil)
		restored := forecast.NewModel("h")
		if err := gob.NewDecoder(bytes.NewReader(encoded(t, learnt(list[:cut], nil)))).Decode(restored); err != nil {
			t.Fatal(err)
		}
		for i := range list[cut:] {
			forecast.Learn(restored, &list[cut+i], nil)
		}
		if !bytes.Equal(encoded(t, whole), encoded(t, restored)) {
			t.Fatal("the models differ")
		}
	})
}

// TestNurseMore: an additional nurse does not make any level more likely to be reached.
func TestNurseMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawUnit(t, 40)
		m := learnt(list, nil)
		few := list[39]
		few.Observed, few.Nurses = true, max(few.Nurses, 0)
		more := few
		more.Nurses++
		at := acuity.Instant(m.Hour) * 3_600_000
		f, err := forecast.Predict(m, &forecast.Unit{At: at, Snapshot: &few})
		if err != nil {
			return // too few hours
		}
		g, err := forecast.Predict(m, &forecast.Unit{At: at, Snapshot: &more})
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Points {
			a, b := f.Points[i].P, g.Points[i].P
			for x := 2; x >= 0; x-- {
				a[x] += a[x+1]
				b[x] += b[x+1]
				if b[x+1] > a[x+1] {
					t.Fatalf("%v, with a nurse more %v", f.Points[i].P, g.Points[i].P)
				}
			}
		}
	})
}

// TestOriginIsPredict: the forecast that is scored equals the forecast that is shown.
func TestOriginIsPredict(t *testing.T) {
	list := anyUnit(rand.New(rand.NewPCG(3, 0)), 300)
	for i := range list {
		list[i].Observed = true
	}
	m := learnt(list, nil)
	origin := &m.Pending[len(m.Pending)-1]
	f, err := forecast.Predict(m, &forecast.Unit{At: acuity.Instant(m.Hour) * 3_600_000, Snapshot: &list[299]})
	if err != nil {
		t.Fatal(err)
	}
	for h := range f.Hours {
		for i, q := range f.Hours[h].Nurses {
			if math.Abs(q-float64(origin.Ahead[h].Quantiles[i])) > .0051 {
				t.Errorf("%d h, quantile %d: %v, scored %v", h+1, i, q, origin.Ahead[h].Quantiles[i])
			}
		}
	}
	for i, minutes := range forecast.PointMinutes {
		if minutes%60 != 0 {
			continue
		}
		p := f.Points[i].P
		if got, want := float64(p[2]+p[3])/1000, float64(origin.Ahead[minutes/60-1].AtLeast[1]); math.Abs(got-want) > .0011 {
			t.Errorf("%d min: orange %v, scored %v", minutes, got, want)
		}
	}
}

// TestEmptyUnit: a unit that was always empty needs no nurses.
func TestEmptyUnit(t *testing.T) {
	list, now := alone(acuity.SnapshotVisit{})
	now.Visits, now.Occupied = nil, 0
	m := learnt(list, nil)
	f, err := forecast.Predict(m, &forecast.Unit{At: acuity.Instant(m.Hour) * 3_600_000, Snapshot: &now})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, &f)
	for h := range f.Hours {
		if f.Hours[h].Nurses[forecast.P50] != 0 || f.Hours[h].ShortfallP50 != 0 || f.Hours[h].Census != 0 {
			t.Errorf("%d h: %+v", h+1, f.Hours[h])
		}
	}
	for i := range f.Points {
		if f.Points[i].Level != acuity.LevelGreen {
			t.Errorf("point %d: %+v", i, f.Points[i])
		}
	}
}

// TestQuantilesThatCrossed: quantiles that crossed because each is tracked separately are sorted in
// the forecast.
func TestQuantilesThatCrossed(t *testing.T) {
	list, now := alone(acuity.SnapshotVisit{Visit: 1, Class: acuity.StageOther, Demand: [9]uint8{60, 60, 60, 60, 60, 60, 60, 60, 60}})
	m := learnt(list, nil)
	slices.Reverse(m.Tails[:forecast.Quantiles])
	f, err := forecast.Predict(m, &forecast.Unit{At: acuity.Instant(m.Hour) * 3_600_000, Snapshot: &now})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, &f)
	if f.Hours[0].Nurses[forecast.P10] == f.Hours[0].Nurses[forecast.P90] {
		t.Error("the band has no width")
	}
}

// TestPlanAhead: planned nurses count from the start of their shift.
func TestPlanAhead(t *testing.T) {
	list := anyUnit(rand.New(rand.NewPCG(4, 0)), 200)
	for i := range list {
		list[i].Observed, list[i].Nurses, list[i].Call = true, 2, acuity.No
	}
	m := learnt(list, nil)
	at := acuity.Instant(m.Hour) * 3_600_000
	u := &forecast.Unit{At: at, Snapshot: &list[199]}
	before, err := forecast.Predict(m, u)
	if err != nil {
		t.Fatal(err)
	}
	u.Staffing = []acuity.Staffing{{AsOf: at + 4*3_600_000, Nurses: 40}}
	after, err := forecast.Predict(m, u)
	if err != nil {
		t.Fatal(err)
	}
	for h := range after.Hours {
		if h < 3 && after.Hours[h] != before.Hours[h] {
			t.Errorf("%d h: %+v, before the plan %+v", h+1, after.Hours[h], before.Hours[h])
		}
		if short := after.Hours[h].ShortfallP90; h >= 3 && short != 0 {
			t.Errorf("%d h: %d nurses short of 40", h+1, short)
		}
	}
	for i, minutes := range forecast.PointMinutes {
		if changed := after.Points[i] != before.Points[i]; changed != (minutes >= 240) {
			t.Errorf("%d min: changed %v", minutes, changed)
		}
	}
	if !slices.ContainsFunc(after.Drivers, func(d string) bool {
		return d == "Staffing plan from "+(at+4*3_600_000).Time().Format("15:04")+": 40 nurses."
	}) {
		t.Errorf("drivers %q", after.Drivers)
	}
	if before.Hours[0].ShortfallP50 <= 0 {
		t.Errorf("nobody is missing: %+v", before.Hours[0])
	}
	list[199].Nurses = -1
	unknown, err := forecast.Predict(m, &forecast.Unit{At: at, Snapshot: &list[199]})
	if err != nil {
		t.Fatal(err)
	}
	if unknown.Hours[0].ShortfallP50 != -1 || unknown.Hours[7].ShortfallP90 != -1 {
		t.Errorf("shortfall of unknown nurses %+v", unknown.Hours[0])
	}
}

// TestPastIsWhatWasObserved: a forecast includes the measured value for each of the last eight hours that was observed,
// unless a gap followed that hour.
func TestPastIsWhatWasObserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		m := forecast.NewModel("h")
		list := anyUnit(random, 24+rapid.IntRange(24, 100).Draw(t, "hours"))
		for i := range list {
			forecast.Learn(m, &list[i], nil)
		}
		last := &list[len(list)-1]
		later := rapid.Int32Range(0, 10).Draw(t, "later")
		f, err := forecast.Predict(m, &forecast.Unit{At: acuity.Instant(last.Hour+later)*3_600_000 + 60_000, Snapshot: &acuity.Snapshot{Observed: true, Nurses: -1}})
		if err != nil {
			t.Skip("rapid draws another unit: this one was observed for less than 24 hours")
		}
		var want []forecast.Measured
		for i := range list {
			s := &list[i]
			switch {
			case !s.Observed:
				want = nil
			case s.Hour > last.Hour+later-forecast.Horizon:
				want = append(want, forecast.Measured{Hour: s.Hour, Required: score.SumSnapshot(s).Required, Nurses: s.Nurses})
			}
		}
		if !slices.Equal(f.Past, want) {
			t.Fatalf("%d hours later: %v, want %v", later, f.Past, want)
		}
	})
}
