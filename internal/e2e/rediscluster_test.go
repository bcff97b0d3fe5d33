package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/redis/go-redis/v9"
)

// TestRedisClusterIsRefused starts roles on a Redis Cluster of three nodes. Each role must log that a cluster is not
// supported and which option names the cluster, and svc doctor must say what to use instead.
func TestRedisClusterIsRefused(t *testing.T) {
	kafka, shared := needServers(t)
	if shared.container == nil {
		t.Skip("the servers are not ours to start: run without E2E_KAFKA and E2E_REDIS")
	}
	env := []string{
		"SVC_KAFKA=" + kafka.address, "SVC_REDIS=redis://" + startRedisCluster(t, shared.pool) + "/0", "SVC_PARTITIONS=6",
		fmt.Sprintf("SVC_TOPIC_PREFIX=cluster%d.", time.Now().UnixNano()),
		"SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef",
	}
	const refusal = "Redis Cluster is not supported: --redis must name a single Redis"
	for _, args := range [][]string{{"process", "--instance", "p1"}, {"notify", "--instance", "n1"}, {"read", "--listen", "127.0.0.1:" + mustFreePort(t)}} {
		n := start(t, args[0], append(args, "--private-listen", "127.0.0.1:"+mustFreePort(t)), env...)
		eventually(t, time.Minute, func() error {
			if !strings.Contains(n.logged(), refusal) {
				return fmt.Errorf("%s says nothing about the cluster", n.name)
			}
			return nil
		})
		n.stop()
	}
	cmd := exec.Command(binary(t), "doctor")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "fault    redis") || !strings.Contains(string(out), refusal) {
		t.Errorf("svc doctor: %v\n%s", err, out)
	}
}

// startRedisCluster starts a Redis Cluster of three nodes, each with a third of the slots, and returns the address of
// one.
func startRedisCluster(t *testing.T, pool *dockertest.Pool) (address string) {
	t.Helper()
	repository, tag := image("E2E_REDIS_IMAGE", redisImage)
	const nodes, slots = 3, 16384
	for i := range nodes {
		container, err := pool.RunWithOptions(&dockertest.RunOptions{
			Repository: repository, Tag: tag, Cmd: []string{"--save", "", "--cluster-enabled", "yes"},
		})
		if err != nil {
			t.Fatal(err)
		}
		ip := container.Container.NetworkSettings.IPAddress
		s := &server{address: ip + ":6379", pool: pool, container: container}
		t.Cleanup(s.purge)
		if err := pool.Retry(s.redisAnswers); err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: s.address})
		t.Cleanup(func() { client.Close() })
		if err := client.ClusterAddSlotsRange(t.Context(), i*slots/nodes, (i+1)*slots/nodes-1).Err(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			address = s.address
			continue
		}
		first, _, _ := strings.Cut(address, ":")
		if err := client.ClusterMeet(t.Context(), first, "6379").Err(); err != nil {
			t.Fatal(err)
		}
		if i == nodes-1 {
			eventually(t, time.Minute, func() error {
				info, err := client.ClusterInfo(context.Background()).Result()
				if err == nil && (!strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:3")) {
					err = fmt.Errorf("the cluster is not ready")
				}
				return err
			})
		}
	}
	return address
}
