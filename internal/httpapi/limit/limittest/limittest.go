// Package limittest is the conformance suite for sources of shared buckets. It runs on the in-memory source, on the
// embedded Redis and on real Redis servers.
package limittest

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/httpapi/limit"
)

// Server opens the shared source under test. The tests use the machine's clock; each takes at most a second or two.
type Server struct {
	// Open opens the shared source, as a new instance would.
	Open func(t *testing.T) limit.Source
}

// Run runs the suite, which needs exclusive use of the server.
func Run(t *testing.T, s Server) {
	for name, test := range map[string]func(*testing.T, Server){
		"a missing bucket is full":                              testFull,
		"each caller has a separate bucket":                     testSeparate,
		"a bucket fills at its rate":                            testFills,
		"concurrent callers take no more than the bucket holds": testExact,
		"two instances share one rate":                          testTogether,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// slow is a rate that yields no token within a test.
var slow = limit.Rate{PerSecond: 0.001, Burst: 100}

func testFull(t *testing.T, s Server) {
	source := s.Open(t)
	for _, c := range []struct {
		want  float64
		taken bool
		left  float64
	}{
		{30, true, 70}, {0.5, true, 69.5}, {100, false, 69.5}, {69.5, true, 0}, {1, false, 0},
	} {
		taken, left, err := source.TakeTokens(t.Context(), t.Name(), slow, c.want)
		if err != nil || taken != c.taken || math.Abs(left-c.left) > 0.01 {
			t.Errorf("take %v: taken %t, left %v, error %v; want taken %t, left %v", c.want, taken, left, err, c.taken, c.left)
		}
	}
}

func testSeparate(t *testing.T, s Server) {
	source := s.Open(t)
	for i := range 3 {
		if taken, _, err := source.TakeTokens(t.Context(), t.Name()+strconv.Itoa(i), slow, 100); err != nil || !taken {
			t.Errorf("caller %d got nothing: %v", i, err)
		}
	}
}

func testFills(t *testing.T, s Server) {
	source := s.Open(t)
	fast := limit.Rate{PerSecond: 1000, Burst: 50}
	began := time.Now()
	if taken, _, err := source.TakeTokens(t.Context(), t.Name(), fast, 50); err != nil || !taken {
		t.Fatalf("got nothing: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	all := 0.0
	for all < 200 {
		taken, _, err := source.TakeTokens(ctx, t.Name(), fast, 10)
		if err != nil {
			t.Fatal(err)
		}
		if taken {
			all += 10
		}
	}
	if least := 195 * time.Millisecond; time.Since(began) < least {
		t.Errorf("took 200 tokens in %v at 1000 tokens per second", time.Since(began))
	}
}

func testExact(t *testing.T, s Server) {
	const takers = 8
	var all sync.WaitGroup
	var mu sync.Mutex
	sum := 0
	for range takers {
		source := s.Open(t)
		all.Go(func() {
			for range 40 {
				taken, _, err := source.TakeTokens(t.Context(), t.Name(), slow, 1)
				if err != nil {
					t.Error(err)
					return
				}
				if taken {
					mu.Lock()
					sum++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if sum != 100 {
		t.Errorf("%d callers took %v tokens, want 100", takers, sum)
	}
}

// watched is a source whose failures are counted.
type watched struct {
	limit.Source
	failed *atomic.Int64
}

func (w watched) TakeTokens(ctx context.Context, caller string, r limit.Rate, want float64) (bool, float64, error) {
	taken, left, err := w.Source.TakeTokens(ctx, caller, r, want)
	if err != nil {
		w.failed.Add(1)
	}
	return taken, left, err //nolint:wrapcheck // passed on unchanged
}

// testTogether sends the requests of one caller to two instances, almost without pauses. Together, the instances must
// allow at most the burst plus the rate times the elapsed time, and at least 80% of that number. A run in which the
// source did not respond in time does not count, because each instance then limits the caller alone. Neither does a
// run in which a busy machine sent few requests, because they might not have reached the limit.
func testTogether(t *testing.T, s Server) {
	for run := range 60 {
		if shareRate(t, s, fmt.Sprint(t.Name(), run)) {
			return
		}
	}
	t.Error("the source never responded in time to enough requests for a second")
}

// shareRate performs a run of testTogether. It returns false if the run does not count.
func shareRate(t *testing.T, s Server, caller string) bool {
	t.Helper()
	rate := limit.Rate{PerSecond: 100, Burst: 80}
	var asking sync.WaitGroup
	var failed atomic.Int64
	instances := [2]*limit.Limiter{
		limit.New(watched{s.Open(t), &failed}, time.Now), limit.New(watched{s.Open(t), &failed}, time.Now),
	}
	began := time.Now()
	var asked, allowed [2]int
	for i := range instances {
		asking.Go(func() {
			for time.Since(began) < time.Second {
				asked[i]++
				if instances[i].Allow(t.Context(), caller, rate).Allowed {
					allowed[i]++
				}
				time.Sleep(100 * time.Microsecond) // sending interval of the client
			}
		})
	}
	asking.Wait()
	took := time.Since(began)
	if failed.Load() > 0 {
		return false
	}
	most := float64(rate.Burst) + took.Seconds()*rate.PerSecond
	all := float64(allowed[0] + allowed[1])
	t.Logf("the instances allowed %v and %v requests in %v; limit %.0f", allowed[0], allowed[1], took, most)
	if all > most+1 {
		t.Errorf("%v requests allowed in %v, want at most %.0f", all, took, most)
	}
	if float64(asked[0]+asked[1]) < most*2 {
		return false
	}
	if all < most*0.8 {
		t.Errorf("only %v requests allowed in %v; limit %.0f", all, took, most)
	}
	return true
}
