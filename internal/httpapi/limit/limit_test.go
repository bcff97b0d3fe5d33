package limit_test

import (
	"context"
	"errors"
	"math"
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

func (a *away) TakeTokens(ctx context.Context, caller string, r limit.Rate, want float64) (float64, float64, error) {
	if a.is.Load() {
		return 0, 0, errAway
	}
	return a.Source.TakeTokens(ctx, caller, r, want)
}

// instance returns a limiter that runs until the test ends.
func instance(t *testing.T, source limit.Source) *limit.Limiter {
	t.Helper()
	l := limit.New(source, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return l
}

// A caller at a single instance gets its burst at once, and then its rate, whether the source is
// available or not.
func TestBurstThenRate(t *testing.T) {
	for name, gone := range map[string]bool{"with the source": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &away{Source: limit.NewMemory(time.Now)}
				source.is.Store(gone)
				l := instance(t, source)
				rate := limit.Rate{PerSecond: 50, Burst: 200}
				count := func(n int) (allowed int) {
					for range n {
						if l.Allow("a", rate).Allowed {
							allowed++
						}
						synctest.Wait() // the portion arrives in the background
					}
					return allowed
				}
				if got := count(1000); got < 200 || got > 200+rate.Lease()/2 {
					t.Errorf("%d of a burst of 200", got)
				}
				got := 0
				for range 200 { // 10 s
					time.Sleep(50 * time.Millisecond)
					got += count(10)
				}
				if got < 490 || got > 510 {
					t.Errorf("%d in ten seconds at 50 a second", got)
				}
				d := l.Allow("a", rate)
				for d.Allowed {
					d = l.Allow("a", rate)
				}
				if d.Retry <= 0 || d.Retry > time.Second {
					t.Errorf("try again in %v", d.Retry)
				}
				if l.Clients() != 1 || l.Limited() == 0 {
					t.Errorf("%d clients, %d requests were limited", l.Clients(), l.Limited())
				}
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				if l.Clients() != 0 {
					t.Errorf("%d clients are remembered", l.Clients())
				}
			})
		})
	}
}

// slow is a source that answers slowly and has a precision of millionths, like Redis.
type slow struct{ limit.Source }

func (s slow) TakeTokens(ctx context.Context, caller string, r limit.Rate, want float64) (float64, float64, error) {
	time.Sleep(20 * time.Millisecond)
	got, left, err := s.Source.TakeTokens(ctx, caller, r, want)
	return math.Floor(got*1e6) / 1e6, left, err
}

// A caller that is faster than the source still gets its burst, and then is refused at once.
func TestBurstOfAFastCaller(t *testing.T) {
	for _, rate := range []limit.Rate{{PerSecond: 50, Burst: 200}, {PerSecond: 1, Burst: 50}, {PerSecond: 5, Burst: 10}} {
		synctest.Test(t, func(t *testing.T) {
			l := instance(t, slow{limit.NewMemory(time.Now)})
			began, allowed := time.Now(), 0
			for l.Await(t.Context(), "a", rate, 100*time.Millisecond).Allowed {
				allowed++
			}
			took := time.Since(began)
			if most := rate.Burst + int(took.Seconds()*rate.PerSecond) + rate.Lease(); allowed < rate.Burst || allowed > most {
				t.Errorf("%v: %d allowed in %v, at most %d", rate, allowed, took, most)
			}
			if l.Limited() != 1 || l.Clients() != 1 {
				t.Errorf("%v: %d refused to %d", rate, l.Limited(), l.Clients())
			}
			began = time.Now()
			if d := l.Await(t.Context(), "a", rate, time.Hour); d.Allowed || d.Retry <= 0 || time.Since(began) > 25*time.Millisecond {
				t.Errorf("%v: %+v after %v", rate, d, time.Since(began))
			}
		})
	}
}

// A request waits for a portion no longer than its patience.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.NewMemory(time.Now), time.Now) // Run is not called, so no portion arrives
		rate, began, refused := limit.Rate{PerSecond: 1, Burst: 50}, time.Now(), limit.Decision{Allowed: true}
		for refused.Allowed {
			refused = l.Await(t.Context(), "a", rate, 100*time.Millisecond)
		}
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("waited %v", took)
		}
	})
}

// Two instances together allow at most the rate and one lease, for any distribution of the requests
// over instances and time.
func TestTwoInstancesKeepToOneRate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := limit.Rate{PerSecond: float64(rapid.IntRange(1, 100).Draw(rt, "rate")), Burst: rapid.IntRange(1, 200).Draw(rt, "burst")}
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [3]int {
			return [3]int{rapid.IntRange(0, 1).Draw(rt, "instance"), rapid.IntRange(1, 300).Draw(rt, "requests"), rapid.SampledFrom([]int{0, 1, 20, 100, 1000, 10000}).Draw(rt, "pause")}
		}), 1, 40).Draw(rt, "steps")
		synctest.Test(t, func(_ *testing.T) {
			source := limit.NewMemory(time.Now)
			var instances [2]*limit.Limiter
			for i := range instances {
				l := limit.New(source, time.Now)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				go l.Run(ctx) //nolint:errcheck // ends with the bubble
				instances[i] = l
			}
			type moment struct {
				at      time.Time
				allowed int
			}
			var log []moment
			for _, step := range steps {
				allowed := 0
				for range step[1] {
					if instances[step[0]].Allow("a", rate).Allowed {
						allowed++
					}
					synctest.Wait()
				}
				log = append(log, moment{time.Now(), allowed})
				for i := range log { // checks every window that ends here
					sum := 0
					for _, m := range log[i:] {
						sum += m.allowed
					}
					most := float64(rate.Burst) + time.Since(log[i].at).Seconds()*rate.PerSecond + float64(rate.Lease())
					if float64(sum) > most+1e-6 {
						rt.Fatalf("%d allowed in %v, at most %.1f", sum, time.Since(log[i].at), most)
					}
				}
				time.Sleep(time.Duration(step[2]) * time.Millisecond)
			}
		})
	})
}

// While the source is unavailable, each instance grants the full rate. When the source is available
// again, the instances share its buckets.
func TestSourceGoesAndComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &away{Source: limit.NewMemory(time.Now)}
		l := instance(t, source)
		rate := limit.Rate{PerSecond: 10, Burst: 100}
		for _, gone := range []bool{false, true, false, true} {
			source.is.Store(gone)
			allowed := 0
			for range 600 { // a minute, at twice the rate
				time.Sleep(50 * time.Millisecond)
				if l.Allow("a", rate).Allowed {
					allowed++
				}
				if l.Allow("a", rate).Allowed {
					allowed++
				}
			}
			if allowed < 290 || allowed > 300+100+rate.Lease() {
				t.Errorf("away %v: %d in half a minute at 10 a second", gone, allowed)
			}
		}
	})
}

func TestAnAdministratorChangesTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := instance(t, limit.NewMemory(time.Now))
		few, more := limit.Rate{PerSecond: 0.01, Burst: 1}, limit.Rate{PerSecond: 0.01, Burst: 1000}
		for range 20 {
			l.Allow("a", few)
			synctest.Wait()
		}
		if l.Allow("a", few).Allowed {
			t.Fatal("not limited")
		}
		if !l.Allow("a", more).Allowed {
			t.Error("the new rate is not in force")
		}
	})
}

func BenchmarkAllow(b *testing.B) {
	l := limit.New(limit.NewMemory(time.Now), time.Now)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	rate := limit.Rate{PerSecond: 1e9, Burst: 1e9}
	b.ReportAllocs()
	for b.Loop() {
		l.Allow("key_0123456789abcdef", rate)
	}
}
