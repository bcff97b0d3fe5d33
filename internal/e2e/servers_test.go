package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// server is one real server: a container that the tests start, or a running server that the
// environment names. Only a container can be stopped and started.
type server struct {
	address   string // host:port
	pool      *dockertest.Pool
	container *dockertest.Resource
	answers   func() error
	away      bool // whether a test has stopped or paused the server
}

// real are the servers of the suite, started once for all tests.
var real struct{ kafka, redis *server }

// TestMain starts the servers if `make e2e` runs. SVC_E2E is 1 for all tests, dev for those that need no servers, and
// empty for those that `make test` runs.
func TestMain(m *testing.M) {
	os.Exit(suite(m))
}

func suite(m *testing.M) int {
	defer cleanBuild()
	defer cleanImage()
	go sumStalls()
	if os.Getenv("SVC_E2E") != "1" {
		return m.Run()
	}
	stop, err := startServers()
	defer stop()
	if errors.Is(err, errNoDocker) && os.Getenv("CI") != "true" {
		fmt.Println("The tests on a real Kafka and Redis did not run:", err)
		return m.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the servers:", err)
		return 1
	}
	return m.Run()
}

// onlyInE2E skips a test that `make test` omits, because it takes long or needs a program other than Go.
func onlyInE2E(t testing.TB) {
	t.Helper()
	if os.Getenv("SVC_E2E") == "" {
		t.Skip("make e2e runs it")
	}
}

// needServers skips a test that needs a real Kafka and Redis, unless `make e2e` runs.
func needServers(t testing.TB) (kafka, redis *server) {
	t.Helper()
	if real.kafka == nil {
		t.Skip("needs a real Kafka and Redis: make e2e")
	}
	return real.kafka, real.redis
}

// ownRedis is like needServers, but for a test that stops or empties Redis. The test gets its own Redis, so it can
// run in parallel with others. If the environment names a Redis, the test gets that Redis and runs alone.
func ownRedis(t *testing.T) (kafka, own *server) {
	t.Helper()
	kafka, own = needServers(t)
	if own.container == nil {
		return kafka, own
	}
	t.Parallel()
	own, err := startRedis(own.pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.purge)
	return kafka, own
}

// ownKafka is like ownRedis, but for a test that stops Kafka. The test gets its own broker.
func ownKafka(t *testing.T) (own, redis *server) {
	t.Helper()
	own, redis = needServers(t)
	if own.container == nil {
		return own, redis
	}
	t.Parallel()
	return startOwnKafka(t, own.pool), redis
}

// ownServers is like ownRedis, but for a test that stops both servers. The test gets its own servers unless the
// environment names one of them.
func ownServers(t *testing.T) (kafka, redis *server) {
	t.Helper()
	if kafka, redis = needServers(t); kafka.container == nil || redis.container == nil {
		return kafka, redis
	}
	_, redis = ownRedis(t)
	return startOwnKafka(t, kafka.pool), redis
}

// startOwnKafka starts a broker with additional settings, and removes it when the test ends.
func startOwnKafka(t *testing.T, pool *dockertest.Pool, settings ...string) *server {
	t.Helper()
	own, err := startKafka(pool, append([]string{shortJava}, settings...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.purge)
	return own
}

// shortJava makes Java leave out its second compiler, which takes half of a broker's processor time in the first
// minute, and a third of the shared broker's during all tests. A broker that is measured keeps it.
const shortJava = "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1"

// sharedSettings returns the additional settings of the broker that all tests and benchmarks share. That broker is never
// stopped, so it may keep its partitions if it gets no processor time for up to 60 s. The default is 9 s.
func sharedSettings() []string {
	patient := "KAFKA_BROKER_SESSION_TIMEOUT_MS=60000"
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		return []string{patient}
	}
	return []string{patient, shortJava}
}

var errNoDocker = errors.New("no Docker")

func startServers() (stop func(), err error) {
	var started []*server
	stop = func() {
		for _, s := range started {
			s.purge()
		}
	}
	if address := os.Getenv("E2E_KAFKA"); address != "" {
		real.kafka = &server{address: address}
	}
	if address := os.Getenv("E2E_REDIS"); address != "" {
		real.redis = &server{address: address}
	}
	if real.kafka != nil && real.redis != nil {
		return stop, nil
	}
	pool, err := dockertest.NewPool("")
	if err != nil {
		return stop, err
	}
	if err := pool.Client.Ping(); err != nil {
		return stop, fmt.Errorf("%w: %w", errNoDocker, err)
	}
	pool.MaxWait = 2 * time.Minute
	if real.redis == nil {
		s, err := startRedis(pool)
		if err != nil {
			return stop, fmt.Errorf("redis: %w", err)
		}
		started, real.redis = append(started, s), s
	}
	if real.kafka == nil {
		s, err := startKafka(pool, sharedSettings()...)
		if err != nil {
			return stop, fmt.Errorf("kafka: %w", err)
		}
		started, real.kafka = append(started, s), s
	}
	for _, s := range started {
		if err := pool.Client.UpdateContainer(s.container.Container.ID, docker.UpdateContainerOptions{CPUShares: sharedPriority}); err != nil {
			return stop, fmt.Errorf("priority of a shared server: %w", err)
		}
	}
	return stop, nil
}

// sharedPriority is the share of processor time of a server that all tests use, where 1024 is that of any other
// container. A test that starts several brokers must not make the other tests wait.
const sharedPriority = 4096

// The public images, which are used unless the environment names others.
const (
	kafkaImage = "apache/kafka:4.1.0"
	redisImage = "redis:7"
)

func image(variable, preset string) (repository, tag string) {
	name := os.Getenv(variable)
	if name == "" {
		name = preset
	}
	repository, tag, _ = strings.Cut(name, ":")
	return repository, tag
}

func startRedis(pool *dockertest.Pool) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	repository, tag := image("E2E_REDIS_IMAGE", redisImage)
	container, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: repository, Tag: tag,
		Cmd:          []string{"--save", "", "--appendonly", "no"},
		PortBindings: map[docker.Port][]docker.PortBinding{"6379/tcp": {{HostIP: "127.0.0.1", HostPort: port}}},
	})
	if err != nil {
		return nil, err
	}
	s := &server{address: "127.0.0.1:" + port, pool: pool, container: container}
	s.answers = s.redisAnswers
	return s, pool.Retry(s.answers)
}

func (s *server) redisAnswers() error {
	client := redis.NewClient(&redis.Options{Addr: s.address, MaxRetries: -1})
	defer client.Close()
	return client.Ping(context.Background()).Err()
}

// startKafka starts a single node with additional settings.
func startKafka(pool *dockertest.Pool, settings ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	repository, tag := image("E2E_KAFKA_IMAGE", kafkaImage)
	container, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: repository, Tag: tag, Hostname: "k1",
		Env:          append(kafkaEnvironment(port), settings...),
		PortBindings: map[docker.Port][]docker.PortBinding{"9092/tcp": {{HostIP: "127.0.0.1", HostPort: port}}},
	})
	if err != nil {
		return nil, err
	}
	s := &server{address: "127.0.0.1:" + port, pool: pool, container: container}
	s.answers = s.kafkaAnswers
	return s, pool.Retry(s.answers)
}

// kafkaEnvironment configures a single node that is reachable on a port of this machine. If a variable is set twice,
// the later value applies.
func kafkaEnvironment(port string) []string {
	return []string{
		"KAFKA_NODE_ID=1", "KAFKA_PROCESS_ROLES=broker,controller", "KAFKA_CONTROLLER_QUORUM_VOTERS=1@k1:9093",
		"KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER", "KAFKA_INTER_BROKER_LISTENER_NAME=INTERNAL",
		"KAFKA_LISTENERS=HOST://:9092,INTERNAL://:19092,CONTROLLER://:9093",
		"KAFKA_ADVERTISED_LISTENERS=HOST://127.0.0.1:" + port + ",INTERNAL://k1:19092",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=HOST:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1", "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR=1",
		"KAFKA_DEFAULT_REPLICATION_FACTOR=1", "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=1", "KAFKA_MIN_INSYNC_REPLICAS=1",
		"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS=4", "KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS=4",
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0", "KAFKA_AUTO_CREATE_TOPICS_ENABLE=false",
		// This is set as deploy/ recommends, so that a transaction does not wait 20 ms for the markers of the previous
		// transaction.
		"KAFKA_ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS=1",
		"KAFKA_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS=1000",
	}
}

func (s *server) kafkaAnswers() error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.address), kgo.AlwaysRetryEOF())
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	brokers, err := kadm.NewClient(client).ListBrokers(ctx)
	if err == nil && len(brokers) == 0 {
		err = errors.New("no broker yet")
	}
	return err
}

// freePort returns an unused port for a process whose address must be known before it starts. The port is below the
// range from which the system assigns ports, so no other process gets it before the process starts or while the
// process is down. freePort never returns a port twice.
func freePort() (string, error) {
	for range portsAbove - portsFrom {
		port := strconv.Itoa(portsFrom + int(lastPort.Add(1))%(portsAbove-portsFrom))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			return port, listener.Close()
		}
	}
	return "", fmt.Errorf("no free port from %d to %d", portsFrom, portsAbove-1)
}

// Browsers refuse port 10080. Linux assigns ports from 32768, other systems from 49152.
const portsFrom, portsAbove = 10081, 32768

// lastPort starts at a random port, because the tests of two checkouts may run at the same time.
var lastPort = func() *atomic.Int64 {
	var last atomic.Int64
	last.Store(rand.Int64N(portsAbove - portsFrom))
	return &last
}()

func (s *server) purge() {
	if s.container != nil {
		if err := s.pool.Purge(s.container); err != nil {
			fmt.Fprintln(os.Stderr, "remove container:", err)
		}
	}
}

// logs prints the log of the server if the test failed.
func (s *server) logs(t *testing.T) {
	if !t.Failed() {
		return
	}
	var out bytes.Buffer
	if err := s.pool.Client.Logs(docker.LogsOptions{Container: s.container.Container.ID, OutputStream: &out, ErrorStream: &out, Stdout: true, Stderr: true, Tail: "30"}); err != nil {
		t.Log(err)
	}
	t.Logf("log of the server at %s:\n%s", s.address, &out)
}

// stop kills the server; start restarts it and waits until it responds. If a test fails in between, the server is
// restarted for other tests.
func (s *server) stop(t testing.TB) {
	t.Helper()
	if s.container == nil {
		t.Skip("the server is not ours to stop: run without E2E_KAFKA and E2E_REDIS")
	}
	if err := s.pool.Client.KillContainer(docker.KillContainerOptions{ID: s.container.Container.ID}); err != nil {
		t.Fatal(err)
	}
	s.away = true
	t.Cleanup(func() {
		if s.away {
			s.start(t)
		}
	})
}

func (s *server) start(t testing.TB) {
	t.Helper()
	if err := s.pool.Client.StartContainer(s.container.Container.ID, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.pool.Retry(s.answers); err != nil {
		t.Fatal(err)
	}
	s.away = false
}

// pause freezes the server: connections remain open, but nothing responds.
func (s *server) pause(t testing.TB) {
	t.Helper()
	if s.container == nil {
		t.Skip("the server is not ours to pause: run without E2E_KAFKA and E2E_REDIS")
	}
	if err := s.pool.Client.PauseContainer(s.container.Container.ID); err != nil {
		t.Fatal(err)
	}
	s.away = true
	t.Cleanup(func() {
		if s.away {
			s.unpause(t)
		}
	})
}

func (s *server) unpause(t testing.TB) {
	t.Helper()
	if err := s.pool.Client.UnpauseContainer(s.container.Container.ID); err != nil {
		t.Fatal(err)
	}
	s.away = false
}
