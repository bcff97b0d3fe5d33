package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	calmHospitals = 10
	calmPace      = 50 // writes per second of all calm hospitals together
	hostileAtOnce = 6  // connections of the hostile hospital; each sends without a pause
)

// BenchmarkHostileDev measures how svc dev serves ten calm hospitals while a hostile hospital attacks it. The hostile
// hospital sends the largest valid bodies, each as soon as the previous one is answered, and ignores 429. E2E_HOSTILE
// is the duration; a run of five minutes shows whether memory or the backlog grows.
func BenchmarkHostileDev(b *testing.B) {
	d := startDev(b, b.TempDir())
	against(b, calmPartners(b, d, calmHospitals), newPartner(d.BaseURL, d.HospitalID, d.APIKey), d.node)
}

// BenchmarkHostileKafka repeats BenchmarkHostileDev on a real Kafka and a real Redis, with two
// processors.
func BenchmarkHostileKafka(b *testing.B) {
	names := []string{"hostile"}
	for n := range calmHospitals {
		names = append(names, fmt.Sprintf("calm-%d", n))
	}
	s := startSystem(b, names...)
	against(b, s.partners[1:], s.partners[0], s.front, s.processor("p1"), s.processor("p2"))
}

// against measures the response times for calm hospitals, first without the hostile hospital and then with it.
func against(b *testing.B, calm []*partner, foe *partner, nodes ...*node) {
	b.Helper()
	lasting, err := time.ParseDuration(cmp.Or(os.Getenv("E2E_HOSTILE"), "20s"))
	if err != nil {
		b.Fatal("E2E_HOSTILE:", err)
	}
	if len(calm) != calmHospitals {
		b.Fatalf("%d calm hospitals", len(calm))
	}
	for _, p := range append(calm, foe) {
		p.honored(b)
		eventually(b, time.Minute, func() error { return appliedNow(p) })
	}
	for b.Loop() {
		alone, left := writes(b, calm, max(lasting/3, 20*time.Second))
		if left > 0 {
			b.Fatalf("%d writes were not applied in time although nobody was hostile", left)
		}
		stop := attack(b, foe)
		beside, left := writes(b, calm, lasting)
		stop()
		stopped := time.Now()
		eventually(b, 5*time.Minute, func() error { return appliedNow(foe) })
		b.ReportMetric(time.Since(stopped).Seconds(), "s-to-current")
		b.ReportMetric(float64(left), "calm-not-applied")
		for _, p := range []int{50, 99} {
			b.ReportMetric(percentile(alone, p), fmt.Sprintf("alone-p%d-ms", p))
			b.ReportMetric(percentile(beside, p), fmt.Sprintf("beside-p%d-ms", p))
		}
		b.ReportMetric(percentile(beside, 99)/percentile(alone, 99), "x-p99")
		for _, n := range nodes {
			b.ReportMetric(n.status(b, "VmHWM"), n.name+"-MiB")
		}
		machineLoad(b)
	}
}

// writes makes hospitals send their feeds at a steady pace. It returns the duration of each write, and the number of
// writes that failed or that the response did not report as applied.
func writes(b *testing.B, calm []*partner, lasting time.Duration) (took []time.Duration, left int) {
	b.Helper()
	var pending atomic.Int64
	took = openLoop(b, calmPace, lasting, func(n int) error {
		path, body := request(rand.New(rand.NewPCG(2, uint64(n))), n%4, n/4)
		var in ingested
		a, err := calm[n%len(calm)].do(http.MethodPost, "/api/ingest/"+path, "application/json", body)
		switch {
		case err != nil:
			b.Log("calm:", err)
			pending.Add(1)
		case a.status != http.StatusOK:
			b.Logf("calm: %s: %d %s", path, a.status, a.raw)
			pending.Add(1)
		default:
			into(b, a.Data, &in)
			if !in.Applied {
				b.Logf("calm: %s of %s is not applied, %v after its beginning", path, calm[n%len(calm)].hospital, a.took)
				pending.Add(1)
			}
		}
		return nil
	})
	return took, int(pending.Load())
}

// attack sends hostile bodies until stop is called. stop reports how many responses of each kind the hostile hospital
// got.
func attack(b *testing.B, foe *partner) (stop func()) {
	b.Helper()
	var (
		mu     sync.Mutex
		made   hostile
		counts = map[string]int{}
		ended  = make(chan struct{})
		all    sync.WaitGroup
	)
	for range hostileAtOnce {
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				mu.Lock()
				body := made.next()
				mu.Unlock()
				a, err := foe.do(http.MethodPost, "/api/ingest/"+body.feed, body.contentType, body.text)
				how := "failed"
				switch {
				case err != nil:
					b.Log("hostile:", err)
				case a.status == http.StatusOK && strings.Contains(string(a.raw), `"applied":false`):
					how = "pending"
				default:
					how = fmt.Sprint(a.status)
				}
				mu.Lock()
				counts[how]++
				counts[body.feed+"-"+how]++
				mu.Unlock()
			}
		})
	}
	return func() {
		close(ended)
		all.Wait()
		b.Log("hostile:", counts)
		for _, how := range []string{"200", "pending", "429", "failed"} {
			b.ReportMetric(float64(counts[how]), "hostile-"+how)
		}
	}
}

// appliedNow sends a write of a hospital. It returns an error if the write fails or if the response does not report
// the write as applied. Once this write is applied, all earlier writes of the hospital are applied, too.
func appliedNow(p *partner) error {
	a, err := p.do(http.MethodPost, "/api/ingest/staffing", "application/json", `{"nursesOnDuty":3}`)
	switch {
	case err != nil:
		return err
	case a.status != http.StatusOK:
		return fmt.Errorf("%s: %d %s", p.hospital, a.status, a.raw)
	case !strings.Contains(string(a.raw), `"applied":true`):
		return errors.New(p.hospital + " is behind")
	}
	return nil
}
