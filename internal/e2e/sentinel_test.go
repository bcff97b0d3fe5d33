package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/redis/go-redis/v9"
)

// sentinels starts n Sentinels that watch a Redis under the name svc, and returns their addresses.
func sentinels(t *testing.T, n int, primary *server) (addresses []string) {
	t.Helper()
	repository, tag := image("E2E_REDIS_IMAGE", redisImage)
	for range n {
		// Sentinel promotes no replica that has been without the primary for ten times down-after. A busy machine may
		// need ten seconds to stop the primary after a test has cut off the replica.
		conf := fmt.Sprintf("port 26379\nprotected-mode no\nsentinel monitor svc %s 6379 %d\nsentinel down-after-milliseconds svc 3000\n"+
			"sentinel failover-timeout svc 5000\n", primary.container.Container.NetworkSettings.IPAddress, n/2+1)
		container, err := primary.pool.RunWithOptions(&dockertest.RunOptions{
			Repository: repository, Tag: tag, Entrypoint: []string{"sh", "-c"},
			Cmd: []string{"printf '" + strings.ReplaceAll(conf, "\n", `\n`) + "' >/tmp/sentinel.conf && exec redis-server /tmp/sentinel.conf --sentinel"},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := &server{address: container.Container.NetworkSettings.IPAddress + ":26379", pool: primary.pool, container: container}
		t.Cleanup(s.purge)
		t.Cleanup(func() { s.logs(t) })
		addresses = append(addresses, s.address)
	}
	return addresses
}

// TestSentinelFailsOver makes the replica of a Redis lag and kills the primary, so that Sentinel promotes the
// replica. Reads must be refused until they can return the current state, and must never return an older state.
func TestSentinelFailsOver(t *testing.T) {
	kafka, shared := needServers(t)
	if shared.container == nil {
		t.Skip("the servers are not ours to start: run without E2E_KAFKA and E2E_REDIS")
	}
	ctx := context.Background()
	var both []*server
	var clients []*redis.Client
	for range 2 {
		s, err := startRedis(shared.pool)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.purge)
		client := redis.NewClient(&redis.Options{Addr: s.address})
		t.Cleanup(func() { client.Close() })
		both, clients = append(both, s), append(clients, client)
	}
	primary, replica := both[0], clients[1]
	if err := replica.ReplicaOf(ctx, primary.container.Container.NetworkSettings.IPAddress, "6379").Err(); err != nil {
		t.Fatal(err)
	}
	addresses := sentinels(t, 3, primary)
	view := fmt.Sprintf("redis://%s/0?master_name=svc&addr=%s&addr=%s", addresses[0], addresses[1], addresses[2])
	watcher := redis.NewSentinelClient(&redis.Options{Addr: addresses[0]})
	t.Cleanup(func() { watcher.Close() })
	eventually(t, time.Minute, func() error { // until each Sentinel knows the others and the replica
		known, err := watcher.Master(ctx, "svc").Result()
		if err == nil && (known["num-other-sentinels"] != "2" || known["num-slaves"] != "1") {
			err = fmt.Errorf("%s other sentinels, %s replicas", known["num-other-sentinels"], known["num-slaves"])
		}
		return err
	})

	s := startSystemOn(t, kafka, primary, []string{"SVC_REDIS=" + view}, "north", "south", "east")
	s.processor("p1")
	staffing := func(nurses int) {
		t.Helper()
		for _, p := range s.partners {
			p.accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty":%d,"callStaffAvailable":true}`, nurses))
		}
	}
	for _, p := range s.partners {
		p.accepted(t, "census", `{"totalRooms":9,"rooms":[{"roomId":1,"area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`)
	}
	staffing(5)
	eventually(t, time.Minute, func() error {
		info, err := replica.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = fmt.Errorf("the replica has no primary yet")
		}
		return err
	})
	for _, p := range s.partners {
		p.readUnit(t)
	}
	// From here on, the replica lags, because the primary refuses its password.
	if err := replica.ConfigSet(ctx, "masterauth", "none").Err(); err != nil {
		t.Fatal(err)
	}
	if err := clients[0].ClientKillByFilter(ctx, "TYPE", "replica").Err(); err != nil {
		t.Fatal(err)
	}
	staffing(3)
	primary.stop(t)
	primary.away = false // so that the cleanup does not restart the primary
	refused := 0
	for _, p := range s.partners {
		eventually(t, time.Minute, func() error {
			a := p.get(t, "/api/v1/unit-state")
			if a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" {
				refused++
				return fmt.Errorf("still %v", a)
			}
			var unit struct{ NursesOnDuty int }
			if into(t, a.Data, &unit); a.status != http.StatusOK || unit.NursesOnDuty != 3 {
				t.Fatalf("%s: %d with %d nurses on duty, want 3", p.hospital, a.status, unit.NursesOnDuty)
			}
			return nil
		})
	}
	t.Logf("%d reads were refused", refused)
	if refused == 0 {
		t.Error("no read was refused: the test proves nothing")
	}
	if info, err := replica.Info(ctx, "replication").Result(); err != nil || !strings.Contains(info, "role:master") {
		t.Errorf("the replica is not the primary: %v\n%s", err, info)
	}
	staffing(4) // this change must reach the view
	for _, p := range s.partners {
		eventually(t, time.Minute, func() error {
			var unit struct{ NursesOnDuty int }
			if a := p.get(t, "/api/v1/unit-state"); a.status == http.StatusOK {
				into(t, a.Data, &unit)
			}
			if unit.NursesOnDuty != 4 {
				return fmt.Errorf("%s: %d nurses on duty, want 4", p.hospital, unit.NursesOnDuty)
			}
			return nil
		})
	}
	s.verify(nil)
}
