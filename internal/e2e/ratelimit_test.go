package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/httpapi/limit"
)

// TestRateOnTwoInstances uses one key on two instances as fast as they respond. Together, the instances must accept
// at most burst + rate × time requests, and at least 80% of that number. Requests that an instance decided separately,
// because Redis responded too late, may be in addition.
func TestRateOnTwoInstances(t *testing.T) {
	rate := limit.Rate{PerSecond: 50, Burst: 200}
	s := startSystem(t, "north")
	s.processor("p1")
	private := "127.0.0.1:" + mustFreePort(t)
	listen := "127.0.0.1:" + mustFreePort(t)
	second := start(t, "second", []string{"run", "ingest,read", "--listen", listen, "--private-listen", private}, s.env...)
	second.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
	key := cli(t, s.env, "keys", "mint", "--hospital", "north", "--name", "limited", "--scopes", "read:unit-state", "--rate", "50", "--burst", "200")
	instances := [2]*partner{newPartner(s.base, "north", key), newPartner("http://"+listen, "north", key)}
	for i, base := range []string{s.base, instances[1].base} { // until the view is complete; the key in this loop has no rate limit
		eventually(t, 30*time.Second, func() error {
			if a, err := newPartner(base, "north", s.partners[0].key).do(http.MethodGet, "/api/v1/level", "", ""); err != nil || a.status != http.StatusNotFound {
				return fmt.Errorf("instance %d: %+v %w", i, a, err)
			}
			return nil
		})
		instances[i].honored(t)
	}
	var passed [2]atomic.Int64
	var refused atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for i, p := range instances {
		for range 4 {
			all.Go(func() {
				for time.Since(began) < 6*time.Second {
					a, err := p.do(http.MethodGet, "/api/v1/level", "", "")
					switch {
					case err != nil:
						t.Error(err)
						return
					case a.status == http.StatusTooManyRequests:
						refused.Add(1)
						if a.header.Get("Retry-After") == "" {
							t.Error("429 without Retry-After")
						}
					case a.status == http.StatusNotFound: // a valid answer, because the unit has no state yet
						passed[i].Add(1)
					default:
						t.Errorf("%d %s", a.status, a.raw)
					}
				}
			})
		}
	}
	all.Wait()
	took := time.Since(began)
	granted := float64(rate.Burst) + took.Seconds()*rate.PerSecond
	together := float64(passed[0].Load() + passed[1].Load())
	t.Logf("%d and %d passed in %v, %d refused; burst and rate are %.0f", passed[0].Load(), passed[1].Load(), took, refused.Load(), granted)
	unshared := 0.0
	for _, address := range []string{s.private, "http://" + private} {
		_, value, _ := strings.Cut(metrics(t, address), "\nsvc_rate_unshared_requests_total ")
		value, _, _ = strings.Cut(value, "\n")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		unshared += n
	}
	if together > granted+unshared+1 {
		t.Errorf("%.0f passed, at most %.0f and %.0f without Redis", together, granted, unshared)
	}
	if together < 0.8*granted || refused.Load() < 100 || passed[0].Load() == 0 || passed[1].Load() == 0 {
		t.Errorf("%.0f passed of %.0f, %d refused: the test limits nothing, or too much", together, granted, refused.Load())
	}
}
