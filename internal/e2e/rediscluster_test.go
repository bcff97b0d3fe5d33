package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/redis/go-redis/v9"

	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/limit/limittest"
	"svc/internal/view/viewtest"
)

// redisCluster is a Redis Cluster of three primaries, each with a third of the slots and one replica. Its user svc
// has the permissions in docs/configuration.md.
type redisCluster struct {
	servers []*server // the primaries, then their replicas in the same order
	clients []*redis.Client
}

// startRedisCluster starts a Redis Cluster. Its replicas fail over after two seconds, even if they lag.
func startRedisCluster(t *testing.T, pool *dockertest.Pool) *redisCluster {
	t.Helper()
	repository, tag := image("E2E_REDIS_IMAGE", redisImage)
	const primaries, slots = 3, 16384
	c := &redisCluster{}
	for range 2 * primaries {
		container, err := pool.RunWithOptions(&dockertest.RunOptions{
			Repository: repository, Tag: tag,
			Cmd: []string{
				"--save", "", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0",
				"--cluster-require-full-coverage", "no", // otherwise all hospitals are unreadable until the replica is promoted
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := &server{address: container.Container.NetworkSettings.IPAddress + ":6379", pool: pool, container: container}
		t.Cleanup(s.purge)
		if err := pool.Retry(s.redisAnswers); err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: s.address})
		t.Cleanup(func() { client.Close() })
		user := []any{"ACL", "SETUSER", "svc", "on", ">cluster-secret", "~*", "&*", "+cluster|slots"}
		for _, right := range redisRights {
			user = append(user, right)
		}
		if err := client.Do(t.Context(), user...).Err(); err != nil {
			t.Fatal(err)
		}
		c.servers, c.clients = append(c.servers, s), append(c.clients, client)
	}
	ctx := t.Context()
	first := c.servers[0].container.Container.NetworkSettings.IPAddress
	for i, client := range c.clients {
		err := client.ClusterMeet(ctx, first, "6379").Err()
		if i < primaries {
			err = errors.Join(err, client.ClusterAddSlotsRange(ctx, i*slots/primaries, (i+1)*slots/primaries-1).Err())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, replica := range c.clients[primaries:] {
		id := c.clients[i].Do(ctx, "CLUSTER", "MYID").String()
		eventually(t, time.Minute, func() error { // until the replica knows its primary
			return replica.ClusterReplicate(ctx, id[strings.LastIndex(id, " ")+1:]).Err()
		})
	}
	eventually(t, time.Minute, func() error {
		for i, client := range c.clients {
			info, err := client.ClusterInfo(ctx).Result()
			if err == nil && (!strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:6")) {
				err = fmt.Errorf("node %d: %s", i, info)
			}
			if err == nil && i >= primaries {
				err = c.follows(ctx, i)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return c
}

// follows returns an error if a replica is not connected to its primary.
func (c *redisCluster) follows(ctx context.Context, i int) error {
	info, err := c.clients[i].Info(ctx, "replication").Result()
	if err == nil && !strings.Contains(info, "master_link_status:up") {
		err = fmt.Errorf("replica %d is not connected to its primary", i)
	}
	return err
}

// url returns the value of --redis for the cluster.
func (c *redisCluster) url() string { return "redis://" + c.servers[0].address + "?cluster=true" }

// wipe deletes all data.
func (c *redisCluster) wipe(t *testing.T) {
	t.Helper()
	for _, client := range c.clients[:3] {
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRedisCluster runs the conformance suites of the view and of the shared buckets on a Redis Cluster. It then runs
// svc on the cluster, and makes one of the primaries fail over.
func TestRedisCluster(t *testing.T) {
	kafka, shared := needServers(t)
	if shared.container == nil {
		t.Skip("the servers are not ours to start: run without E2E_KAFKA and E2E_REDIS")
	}
	cluster := startRedisCluster(t, shared.pool)
	t.Run("view", func(t *testing.T) {
		viewtest.Run(t, viewtest.Server{URL: cluster.url(), Cluster: true, Wipe: cluster.wipe})
	})
	t.Run("limits", func(t *testing.T) {
		limittest.Run(t, limittest.Server{Open: func(t *testing.T) limit.Source { return viewtest.Open(t, cluster.url()) }})
	})
	t.Run("undeclared", func(t *testing.T) { undeclaredCluster(t, kafka, cluster) })
	t.Run("failover", func(t *testing.T) { failOverCluster(t, kafka, cluster) })
}

// undeclaredCluster starts a role whose --redis names a node of a cluster as if it were a single Redis. The log and
// svc doctor must say what to add.
func undeclaredCluster(t *testing.T, kafka *server, cluster *redisCluster) {
	t.Helper()
	env := []string{
		"SVC_KAFKA=" + kafka.address, "SVC_REDIS=" + strings.TrimSuffix(cluster.url(), "?cluster=true"), "SVC_PARTITIONS=6",
		fmt.Sprintf("SVC_TOPIC_PREFIX=cluster%d.", time.Now().UnixNano()),
		"SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef",
	}
	const advice = "Redis is a cluster: add cluster=true to the URL in --redis"
	n := start(t, "process", []string{"process", "--instance", "p1", "--private-listen", "127.0.0.1:" + mustFreePort(t)}, env...)
	eventually(t, time.Minute, func() error {
		if !strings.Contains(n.logged(), advice) {
			return fmt.Errorf("%s says nothing about the cluster", n.name)
		}
		return nil
	})
	n.stop()
	cmd := exec.Command(binary(t), "doctor")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "fault    redis") || !strings.Contains(string(out), advice) {
		t.Errorf("svc doctor: %v\n%s", err, out)
	}
}

// failOverCluster makes the replica of a primary lag, kills the primary, and waits until the replica is promoted.
// Meanwhile, at least half of the reads of hospitals on the other nodes must succeed. Reads of hospitals on the
// killed primary must be refused until they can return the current state. No read may return an older state.
func failOverCluster(t *testing.T, kafka *server, cluster *redisCluster) {
	t.Helper()
	ctx := context.Background()
	s := startSystemOn(t, kafka, cluster.servers[0], []string{"SVC_REDIS=" + strings.Replace(cluster.url(), "//", "//svc:cluster-secret@", 1)}, "north", "south", "east", "center", "lake", "harbor")
	s.processor("p1")
	staffing := func(p *partner, nurses int) {
		t.Helper()
		p.accepted(t, "staffing", fmt.Sprintf(`{"nursesOnDuty":%d,"callStaffAvailable":true}`, nurses))
	}
	onDuty := func(p *partner) (nurses int, a *answer) {
		t.Helper()
		a = p.get(t, "/api/v1/unit-state")
		var unit struct{ NursesOnDuty int }
		switch {
		case a.status == http.StatusOK:
			into(t, a.Data, &unit)
		case a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "":
			t.Fatalf("%s: %v", p.hospital, a)
		}
		return unit.NursesOnDuty, a
	}
	for _, p := range s.partners {
		p.accepted(t, "census", `{"totalRooms":9,"rooms":[{"roomId":1,"area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`)
		staffing(p, 5)
		p.readUnit(t)
	}
	lost, kept := cluster.split(t, s)
	if len(lost) == 0 || len(kept) == 0 {
		t.Fatalf("the hospitals are on one side: %d are lost, %d are kept", len(lost), len(kept))
	}
	// From here on, the replica lags, because the primary refuses its password.
	if err := cluster.clients[3].ConfigSet(ctx, "masterauth", "none").Err(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.clients[0].ClientKillByFilter(ctx, "TYPE", "replica").Err(); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.partners {
		staffing(p, 3)
	}
	cluster.servers[0].stop(t)
	cluster.servers[0].away = false // so that the cleanup does not restart the primary
	refused, readable, tried := 0, 0, 0
	for _, p := range lost {
		eventually(t, time.Minute, func() error {
			for _, other := range kept { // may be refused, because a slow machine may exceed the time limit of a call
				nurses, a := onDuty(other)
				tried++
				if a.status == http.StatusOK {
					readable++
				}
				if a.status == http.StatusOK && nurses != 3 {
					t.Fatalf("%s, on another node: %d nurses on duty, want 3", other.hospital, nurses)
				}
			}
			nurses, a := onDuty(p)
			if a.status != http.StatusOK {
				refused++
				return fmt.Errorf("%s is still refused", p.hospital)
			}
			if nurses != 3 {
				t.Fatalf("%s: %d nurses on duty, want 3", p.hospital, nurses)
			}
			return nil
		})
	}
	if 2*readable < tried {
		t.Errorf("hospitals on other nodes were readable only %d times of %d", readable, tried)
	}
	t.Logf("%d hospitals were on the lost node, %d reads were refused", len(lost), refused)
	if refused == 0 {
		t.Error("no read was refused: the test proves nothing")
	}
	if info, err := cluster.clients[3].Info(ctx, "replication").Result(); err != nil || !strings.Contains(info, "role:master") {
		t.Errorf("the replica is not the primary: %v\n%s", err, info)
	}
	for _, p := range s.partners { // changes must reach the view again
		staffing(p, 4)
		eventually(t, time.Minute, func() error {
			if nurses, _ := onDuty(p); nurses != 4 {
				return fmt.Errorf("%s: %d nurses on duty, want 4", p.hospital, nurses)
			}
			return nil
		})
	}
	s.verify(nil)
	for _, client := range cluster.clients[1:] {
		denied, err := client.ACLLog(ctx, 100).Result()
		if err != nil {
			t.Error(err)
		}
		for _, d := range denied {
			t.Errorf("a node has refused %s %s, %d times", d.Reason, d.Object, d.Count)
		}
	}
}

// split returns the partners whose hospitals are on the first primary, and the others.
func (c *redisCluster) split(t *testing.T, s *system) (first, others []*partner) {
	t.Helper()
	for _, p := range s.partners {
		keys, err := c.clients[0].Keys(t.Context(), "*unit:"+p.hospital).Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 0 {
			first = append(first, p)
			continue
		}
		others = append(others, p)
	}
	return first, others
}
