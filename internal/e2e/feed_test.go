package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// load sends a stream of requests from several hospitals, which continues during faults. It retries each request with
// the same bytes until the server acknowledges it, and records every acknowledgment.
type load struct {
	t        *testing.T
	partners []*partner
	stopping chan struct{}
	stop     func() // closes the channel stopping; further calls have no effect
	done     sync.WaitGroup

	mu      sync.Mutex
	acked   []acknowledged
	refused map[int]int   // number of answers other than 200, by status
	slowest time.Duration // duration of the slowest answer
	slow503 time.Duration // duration of the slowest 503
}

type acknowledged struct {
	hospital, feed string
	position       position
}

type position struct {
	partition int32
	offset    int64
}

// feed starts a load of about perSecond requests per second. If perSecond is 0, one writer per hospital sends
// without pausing.
func feed(t *testing.T, perSecond int, partners ...*partner) *load {
	t.Helper()
	l := &load{t: t, partners: partners, stopping: make(chan struct{}), refused: map[int]int{}}
	l.stop = sync.OnceFunc(func() { close(l.stopping) })
	t.Cleanup(func() { // in case the test ends before the load
		l.stop()
		l.done.Wait()
	})
	workers, every := 1, time.Nanosecond // workers for each hospital, and the interval at which each of them sends
	if perSecond > 0 {
		workers = 10
		every = time.Second * time.Duration(len(partners)*workers) / time.Duration(perSecond)
	}
	for i, p := range partners {
		for worker := range workers {
			l.done.Add(1)
			go l.work(p, rand.New(rand.NewPCG(uint64(i), uint64(worker))), worker, every)
		}
	}
	return l
}

// finish stops the load, waits until each open request has been retried and acknowledged, and returns all
// acknowledgments.
func (l *load) finish() []acknowledged {
	l.stop()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Logf("load: %d acknowledged, refused %v, slowest answer %v", len(l.acked), l.refused, l.slowest)
	return l.acked
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

func (l *load) work(p *partner, random *rand.Rand, worker int, every time.Duration) {
	defer l.done.Done()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-l.stopping:
			return
		case <-tick.C:
		}
		path, body := request(random, worker, n)
		l.send(p, path, body)
	}
}

// send retries one request until it is acknowledged.
func (l *load) send(p *partner, path, body string) {
	open := startWatch()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		watch := startWatch()
		a, err := p.do(http.MethodPost, "/api/ingest/"+path, "application/json", body)
		took := watch.elapsed()
		l.mu.Lock()
		l.slowest = max(l.slowest, took)
		switch {
		case err != nil:
			l.refused[0]++
		case a.status == http.StatusOK:
			var in ingested
			if err := json.Unmarshal(a.Data, &in); err != nil {
				l.t.Errorf("%s: %v in %s", path, err, a.raw)
			}
			at, err := parsePosition(in.Position)
			if err != nil {
				l.t.Errorf("%s: position %q", path, in.Position)
			}
			l.acked = append(l.acked, acknowledged{p.hospital, path, at})
			l.mu.Unlock()
			return
		default:
			l.refused[a.status]++
			if a.status == http.StatusServiceUnavailable {
				l.slow503 = max(l.slow503, took)
				if a.header.Get("Retry-After") == "" {
					l.t.Errorf("503 without Retry-After: %s", a.raw)
				}
			} else {
				l.t.Errorf("%s: %d %s for %s", path, a.status, a.raw, body)
			}
		}
		l.mu.Unlock()
		if open.elapsed() > 3*time.Minute {
			l.t.Errorf("%s was not acknowledged in three minutes", path)
			return
		}
		select {
		case <-time.After(pause): // longer each time, because 60 hasty clients would keep two cores busy during an outage
		case <-l.stopping:
			if l.t.Failed() {
				return // the test has failed and needs no more requests
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func parsePosition(text string) (position, error) {
	partition, offset, _ := strings.Cut(text, ":")
	p, err := strconv.ParseInt(partition, 10, 32)
	if err != nil {
		return position{}, err
	}
	o, err := strconv.ParseInt(offset, 10, 64)
	return position{int32(p), o}, err
}

const rooms = 12

// request returns a random request for one of the feeds. Many requests start timers that end within seconds, so that
// timers are due all the time.
func request(random *rand.Rand, worker, n int) (path, body string) {
	now := time.Now().UTC()
	at := func(ago time.Duration) string { return now.Add(-ago).Format("2006-01-02T15:04:05.000Z07:00") }
	soon := time.Duration(random.IntN(4000)) * time.Millisecond // time until the timer ends
	room := 1 + random.IntN(rooms)
	if k := n % 24; k < 2 { // an admission and its update; an update without an admission only causes a warning
		return "adt", fmt.Sprintf(`{"eventId":"u%d-%d","eventType":%q,"occurredAt":%q,"visitId":"U%d-%d","roomId":%d,"patientClass":"I","diagnoses":[{"system":"ICD-10-CM","code":"O14.13"}]}`,
			worker, n, []string{"A01", "A08"}[k], at(time.Duration(2-k)*time.Second), worker, n/24, room)
	}
	switch kind := random.IntN(20); {
	case kind < 6: // magnesium: 1:1 for the first 60 minutes
		return "clinical", fmt.Sprintf(`{"roomId":%d,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","status":"active","startedAt":%q}]}`,
			room, at(60*time.Minute-soon))
	case kind < 8:
		return "clinical", fmt.Sprintf(`{"roomId":%d,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","status":"completed"}]}`, room)
	case kind < 11: // MEWS: ends after 240 minutes
		return "clinical", fmt.Sprintf(`{"roomId":%d,"signals":[{"kind":"observation","system":"LOINC","code":"88888-8","display":"MEWS total score","value":%d,"observedAt":%q}]}`,
			room, random.IntN(8), at(240*time.Minute-soon))
	case kind < 13: // fetal heart rate
		return "clinical", fmt.Sprintf(`{"roomId":%d,"signals":[{"kind":"observation","system":"LOINC","code":"32421-5","value":"Category %s","observedAt":%q}]}`,
			room, []string{"I", "II", "III"}[random.IntN(3)], at(60*time.Minute-soon))
	case kind < 14:
		return "staffing", fmt.Sprintf(`{"nursesOnDuty":%d,"callStaffAvailable":%t}`, 2+random.IntN(9), random.IntN(2) == 0)
	case kind < 17: // ADT events of a visit, from registration to a canceled admission
		visit := fmt.Sprintf("V%d-%d", worker, n/8)
		event := []string{"A04", "A01", "A02", "A02", "A02", "A03", "A13", "A11"}[n%8]
		return "adt", fmt.Sprintf(`{"eventId":"%d-%d","eventType":%q,"occurredAt":%q,"visitId":%q,"roomId":%d,"patientClass":"I","diagnoses":[{"system":"ICD-10-CM","code":%q}]}`,
			worker, n, event, at(time.Duration(random.IntN(60000))*time.Millisecond), visit, room,
			[]string{"O14.13", "O72.1", "O15.1", "O30.0", "Z37.0", "J45"}[random.IntN(6)])
	case kind < 18:
		return "roster", fmt.Sprintf(`{"nurses":[{"externalId":"n1","skillLevel":%d,"assignedRoomIds":[%d]},{"externalId":"n2","skillLevel":2}]}`, random.IntN(3), room)
	default:
		var rows []string
		for id := 1; id <= rooms; id++ {
			switch random.IntN(4) {
			case 0:
				rows = append(rows, fmt.Sprintf(`{"roomId":%d,"status":"empty"}`, id))
			case 1:
				rows = append(rows, fmt.Sprintf(`{"roomId":%d,"status":"occupied","primaryFactor":"pp-immediate-recovery-vag","primaryFactorSince":%q}`, id, at(120*time.Minute-soon)))
			case 2:
				rows = append(rows, fmt.Sprintf(`{"roomId":%d,"status":"occupied","area":"L&D","primaryFactor":"labor-standard","modifiers":["labor-epidural-init","env-interpreter"]}`, id))
			default:
				rows = append(rows, fmt.Sprintf(`{"roomId":%d,"status":"occupied","area":"PP","visitId":"C%d","primaryFactor":"pp-couplet"}`, id, id))
			}
		}
		return "census", `{"rooms":[` + strings.Join(rows, ",") + `]}`
	}
}
