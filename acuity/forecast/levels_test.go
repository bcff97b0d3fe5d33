package forecast

import (
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/score"
)

func drawScene(t *rapid.T) *scene {
	some := func(name string, low, high float64) float64 { return rapid.Float64Range(low, high).Draw(t, name) }
	s := &scene{
		outlook: outlook{
			mean: amount{some("nurses", 0, 12), some("single", 0, 10), some("rooms", 0, 25), some("points", 0, 400)},
			sd:   some("sd", 0, 3),
		},
		moves: some("moves", 0, 5), known: rapid.Int32Range(0, 4).Draw(t, "known"),
		base: score.UnitNumbers{
			STAT: rapid.Int32Range(0, 3).Draw(t, "stat"), Rooms: rapid.Int32Range(0, 25).Draw(t, "of rooms"),
			Boarders: rapid.Int32Range(0, 3).Draw(t, "boarders"), Nurses: rapid.Int32Range(-1, 12).Draw(t, "on duty"),
			Call: acuity.Tristate(rapid.IntRange(0, 2).Draw(t, "call")),
		},
	}
	for i := range s.slopes {
		s.slopes[i], s.sds[i] = some("slope", -.1, 2), some("residual", 0, 3)
	}
	q := -2.0
	for i := range s.tails {
		q += some("tail", 0, 1)
		s.tails[i] = q
	}
	for x := range s.shift {
		s.shift[x] = some("shift", -1, 1)
	}
	return s
}

// TestLevelsWithoutAxes: the fast computation of the levels has the same result as the full one.
func TestLevelsWithoutAxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		if got, want := s.judgeLevels(), s.judge(); got.atLeast != want.atLeast || got.level != want.level {
			t.Fatalf("%+v, with the axes %+v", got, want)
		}
	})
}

// TestOneNurseMore: an additional nurse never makes a worse level more likely.
func TestOneNurseMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.base.Nurses = max(s.base.Nurses, 0)
		with := *s
		with.base.Nurses++
		few, more := s.judge(), with.judge()
		for x := range few.atLeast {
			if more.atLeast[x] > few.atLeast[x] {
				t.Fatalf("%v, with a nurse more %v", few.atLeast, more.atLeast)
			}
			if x > 0 && few.atLeast[x] > few.atLeast[x-1] {
				t.Fatalf("%v rises", few.atLeast)
			}
		}
	})
}

// TestNormalSlices: without learned data, the scenarios are at the quantiles of the normal distribution, and the
// Poisson quantiles equal published tables.
func TestNormalSlices(t *testing.T) {
	for i, b := range between {
		z := tauScores[b.left] + b.share*(tauScores[b.left+1]-tauScores[b.left])
		if want := normalQuantile((float64(i) + .5) / cutsOfR); z < want-1e-12 || z > want+1e-12 {
			t.Errorf("slice %d: %v, want %v", i, z, want)
		}
	}
	for mean, want := range map[float64][noises]int32{0: {}, 1: {0, 0, 1, 1, 2}, 4.5: {2, 3, 4, 5, 7}} {
		if got := poisson(mean); got != want {
			t.Errorf("Poisson of %v: %v, want %v", mean, got, want)
		}
	}
}
