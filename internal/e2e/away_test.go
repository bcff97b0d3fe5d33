package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestFeedsToVerdict(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north")
	s.processor("p1")
	tour(t, s.partners[0])
	s.verify(nil)
}

// TestFlush empties Redis. Until the view is rebuilt, reads return 503; then they return the same bytes as before. A
// 404 would make a nurse believe that the unit does not exist.
func TestFlush(t *testing.T) {
	kafka, redis := ownRedis(t)
	s := startSystemOn(t, kafka, redis, nil, "north", "south")
	s.processor("p1")
	for _, p := range s.partners {
		p.accepted(t, "staffing", `{"nursesOnDuty":5,"callStaffAvailable":true}`)
		p.accepted(t, "census", `{"totalRooms":9,"rooms":[{"roomId":1,"area":"L&D","status":"occupied","primaryFactor":"labor-standard","modifiers":["env-interpreter"]},{"roomId":2,"status":"empty"}]}`)
	}
	before := map[string]string{}
	for _, p := range s.partners {
		before[p.hospital] = string(p.get(t, "/api/v1/unit-state").Data)
	}
	away := 0
	for range 5 {
		if err := s.redisClient().FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		for _, p := range s.partners {
			eventually(t, 20*time.Second, func() error {
				a := p.get(t, "/api/v1/unit-state")
				switch a.status {
				case http.StatusOK:
					if string(a.Data) != before[p.hospital] {
						t.Errorf("%s: after the flush %s, before %s", p.hospital, a.Data, before[p.hospital])
					}
					return nil
				case http.StatusServiceUnavailable:
					away++
					if a.header.Get("Retry-After") == "" {
						t.Error("503 without Retry-After")
					}
				default:
					t.Fatalf("%s: %d %s", p.hospital, a.status, a.raw)
				}
				return fmt.Errorf("still %d", a.status)
			})
		}
	}
	if away == 0 {
		t.Error("no read saw the view missing: the test proves nothing")
	}
}

// TestRedisStops stops Redis. Writes continue, and reads are refused within two seconds.
func TestRedisStops(t *testing.T) {
	kafka, redis := ownRedis(t)
	s := startSystemOn(t, kafka, redis, nil, "north", "south")
	s.processor("p1")
	l := feed(t, 60, s.partners...)
	l.awaitMore(t, 50)
	s.redis.stop(t)
	l.awaitMore(t, 50) // ingest does not need Redis
	p := s.partners[0]
	eventually(t, 30*time.Second, func() error { // until svc detects the outage, each write waits two seconds
		var in ingested
		a := p.post(t, "clinical", `{"roomId":1,"signals":[]}`)
		if into(t, a.Data, &in); a.status != http.StatusOK || in.Applied {
			t.Errorf("write without Redis: %v", a)
		}
		if a.took > time.Second {
			return fmt.Errorf("write without Redis took %v", a.took)
		}
		return nil
	})
	for range 5 {
		a := p.get(t, "/api/v1/level")
		if a.status != http.StatusServiceUnavailable || a.Error.Code != "internal" || a.header.Get("Retry-After") == "" || a.took > 2*time.Second {
			t.Errorf("read without Redis: %d after %v: %s", a.status, a.took, a.raw)
		}
	}
	s.redis.start(t)
	l.awaitMore(t, 50)
	eventually(t, 20*time.Second, func() error {
		if a := p.get(t, "/api/v1/level"); a.status != http.StatusOK {
			return fmt.Errorf("read with Redis back: %d %s", a.status, a.raw)
		}
		return nil
	})
	acked := l.finish()
	if l.refused[http.StatusServiceUnavailable] > 0 {
		t.Errorf("%d writes were refused while only Redis was away", l.refused[http.StatusServiceUnavailable])
	}
	s.verify(acked)
}

// TestKafkaStops kills the broker, restarts it, and then freezes it. While Kafka is down, writes return 503, and
// reads are refused, because newer input cannot be ruled out. No acknowledged write is lost.
func TestKafkaStops(t *testing.T) {
	kafka, redis := ownKafka(t)
	s := startSystemOn(t, kafka, redis, nil, "north", "south")
	s.processor("p1")
	l := feed(t, 60, s.partners...)
	l.awaitMore(t, 60)
	p := s.partners[0]
	write := func() *answer {
		t.Helper()
		a, err := p.do(http.MethodPost, "/api/ingest/clinical", "application/json", `{"roomId":1,"signals":[]}`)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}

	s.kafka.stop(t)
	eventually(t, 20*time.Second, func() error { // until the outage is detected
		if a := write(); a.status != http.StatusServiceUnavailable || a.took > 6*time.Second {
			return fmt.Errorf("write without Kafka: %d after %v", a.status, a.took)
		} else if a.took > 2*time.Second {
			return fmt.Errorf("not yet known to be away: %v", a.took)
		}
		return nil
	})
	for range 3 {
		if a := write(); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || a.took > 2*time.Second {
			t.Errorf("write without Kafka: %d after %v: %s", a.status, a.took, a.raw)
		}
	}
	eventually(t, 10*time.Second, func() error {
		if a := p.get(t, "/api/v1/level"); a.status != http.StatusServiceUnavailable || a.took > 2*time.Second || !strings.Contains(string(a.raw), "processing_behind") {
			return fmt.Errorf("read without Kafka: %d after %v: %s", a.status, a.took, a.raw)
		}
		return nil
	})
	s.kafka.start(t)
	l.awaitMore(t, 60)
	eventually(t, time.Minute, func() error {
		if a := p.get(t, "/api/v1/level"); a.status != http.StatusOK {
			return fmt.Errorf("read with Kafka back: %d %s", a.status, a.raw)
		}
		return nil
	})

	s.kafka.pause(t)
	for range 3 {
		if a := write(); a.took > 6*time.Second || a.status != http.StatusServiceUnavailable && a.status != http.StatusOK {
			t.Errorf("write to a frozen Kafka: %d after %v: %s", a.status, a.took, a.raw)
		}
	}
	s.kafka.unpause(t)
	l.awaitMore(t, 60)
	acked := l.finish()
	if l.slow503 > 6*time.Second {
		t.Errorf("a 503 took %v", l.slow503)
	}
	s.verify(acked)
}
