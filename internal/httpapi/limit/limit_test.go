package limit_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/limit/limittest"
)

func TestMemory(t *testing.T) {
	memory := limit.NewMemory(time.Now)
	limittest.Run(t, limittest.Server{Open: func(*testing.T) limit.Source { return memory }})
}

// away is a source that a test can make unavailable.
type away struct {
	limit.Source
	is atomic.Bool
}

var errAway = errors.New("away")

func (a *away) TakeTokens(ctx context.Context, caller string, r limit.Rate, want float64) (bool, float64, error) {
	if a.is.Load() {
		return false, 0, errAway
	}
	return a.Source.TakeTokens(ctx, caller, r, want)
}

// TestBurstThenRate: a caller of a single instance can use its whole burst at once, and then its rate, whether or not
// the source is available.
func TestBurstThenRate(t *testing.T) {
	for name, gone := range map[string]bool{"with the source": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &away{Source: limit.NewMemory(time.Now)}
				source.is.Store(gone)
				l := limit.New(source, time.Now)
				rate := limit.Rate{PerSecond: 50, Burst: 200}
				count := func(n int) (allowed int) {
					for range n {
						if l.Allow(t.Context(), "a", rate).Allowed {
							allowed++
						}
					}
					return allowed
				}
				if got := count(1000); got != 200 {
					t.Errorf("%d of a burst of 200", got)
				}
				got := 0
				for range 200 { // 10 s
					time.Sleep(50 * time.Millisecond)
					got += count(10)
				}
				if got < 499 || got > 501 {
					t.Errorf("%d in ten seconds at 50 a second", got)
				}
				d := l.Allow(t.Context(), "a", rate)
				if d.Allowed || d.Retry <= 0 || d.Retry > 20*time.Millisecond || d.Remaining != 0 {
					t.Errorf("%+v", d)
				}
				time.Sleep(d.Retry)
				if !l.Allow(t.Context(), "a", rate).Allowed {
					t.Error("refused although it came when it was told to")
				}
				if l.Clients() != 1 || l.Limited() == 0 {
					t.Errorf("%d clients, %d requests were limited", l.Clients(), l.Limited())
				}
				time.Sleep(24 * time.Hour)
				if l.Clients() != 0 {
					t.Errorf("%d clients are remembered", l.Clients())
				}
			})
		})
	}
}

// TestNoSecondBurst: when the source becomes unavailable, a caller who has used the burst does not get another one.
func TestNoSecondBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &away{Source: limit.NewMemory(time.Now)}
		l, s := limit.New(source, time.Now), limit.NewShare(source, time.Now)
		rate := limit.Rate{PerSecond: 50, Burst: 200}
		for range 200 {
			l.Allow(t.Context(), "a", rate)
		}
		if busy := s.Spend(t.Context(), "north", 0, limit.FactsAtOnce); busy != nil {
			t.Error(busy)
		}
		source.is.Store(true)
		if d := l.Allow(t.Context(), "a", rate); d.Allowed {
			t.Errorf("a second burst: %+v", d)
		}
		if busy := s.Spend(t.Context(), "north", 0, limit.FactsAtOnce); busy == nil {
			t.Error("a second share")
		}
		if d := l.Allow(t.Context(), "b", rate); !d.Allowed {
			t.Errorf("a new caller: %+v", d)
		}
		time.Sleep(time.Second) // virtual time
		if d := l.Allow(t.Context(), "a", rate); !d.Allowed || d.Remaining != 49 {
			t.Errorf("after a second: %+v", d)
		}
		if n := l.Unshared(); n != 3 {
			t.Errorf("%d requests were decided without the source", n)
		}
	})
}

// stuck is a source that does not respond before the caller gives up.
type stuck struct{ asked atomic.Int64 }

func (s *stuck) TakeTokens(ctx context.Context, _ string, _ limit.Rate, _ float64) (bool, float64, error) {
	s.asked.Add(1)
	<-ctx.Done()
	return false, 0, ctx.Err()
}

// TestSourceDoesNotAnswer: a source that does not respond delays at most one request per second, by a quarter of a
// second. Other requests do not wait. A request whose sender has disconnected does not make the source count as
// unavailable.
func TestSourceDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &stuck{}
		l := limit.New(source, time.Now)
		rate := limit.Rate{PerSecond: 1e6, Burst: 1e6}
		gone, leave := context.WithCancel(t.Context())
		leave()
		l.Allow(gone, "a", rate)
		began, slow := time.Now(), 0
		for time.Since(began) < 10*time.Second {
			at := time.Now()
			if !l.Allow(t.Context(), "a", rate).Allowed {
				t.Fatal("refused")
			}
			if time.Since(at) > 0 {
				slow++
			}
			time.Sleep(time.Millisecond)
		}
		if n := int(source.asked.Load()); slow != n-1 || slow < 7 || slow > 9 {
			t.Errorf("%d of the requests waited, %d queries", slow, n)
		}
	})
}

// TestTwoInstancesKeepToOneRate: together, two instances allow at most the burst and the rate, for any distribution
// of the requests over instances and time.
func TestTwoInstancesKeepToOneRate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := limit.Rate{PerSecond: float64(rapid.IntRange(1, 100).Draw(rt, "rate")), Burst: rapid.IntRange(1, 200).Draw(rt, "burst")}
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [3]int {
			return [3]int{rapid.IntRange(0, 1).Draw(rt, "instance"), rapid.IntRange(1, 300).Draw(rt, "requests"), rapid.SampledFrom([]int{0, 1, 20, 100, 1000, 10000}).Draw(rt, "pause")}
		}), 1, 40).Draw(rt, "steps")
		now := time.Unix(1_700_000_000, 0)
		clock := func() time.Time { return now }
		source := limit.NewMemory(clock)
		instances := [2]*limit.Limiter{limit.New(source, clock), limit.New(source, clock)}
		type moment struct {
			at      time.Time
			allowed int
		}
		var log []moment
		for _, step := range steps {
			allowed := 0
			for range step[1] {
				if instances[step[0]].Allow(t.Context(), "a", rate).Allowed {
					allowed++
				}
			}
			log = append(log, moment{now, allowed})
			for i := range log { // checks every window that ends here
				sum := 0
				for _, m := range log[i:] {
					sum += m.allowed
				}
				if most := float64(rate.Burst) + now.Sub(log[i].at).Seconds()*rate.PerSecond; float64(sum) > most+1e-6 {
					rt.Fatalf("%d allowed in %v, at most %.1f", sum, now.Sub(log[i].at), most)
				}
			}
			now = now.Add(time.Duration(step[2]) * time.Millisecond)
		}
	})
}

// TestSourceGoesAndComes: while the source is unavailable, each instance grants the full rate. When the source is
// available again, the instances share its buckets.
func TestSourceGoesAndComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &away{Source: limit.NewMemory(time.Now)}
		instances := [2]*limit.Limiter{limit.New(source, time.Now), limit.New(source, time.Now)}
		rate := limit.Rate{PerSecond: 10, Burst: 100}
		for i, gone := range []bool{false, true, false, true} {
			source.is.Store(gone)
			var allowed [2]int
			for range 600 { // for half a minute, each instance gets requests at twice the rate
				time.Sleep(50 * time.Millisecond)
				for i, l := range instances {
					if l.Allow(t.Context(), "a", rate).Allowed {
						allowed[i]++
					}
				}
			}
			least, most := 290, 300+100+20
			if gone {
				least, most = 2*least, 2*most
			}
			if sum := allowed[0] + allowed[1]; sum < least || sum > most {
				t.Errorf("%d, away %v: %v in half a minute at 10 a second", i, gone, allowed)
			}
		}
	})
}

func TestAnAdministratorChangesTheRate(t *testing.T) {
	l := limit.New(limit.NewMemory(time.Now), time.Now)
	few, more := limit.Rate{PerSecond: 0.01, Burst: 1}, limit.Rate{PerSecond: 0.01, Burst: 1000}
	l.Allow(t.Context(), "a", few)
	if l.Allow(t.Context(), "a", few).Allowed {
		t.Fatal("not limited")
	}
	if !l.Allow(t.Context(), "a", more).Allowed {
		t.Error("the new rate is not in force")
	}
}

func BenchmarkAllow(b *testing.B) {
	l := limit.New(limit.NewMemory(time.Now), time.Now)
	rate := limit.Rate{PerSecond: 1e9, Burst: 1e9}
	b.ReportAllocs()
	for b.Loop() {
		l.Allow(b.Context(), "key_0123456789abcdef", rate)
	}
}
