package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestRedisComesBackOlder saves Redis, changes the units, kills Redis, and restarts it from the saved file. No more
// input follows. No read may return the older state, and soon all reads must return the current state.
func TestRedisComesBackOlder(t *testing.T) {
	kafka, redis := ownRedis(t)
	s := startSystemOn(t, kafka, redis, nil, "north", "south", "east", "west", "river", "lake")
	s.processor("p1")
	staffing := func(p *partner, nurses int) {
		t.Helper()
		p.accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty":%d,"callStaffAvailable":true}`, nurses))
	}
	for _, p := range s.partners {
		p.accepted(t, "census", `{"totalRooms":9,"rooms":[{"roomId":1,"area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`)
		staffing(p, 5)
	}
	ctx := context.Background()
	client := s.redisClient()
	if err := client.Save(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // so that no other test restarts from this file
		if err := client.FlushAll(ctx).Err(); err == nil {
			client.Save(ctx)
		}
	})
	for _, p := range s.partners[:5] { // the last partner has no change after the save
		staffing(p, 3)
	}
	present := map[string]string{}
	for _, p := range s.partners {
		eventually(t, 20*time.Second, func() error {
			a := p.get(t, "/api/v1/unit-state")
			if a.status != http.StatusOK {
				return fmt.Errorf("before the outage: %d %s", a.status, a.raw)
			}
			present[p.hospital] = steady(t, a.Data)
			return nil
		})
	}
	for round := range 2 {
		s.redis.stop(t)
		s.redis.start(t)
		refused := 0
		for _, p := range s.partners {
			eventually(t, 30*time.Second, func() error {
				a := p.get(t, "/api/v1/unit-state")
				switch a.status {
				case http.StatusOK:
					if got := steady(t, a.Data); got != present[p.hospital] {
						t.Fatalf("round %d, %s tells the past: %s, want %s", round, p.hospital, got, present[p.hospital])
					}
					return nil
				case http.StatusServiceUnavailable:
					refused++
					if a.header.Get("Retry-After") == "" {
						t.Error("503 without Retry-After")
					}
				default:
					t.Fatalf("%s: %d %s", p.hospital, a.status, a.raw)
				}
				return fmt.Errorf("still %d %s", a.status, a.raw)
			})
		}
		t.Logf("round %d: %d reads were refused", round, refused) // 0 if the view was rewritten before the first read
	}
	s.verify(nil)
}

// steady returns a unit's state as text, without the time at which it was computed.
func steady(t *testing.T, data []byte) string {
	t.Helper()
	var unit map[string]any
	if err := json.Unmarshal(data, &unit); err != nil {
		t.Fatal(err)
	}
	delete(unit, "generatedAt")
	text, err := json.Marshal(unit)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
