// Package limittest is the conformance suite for sources of shared buckets. It runs on the source in memory, on the
// embedded Redis and on real Redis servers.
package limittest

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"svc/internal/httpapi/limit"
)

// Server is a source to test. It uses the machine's clock; no test lasts longer than a second or two.
type Server struct {
	// Open returns the source as another instance would open it.
	Open func(t *testing.T) limit.Source
}

// Run runs the suite, which needs exclusive use of the server.
func Run(t *testing.T, s Server) {
	for name, test := range map[string]func(*testing.T, Server){
		"a bucket that is not there is full": full,
		"callers have buckets of their own":  apart,
		"a bucket fills at its rate":         fills,
		"many take no more than there is":    exact,
		"two instances keep to one rate":     together,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// slow is a rate that yields no token within a test.
var slow = limit.Rate{PerSecond: 0.001, Burst: 100}

func full(t *testing.T, s Server) {
	source := s.Open(t)
	for _, c := range []struct{ want, got, left float64 }{
		{30, 30, 70}, {0.5, 0.5, 69.5}, {100, 69.5, 0}, {1, 0, 0},
	} {
		got, left, err := source.TakeTokens(t.Context(), t.Name(), slow, c.want)
		if err != nil || math.Abs(got-c.got) > 0.01 || math.Abs(left-c.left) > 0.01 {
			t.Errorf("want %v: got %v, left %v, %v; want %v and %v", c.want, got, left, err, c.got, c.left)
		}
	}
}

func apart(t *testing.T, s Server) {
	source := s.Open(t)
	for i := range 3 {
		if got, _, err := source.TakeTokens(t.Context(), t.Name()+strconv.Itoa(i), slow, 100); err != nil || got != 100 {
			t.Errorf("caller %d got %v, %v", i, got, err)
		}
	}
}

func fills(t *testing.T, s Server) {
	source := s.Open(t)
	fast := limit.Rate{PerSecond: 1000, Burst: 50}
	began := time.Now()
	if got, _, err := source.TakeTokens(t.Context(), t.Name(), fast, 50); err != nil || got != 50 {
		t.Fatalf("got %v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	all := 0.0
	for all < 200 {
		got, _, err := source.TakeTokens(ctx, t.Name(), fast, 10)
		if err != nil {
			t.Fatal(err)
		}
		all += got
	}
	if least := 195 * time.Millisecond; time.Since(began) < least {
		t.Errorf("200 tokens after %v at 1000 a second", time.Since(began))
	}
}

func exact(t *testing.T, s Server) {
	const takers = 8
	var all sync.WaitGroup
	var mu sync.Mutex
	sum := 0.0
	for range takers {
		source := s.Open(t)
		all.Go(func() {
			for range 40 {
				got, _, err := source.TakeTokens(t.Context(), t.Name(), slow, 1)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				sum += got
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if sum < 99.9 || sum > 100.1 {
		t.Errorf("%d takers got %v of 100", takers, sum)
	}
}

// together makes two instances serve one caller as fast as they can. Together they may allow the burst, the rate of the
// elapsed time, and at most one lease.
func together(t *testing.T, s Server) {
	rate := limit.Rate{PerSecond: 100, Burst: 80}
	ctx, cancel := context.WithCancel(t.Context())
	var running, asking sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var instances [2]*limit.Limiter
	for i := range instances {
		instances[i] = limit.New(s.Open(t), time.Now)
		running.Go(func() {
			if err := instances[i].Run(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	began := time.Now()
	var allowed [2]int
	for i := range instances {
		asking.Go(func() {
			for time.Since(began) < time.Second {
				if instances[i].Allow(t.Name(), rate).Allowed {
					allowed[i]++
				}
				time.Sleep(100 * time.Microsecond) // sending interval of the client
			}
		})
	}
	asking.Wait()
	took := time.Since(began)
	most := float64(rate.Burst) + took.Seconds()*rate.PerSecond
	all := float64(allowed[0] + allowed[1])
	t.Logf("%v and %v allowed in %v, of %.0f", allowed[0], allowed[1], took, most)
	if all > most+float64(rate.Lease()) {
		t.Errorf("%v allowed in %v, at most %.0f and a lease of %d", all, took, most, rate.Lease())
	}
	if all < most*0.8 {
		t.Errorf("only %v allowed in %v, of %.0f", all, took, most)
	}
}
