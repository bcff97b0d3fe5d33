package e2e

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
// has the permissions in docs/configuration.md. Each node accepts plaintext on port 6379 and TLS on port 6380, with a
// certificate that contains only its own address. The nodes connect to each other with TLS.
type redisCluster struct {
	servers []*server // the primaries, then their replicas in the same order
	clients []*redis.Client
	ca      string // file with the certificate of the authority that signed the nodes' certificates
}

// startRedisCluster starts a Redis Cluster. Its replicas fail over after two seconds, even if they lag.
func startRedisCluster(t *testing.T, pool *dockertest.Pool) *redisCluster {
	t.Helper()
	repository, tag := image("E2E_REDIS_IMAGE", redisImage)
	const primaries, slots = 3, 16384
	signer, err := newAuthority()
	must(t, err)
	c := &redisCluster{ca: signer.write(t)}
	for range 2 * primaries {
		certs := t.TempDir()
		must(t, os.Chmod(certs, 0o755))
		container, err := pool.RunWithOptions(&dockertest.RunOptions{
			Repository: repository, Tag: tag, Mounts: []string{certs + ":/certs:ro"},
			// The certificate must contain the address of the container, so it can be signed only once the container runs.
			Entrypoint: []string{"sh", "-c", `until test -e /certs/cert.pem; do sleep 0.1; done; exec redis-server "$@"`, "redis-server"},
			Cmd: []string{
				"--bind", "0.0.0.0", "--protected-mode", "no", "--save", "",
				"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0",
				"--cluster-require-full-coverage", "no", // otherwise all hospitals are unreadable until the replica is promoted
				"--tls-port", "6380", "--tls-cluster", "yes", "--tls-replication", "yes", "--tls-auth-clients", "no",
				"--tls-cert-file", "/certs/cert.pem", "--tls-key-file", "/certs/key.pem", "--tls-ca-cert-file", "/certs/ca.pem",
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := &server{address: container.Container.NetworkSettings.IPAddress + ":6379", pool: pool, container: container}
		t.Cleanup(s.purge)
		signer.certify(t, container.Container.NetworkSettings.IPAddress, certs)
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
		err := client.ClusterMeet(ctx, first, "6380").Err()
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

// write writes the certificate of the authority to a file.
func (a *authority) write(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, encodeCertificate(a.certificate.Raw), 0o600))
	return file
}

// certify signs a certificate for a node of a Redis Cluster, and writes it to the folder that the node sees as
// /certs. The other nodes accept it as a client certificate, too.
func (a *authority) certify(t *testing.T, ip, certs string) {
	t.Helper()
	pair, err := a.sign("node", x509.Certificate{
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(ip)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	must(t, err)
	certificate, key, err := encodePair(pair)
	must(t, err)
	write := func(name string, content []byte) { must(t, os.WriteFile(filepath.Join(certs, name), content, 0o644)) }
	write("ca.pem", encodeCertificate(a.certificate.Raw))
	write("key.pem", key)
	write("new.pem", certificate)
	must(t, os.Rename(filepath.Join(certs, "new.pem"), filepath.Join(certs, "cert.pem"))) // the node waits for this file
}

// follows returns an error if a replica is not connected to its primary.
func (c *redisCluster) follows(ctx context.Context, i int) error {
	info, err := c.clients[i].Info(ctx, "replication").Result()
	if err == nil && !strings.Contains(info, "master_link_status:up") {
		err = fmt.Errorf("replica %d is not connected to its primary", i)
	}
	return err
}

// url returns the value of --redis for the cluster, without TLS.
func (c *redisCluster) url() string { return "redis://" + c.servers[0].address + "?cluster=true" }

// env returns the environment of a role that connects to the cluster with TLS as the user svc, and trusts the
// authority whose certificate is in the file ca. The URL names only two of the nodes.
func (c *redisCluster) env(ca string) []string {
	var hosts []string
	for _, s := range c.servers[:2] {
		hosts = append(hosts, s.container.Container.NetworkSettings.IPAddress+":6380")
	}
	return []string{"SVC_REDIS=rediss://svc:cluster-secret@" + hosts[0] + "?cluster=true&addr=" + hosts[1], "SVC_REDIS_CA=" + ca}
}

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
// svc on the cluster with TLS, and makes one of the primaries fail over.
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
	t.Run("untrusted", func(t *testing.T) { untrustedCluster(t, kafka, cluster) })
	t.Run("failover", func(t *testing.T) { failOverCluster(t, kafka, cluster) })
}

// undeclaredCluster starts a role whose --redis names a node of a cluster as if it were a single Redis. The log and
// svc doctor must say what to add.
func undeclaredCluster(t *testing.T, kafka *server, cluster *redisCluster) {
	t.Helper()
	const advice = "Redis is a cluster: add cluster=true to the URL in --redis"
	log, report := misconfigured(t, kafka, advice, "SVC_REDIS="+strings.TrimSuffix(cluster.url(), "?cluster=true"))
	if !strings.Contains(log, advice) || !strings.Contains(report, advice) {
		t.Errorf("svc process: %s\nsvc doctor: %s", log, report)
	}
}

// untrustedCluster starts a role that trusts a different authority than that of the cluster. The log must say so in a
// single line that names the options, and svc doctor must name them, too.
func untrustedCluster(t *testing.T, kafka *server, cluster *redisCluster) {
	t.Helper()
	other, err := newAuthority()
	must(t, err)
	const unavailable, cause = `"msg":"redis unavailable"`, "certificate signed by unknown authority"
	log, report := misconfigured(t, kafka, `"msg":"view not written`, cluster.env(other.write(t))...) // after several attempts
	_, line, _ := strings.Cut(log, unavailable)
	line, rest, _ := strings.Cut(line, "\n")
	if !strings.HasPrefix(line, `,"option":"--redis, --redis-ca"`) || !strings.Contains(line, cause) || strings.Contains(rest, unavailable) {
		t.Errorf("svc process: %s", log)
	}
	if !strings.Contains(report, cause) || !strings.Contains(report, "--redis-ca") {
		t.Errorf("svc doctor: %s", report)
	}
}

// misconfigured starts a role whose options for Redis are wrong, until it logs the text want. It returns the log of the
// role and the output of svc doctor, which must report a fault of Redis.
func misconfigured(t *testing.T, kafka *server, want string, env ...string) (log, report string) {
	t.Helper()
	env = append(env,
		"SVC_KAFKA="+kafka.address, "SVC_PARTITIONS=6", fmt.Sprintf("SVC_TOPIC_PREFIX=cluster%d.", time.Now().UnixNano()),
		"SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef",
	)
	n := start(t, "process", []string{"process", "--instance", "p1", "--private-listen", "127.0.0.1:" + mustFreePort(t)}, env...)
	eventually(t, time.Minute, func() error {
		if !strings.Contains(n.logged(), want) {
			return fmt.Errorf("%s does not log %s", n.name, want)
		}
		return nil
	})
	cmd := exec.Command(binary(t), "doctor")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "fault    redis") {
		t.Errorf("svc doctor: %v\n%s", err, out)
	}
	n.stop()
	return n.logged(), string(out)
}

// failOverCluster makes the replica of a primary lag, kills the primary, and waits until the replica is promoted.
// Meanwhile, at least half of the reads of hospitals on the other nodes must succeed. Reads of hospitals on the
// killed primary must be refused until they can return the current state. No read may return an older state.
func failOverCluster(t *testing.T, kafka *server, cluster *redisCluster) {
	t.Helper()
	ctx := context.Background()
	s := startSystemOn(t, kafka, cluster.servers[0], cluster.env(cluster.ca), "north", "south", "east", "center", "lake", "harbor")
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
	for i, client := range cluster.clients[:3] {
		if keys, err := client.Keys(ctx, s.prefix+"*").Result(); err != nil || len(keys) == 0 {
			t.Fatalf("primary %d stores nothing of the view: %v", i, err)
		}
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
