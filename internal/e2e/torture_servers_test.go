package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// tortureServers are three brokers of one cluster with replication factor 3, and a Redis with a replica and three
// Sentinels. The roles use the brokers' listener with TLS, a login and ACLs; the test itself uses the plain listener.
type tortureServers struct {
	pool    *dockertest.Pool
	brokers []*tortureBroker
	plain   string // addresses of the plain listeners
	secure  string // addresses of the listeners with TLS
	certs   string // directory with ca.pem
	signer  *authority

	redis     []*server // the primary may change
	clients   []*redis.Client
	sentinels []string
	watcher   *redis.SentinelClient
}

// tortureBroker is a broker, its disk and its certificate.
type tortureBroker struct {
	*server

	id       int32
	keystore string // file with the broker's certificate
	disk     string // mount point of the disk; "" if the disk is a directory of the container
}

// diskBytes is the size of a broker's disk. The disk is a sparse file, so it occupies only what is written.
const diskBytes = 4 << 30

func startTortureServers(t *testing.T) *tortureServers {
	t.Helper()
	shared, _ := needServers(t)
	if shared.pool == nil {
		t.Fatal("TestTorture starts its own servers with Docker: run without E2E_KAFKA and E2E_REDIS")
	}
	s := &tortureServers{pool: shared.pool}
	s.certs, s.signer = makeCertificates(t)
	ports := []string{mustFreePort(t), mustFreePort(t), mustFreePort(t)}
	disks := []string{makeDisk(t), makeDisk(t), makeDisk(t)}
	keystores := make([]string, 3)
	all := startThreeBrokers(t, s.pool, func(i int, o *dockertest.RunOptions) {
		keystores[i-1] = filepath.Join(s.certs, fmt.Sprintf("keystore-%d.pem", i))
		s.writeKeystore(t, keystores[i-1], time.Now().Add(24*time.Hour))
		plain := o.PortBindings["9092/tcp"][0].HostPort
		o.Env = append(o.Env,
			"KAFKA_HEAP_OPTS=-Xms256m -Xmx512m",
			// With the default of 60 s, three brokers that start at once on a busy machine give up and exit.
			"KAFKA_INITIAL_BROKER_REGISTRATION_TIMEOUT_MS=600000",
			"KAFKA_LISTENERS=HOST://:9092,INTERNAL://:19092,CONTROLLER://:9093,SECURE://:9094",
			"KAFKA_ADVERTISED_LISTENERS=HOST://127.0.0.1:"+plain+",INTERNAL://"+o.Hostname+":19092,SECURE://127.0.0.1:"+ports[i-1],
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=HOST:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
			"KAFKA_LISTENER_NAME_SECURE_SSL_KEYSTORE_TYPE=PEM",
			"KAFKA_LISTENER_NAME_SECURE_SSL_KEYSTORE_LOCATION=/certs/"+filepath.Base(keystores[i-1]),
			"KAFKA_LISTENER_NAME_SECURE_SASL_ENABLED_MECHANISMS=PLAIN",
			`KAFKA_LISTENER_NAME_SECURE_PLAIN_SASL_JAAS_CONFIG=org.apache.kafka.common.security.plain.PlainLoginModule required user_front="front-secret" user_process="process-secret" user_notify="notify-secret";`,
			"KAFKA_AUTHORIZER_CLASS_NAME=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "KAFKA_SUPER_USERS=User:ANONYMOUS",
		)
		o.Mounts = []string{s.certs + ":/certs:ro"}
		if disk := disks[i-1]; disk != "" {
			o.Env = append(o.Env, "KAFKA_LOG_DIRS=/disk/log")
			o.Mounts = append(o.Mounts, disk+":/disk")
		}
		o.PortBindings["9094/tcp"] = []docker.PortBinding{{HostIP: "127.0.0.1", HostPort: ports[i-1]}}
		o.ExposedPorts = []string{"9092/tcp", "9094/tcp"}
	})
	var plain, secure []string
	for i, one := range all {
		s.brokers = append(s.brokers, &tortureBroker{one, int32(i + 1), keystores[i], disks[i]})
		plain, secure = append(plain, one.address), append(secure, "127.0.0.1:"+ports[i])
	}
	s.plain, s.secure = strings.Join(plain, ","), strings.Join(secure, ",")
	for _, b := range s.brokers {
		eventually(t, 5*time.Minute, b.answers)
	}
	s.startRedis(t)
	return s
}

// makeDisk mounts a file as a separate file system, which can be filled and stalled without affecting this machine. It
// returns "" if that is not permitted.
func makeDisk(t *testing.T) (dir string) {
	t.Helper()
	image, dir := filepath.Join(t.TempDir(), "disk"), t.TempDir()
	file, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(file.Truncate(diskBytes), file.Close())
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Logf("no disk for the faults of disks: %v: %v %s", command, err, out)
			return ""
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil { // the public image does not run as root
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v %s", dir, err, out)
		}
	})
	return dir
}

// writeKeystore writes a server certificate for 127.0.0.1 that is valid until an instant.
func (s *tortureServers) writeKeystore(t testing.TB, path string, until time.Time) {
	t.Helper()
	content, err := s.signer.keystore(until)
	if err == nil {
		err = os.WriteFile(path, content, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// admin calls f with an admin client for the brokers.
func (s *tortureServers) admin(f func(context.Context, *kadm.Client) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(s.plain, ",")...), kgo.AlwaysRetryEOF(), kgo.DialTimeout(time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return f(ctx, kadm.NewClient(client))
}

// startRedis starts both Redis servers and the Sentinels on the network of this machine, so that the Sentinels and the
// roles use the same addresses.
func (s *tortureServers) startRedis(t *testing.T) {
	t.Helper()
	repository, tag := image("E2E_REDIS_IMAGE", redisImage)
	run := func(entrypoint []string, args ...string) *server {
		t.Helper()
		container, err := s.pool.RunWithOptions(&dockertest.RunOptions{Repository: repository, Tag: tag, Entrypoint: entrypoint, Cmd: args},
			func(c *docker.HostConfig) { c.NetworkMode = "host" })
		if err != nil {
			t.Fatal(err)
		}
		one := &server{pool: s.pool, container: container}
		t.Cleanup(one.purge)
		t.Cleanup(func() { one.logs(t) })
		return one
	}
	var ports []string
	for range 2 {
		port := mustFreePort(t)
		one := run(nil, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
		one.address = "127.0.0.1:" + port
		one.answers = one.redisAnswers
		eventually(t, time.Minute, one.answers)
		client := redis.NewClient(&redis.Options{Addr: one.address, MaxRetries: -1, DialTimeout: time.Second})
		t.Cleanup(func() { client.Close() })
		if len(ports) > 0 {
			// Not an argument of the server: a promoted replica that restarts would be a replica of its own replica, and the
			// Sentinels would find no primary.
			must(t, client.ReplicaOf(t.Context(), "127.0.0.1", ports[0]).Err())
		}
		ports, s.redis, s.clients = append(ports, port), append(s.redis, one), append(s.clients, client)
	}
	for range 3 {
		port := mustFreePort(t)
		conf := "port " + port + `\nbind 127.0.0.1\nsentinel monitor svc 127.0.0.1 ` + ports[0] +
			` 2\nsentinel down-after-milliseconds svc 1000\nsentinel failover-timeout svc 5000\n`
		run([]string{"sh", "-c"}, "printf '"+conf+"' >/tmp/sentinel.conf && exec redis-server /tmp/sentinel.conf --sentinel")
		s.sentinels = append(s.sentinels, "127.0.0.1:"+port)
	}
	s.watcher = redis.NewSentinelClient(&redis.Options{Addr: s.sentinels[0]})
	t.Cleanup(func() { s.watcher.Close() })
	eventually(t, time.Minute, func() error { // until each Sentinel knows the others and the replica
		known, err := s.watcher.Master(t.Context(), "svc").Result()
		if err == nil && (known["num-other-sentinels"] != "2" || known["num-slaves"] != "1") {
			err = fmt.Errorf("%s other sentinels, %s replicas", known["num-other-sentinels"], known["num-slaves"])
		}
		return err
	})
}

// view returns the value of SVC_REDIS.
func (s *tortureServers) view() string {
	return fmt.Sprintf("redis://%s/0?master_name=svc&addr=%s&addr=%s", s.sentinels[0], s.sentinels[1], s.sentinels[2])
}

// primary returns the index of the Redis that the Sentinels report as the primary, and the index of the replica.
func (s *tortureServers) primary() (primary, replica int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	address, err := s.watcher.GetMasterAddrByName(ctx, "svc").Result()
	if err != nil {
		return 0, 0, err
	}
	for i, one := range s.redis {
		if one.address == strings.Join(address, ":") {
			return i, 1 - i, nil
		}
	}
	return 0, 0, fmt.Errorf("the sentinels name %v", address)
}

// inspect returns the process id of a container (0 if it is not running) and its address.
func (s *server) inspect() (pid int, address string, err error) {
	c, err := s.pool.Client.InspectContainer(s.container.Container.ID)
	if err != nil {
		return 0, "", err
	}
	for _, network := range c.NetworkSettings.Networks {
		address = network.IPAddress
	}
	if !c.State.Running {
		return 0, address, nil
	}
	return c.State.Pid, address, nil
}

// killNow kills the container; run starts the container unless it is running. Neither function waits.
func (s *server) killNow() error {
	err := s.pool.Client.KillContainer(docker.KillContainerOptions{ID: s.container.Container.ID})
	if _, stopped := errors.AsType[*docker.ContainerNotRunning](err); stopped {
		return nil
	}
	return err
}

func (s *server) run() error {
	pid, _, err := s.inspect()
	if err != nil || pid != 0 {
		return err
	}
	return s.pool.Client.StartContainer(s.container.Container.ID, nil)
}

// inNetwork runs a command in the network namespace of a container.
func (s *server) inNetwork(command ...string) error {
	pid, _, err := s.inspect()
	if err != nil || pid == 0 {
		return err // without a process there is no namespace
	}
	out, err := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(pid), "-n"}, command...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w %s", command, err, out)
	}
	return nil
}

// freeze pauses a running container; thaw resumes the container, and starts it if it is not running. Docker cannot
// always stop all threads of a busy container at once, so freeze retries.
func (s *server) freeze() error {
	for range 20 {
		err := ignoreNotRunning(s.pool.Client.PauseContainer(s.container.Container.ID))
		if err != nil {
			return err
		}
		container, err := s.pool.Client.InspectContainer(s.container.Container.ID)
		if err != nil || container.State.Paused || !container.State.Running {
			return err
		}
	}
	return errors.New("container not paused after 20 attempts")
}

func (s *server) thaw() error {
	return errors.Join(ignoreNotRunning(s.pool.Client.UnpauseContainer(s.container.Container.ID)), s.run())
}
