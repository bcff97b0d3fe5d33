package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// startsOfBrokers is the number of times that the roles are started on the same brokers. The brokers are still
// starting during the first of these starts; each later start uses new topics.
const startsOfBrokers = 10

// TestFreshBrokers starts all roles at once on three new brokers. Each role becomes ready, none
// exits, and the topics have three replicas.
func TestFreshBrokers(t *testing.T) {
	t.Parallel()
	kafka, redis := needServers(t)
	if kafka.pool == nil {
		t.Skip("needs Docker to start brokers of its own")
	}
	n, _ := howOften(t, "SVC_FRESH", startsFresh)
	for done := 0; done < n; done += startsOfBrokers {
		t.Run(fmt.Sprintf("brokers %d", done/startsOfBrokers), func(t *testing.T) {
			addresses := startBrokers(t, kafka.pool)
			for i := range min(startsOfBrokers, n-done) {
				startAllRoles(t, addresses, redis.address, fmt.Sprintf("fresh%d-%d.", done, i))
			}
		})
	}
}

// startBrokers starts three brokers of one cluster without waiting for them.
func startBrokers(t *testing.T, pool *dockertest.Pool) (addresses string) {
	t.Helper()
	var all []string
	for _, s := range startThreeBrokers(t, pool, func(_ int, o *dockertest.RunOptions) { o.Env = append(o.Env, shortJava) }) {
		all = append(all, s.address)
	}
	return strings.Join(all, ",")
}

// startThreeBrokers starts three brokers of one cluster without waiting for them. adjust may change the options of
// each broker; brokers are numbered from 1.
func startThreeBrokers(t *testing.T, pool *dockertest.Pool, adjust func(i int, options *dockertest.RunOptions)) (all []*server) {
	t.Helper()
	stamp := time.Now().UnixNano() // container names must be unique on the machine
	network, err := pool.CreateNetwork(fmt.Sprintf("svc-fresh-%d", stamp))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.RemoveNetwork(network); err != nil {
			t.Error(err)
		}
	})
	repository, tag := image("E2E_KAFKA_IMAGE", kafkaImage)
	name := func(i int) string { return fmt.Sprintf("fk%d-%d", i, stamp) }
	// Docker forwards a lookup of a stopped container's name to the DNS server of the machine. If that server does not
	// respond, the broker waits for 10 s, and no leaders are elected in that time.
	addresses := firstAddresses(t, pool, network)
	var hosts []string
	for i := 1; i <= 3; i++ {
		hosts = append(hosts, name(i)+":"+addresses[i-1])
	}
	voters := fmt.Sprintf("1@%s:9093,2@%s:9093,3@%s:9093", name(1), name(2), name(3))
	for i := 1; i <= 3; i++ {
		port := mustFreePort(t)
		options := &dockertest.RunOptions{
			Repository: repository, Tag: tag, Hostname: name(i), Name: name(i),
			NetworkID: network.Network.ID, ExtraHosts: hosts,
			Env: append(kafkaEnvironment(port),
				fmt.Sprintf("KAFKA_NODE_ID=%d", i), "KAFKA_CONTROLLER_QUORUM_VOTERS="+voters,
				"KAFKA_ADVERTISED_LISTENERS=HOST://127.0.0.1:"+port+",INTERNAL://"+name(i)+":19092",
				"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=3", "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR=3",
				"KAFKA_DEFAULT_REPLICATION_FACTOR=3", "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=2", "KAFKA_MIN_INSYNC_REPLICAS=2",
			),
			PortBindings: map[docker.Port][]docker.PortBinding{"9092/tcp": {{HostIP: "127.0.0.1", HostPort: port}}},
		}
		adjust(i, options)
		container, err := pool.RunWithOptions(options)
		if err != nil {
			t.Fatal(err)
		}
		if got := container.GetIPInNetwork(network); got != addresses[i-1] {
			t.Errorf("%s has the address %s, and the others expect %s", name(i), got, addresses[i-1])
		}
		s := &server{address: "127.0.0.1:" + port, pool: pool, container: container}
		s.answers = s.kafkaAnswers
		t.Cleanup(s.purge)
		t.Cleanup(func() { s.logs(t) })
		all = append(all, s)
	}
	return all
}

// firstAddresses returns the addresses of the first three containers in an empty network. The gateway is before them.
func firstAddresses(t *testing.T, pool *dockertest.Pool, network *dockertest.Network) (all [3]string) {
	t.Helper()
	info, err := pool.Client.NetworkInfo(network.Network.ID)
	if err != nil || len(info.IPAM.Config) == 0 {
		t.Fatalf("%v %+v", err, info)
	}
	subnet, err := netip.ParsePrefix(info.IPAM.Config[0].Subnet)
	if err != nil {
		t.Fatal(err)
	}
	address := subnet.Masked().Addr().Next() // the gateway
	for i := range all {
		address = address.Next()
		all[i] = address.String()
	}
	return all
}

// startAllRoles starts one instance of each role before any topic exists, and expects every role to become ready.
func startAllRoles(t *testing.T, kafka, redis, prefix string) {
	t.Helper()
	env := []string{
		"SVC_KAFKA=" + kafka, "SVC_REDIS=redis://" + redis + "/0", "SVC_TOPIC_PREFIX=" + prefix, "SVC_PARTITIONS=6",
		"SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef",
	}
	var nodes []*node
	var ports []string
	for _, role := range []string{"ingest", "process", "read", "notify"} {
		private := "127.0.0.1:" + mustFreePort(t)
		args := []string{role, "--private-listen", private}
		if role == "ingest" || role == "read" {
			args = append(args, "--listen", "127.0.0.1:"+mustFreePort(t))
		} else {
			args = append(args, "--instance", "one")
		}
		nodes, ports = append(nodes, start(t, prefix+role, args, env...)), append(ports, private)
	}
	// Each role answers on its private port even before Kafka responds.
	for _, private := range ports {
		eventually(t, 30*time.Second, func() error { return ready("http://" + private + "/healthz") })
	}
	for i, n := range nodes {
		eventually(t, 10*time.Minute, func() error {
			select {
			case <-n.exited:
				t.Fatalf("%s ended:\n%s", n.name, tail(n.logged(), 20))
			default:
			}
			return ready("http://" + ports[i] + "/readyz")
		})
	}
	for _, n := range nodes {
		n.stop()
	}
	wantReplicas(t, kafka, prefix, 3)
	deleteTopics(t, kafka, prefix)
}

// wantReplicas expects every topic with the prefix to have the given number of replicas.
func wantReplicas(t *testing.T, kafka, prefix string, want int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(kafka, ",")...), kgo.AlwaysRetryEOF())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all, err := kadm.NewClient(client).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, topic := range all {
		if strings.HasPrefix(name, prefix) {
			if seen++; topic.Partitions.NumReplicas() != want {
				t.Errorf("%s has %d replicas, not %d", name, topic.Partitions.NumReplicas(), want)
			}
		}
	}
	if seen == 0 {
		t.Errorf("no topic begins with %s", prefix)
	}
}
