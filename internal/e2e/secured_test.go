package e2e

import (
	"context"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestSecuredServers runs every role against a Kafka with TLS, SASL and ACLs and a Redis with TLS and a user. Each
// role has only the permissions in docs/configuration.md, and the tour, a forecast and a delivery must succeed.
func TestSecuredServers(t *testing.T) {
	t.Parallel()
	plain, _ := needServers(t)
	if plain.pool == nil {
		t.Skip("needs Docker to start servers of its own")
	}
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rights := range append(slices.Collect(maps.Values(kafkaRights)), strings.Join(redisRights, " ")) {
		if !strings.Contains(string(page), rights) {
			t.Errorf("docs/configuration.md does not list the rights %s", rights)
		}
	}
	certs, _ := makeCertificates(t)
	prefixes := map[string]string{"PLAIN": "plain.", "SCRAM-SHA-512": "scram."}
	secure := startSecureKafka(t, plain.pool, certs, slices.Collect(maps.Values(prefixes)))
	view := startSecureRedis(t, plain.pool, certs, slices.Collect(maps.Values(prefixes)))

	for mechanism, prefix := range prefixes {
		t.Run(mechanism, func(t *testing.T) {
			hooks := receive(t, "north")
			as := func(user string) []string {
				return append([]string{
					"SVC_KAFKA=" + secure, "SVC_KAFKA_TLS=true", "SVC_KAFKA_TLS_CA=" + filepath.Join(certs, "ca.pem"),
					"SVC_KAFKA_SASL=" + mechanism, "SVC_KAFKA_SASL_USER=" + user, "SVC_KAFKA_SASL_PASSWORD=" + user + "-secret",
					"SVC_REDIS=rediss://svc:redis-secret@" + view + "/0", "SVC_REDIS_CA=" + filepath.Join(certs, "ca.pem"),
					"SVC_TOPIC_PREFIX=" + prefix, "SVC_PARTITIONS=3", "SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef",
				}, hooks.env...)
			}
			listen := "127.0.0.1:" + mustFreePort(t)
			var nodes []*node
			run := func(user string, args ...string) {
				t.Helper()
				private := "127.0.0.1:" + mustFreePort(t)
				n := start(t, user, append(args, "--private-listen", private), as(user)...)
				n.await("http://" + private + "/readyz?exclude=view&exclude=forecast&exclude=lists")
				nodes = append(nodes, n)
			}
			run("front", "run", "ingest,read", "--listen", listen)
			run("process", "process", "--instance", "p1")
			run("notify", "notify", "--instance", "n1")
			s := &system{t: t, base: "http://" + listen, env: as("front")}
			for _, hospital := range []string{"north", "south"} {
				cli(t, s.env, "hospitals", "create", "--id", hospital, "--name", hospital, "--timezone", "America/Chicago")
				key := cli(t, s.env, "keys", "mint", "--hospital", hospital, "--name", "test", "--scopes", "all", "--rate", "1000")
				p := newPartner(s.base, hospital, key)
				p.honored(t)
				s.partners = append(s.partners, p)
			}
			north, south := s.partners[0], s.partners[1]
			hooks.hook(t, s, "north", "/north")
			south.sendEvents(t, simulatedEvents(t, 1, 2))
			tour(t, north)
			south.predicted(t, time.Minute)
			eventually(t, time.Minute, func() error {
				if len(hooks.at("/north")) == 0 {
					return errors.New("nothing was delivered")
				}
				return nil
			})
			noDenial(t, view, certs)
			for _, n := range nodes {
				n.stop()
				if log := n.logged(); strings.Contains(log, "AUTHORIZATION_FAILED") || strings.Contains(log, "NOPERM") {
					t.Errorf("%s is refused something", n.name)
				}
			}
		})
	}
}

// noDenial expects that Redis has not refused any command.
func noDenial(t *testing.T, address, certs string) {
	t.Helper()
	options, err := redis.ParseURL("rediss://watcher:watcher-secret@" + address + "/0")
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(certs, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	options.TLSConfig.RootCAs = x509.NewCertPool()
	options.TLSConfig.RootCAs.AppendCertsFromPEM(ca)
	client := redis.NewClient(options)
	defer client.Close()
	denied, err := client.ACLLog(t.Context(), 100).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range denied {
		t.Errorf("Redis has refused %s %s to %s, %d times", d.Reason, d.Object, d.Username, d.Count)
	}
}

// kafkaRights are the rows of docs/configuration.md that list the permissions of each role. allow grants these
// permissions.
var kafkaRights = map[string]string{
	"every":   "| every | Describe, DescribeConfigs, Read, Write on the topics `svc.v1.*`; Create, too, unless they exist",
	"process": "| `svc process` | Read on the groups `svc-verdict` and `svc-history`, Write on the transactional ids `svc-verdict-*`, `svc-history-*` and `svc-process-*` |",
	"notify":  "| `svc notify` | Read on the group `svc-notifier`, Write on the transactional ids `svc-notify-*` |",
	"front":   "| `svc ingest`, `svc read`, and the commands that make keys, links and hospitals or change keys | Write on the transactional id `svc.v1.settings` |",
}

// kafkaUsers are the principals of the roles.
var kafkaUsers = []string{"front", "process", "notify"}

func principals(users ...string) (all []string) {
	for _, u := range users {
		all = append(all, "User:"+u)
	}
	return all
}

// rights returns the ACLs that grant kafkaRights for a topic prefix.
func rights(prefix string) (all []*kadm.ACLBuilder) {
	for _, b := range []*kadm.ACLBuilder{
		kadm.NewACLs().Topics(prefix+"svc.v1.").ResourcePatternType(kadm.ACLPatternPrefixed).
			Operations(kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpRead, kadm.OpWrite, kadm.OpCreate).Allow(principals(kafkaUsers...)...),
		kadm.NewACLs().Groups(prefix+"svc-verdict", prefix+"svc-history").ResourcePatternType(kadm.ACLPatternLiteral).
			Operations(kadm.OpRead).Allow(principals("process")...),
		kadm.NewACLs().TransactionalIDs(prefix+"svc-verdict-", prefix+"svc-history-", prefix+"svc-process-").ResourcePatternType(kadm.ACLPatternPrefixed).
			Operations(kadm.OpWrite).Allow(principals("process")...),
		kadm.NewACLs().TransactionalIDs(prefix + "svc-notify-").ResourcePatternType(kadm.ACLPatternPrefixed).
			Operations(kadm.OpWrite).Allow(principals("notify")...),
		kadm.NewACLs().TransactionalIDs(prefix + "svc.v1.settings").ResourcePatternType(kadm.ACLPatternLiteral).
			Operations(kadm.OpWrite).Allow(principals("front")...),
		kadm.NewACLs().Groups(prefix + "svc-notifier").ResourcePatternType(kadm.ACLPatternLiteral).
			Operations(kadm.OpRead).Allow(principals("notify")...),
	} {
		all = append(all, b.AllowHosts("*"))
	}
	return all
}

// allow grants kafkaRights for a topic prefix.
func allow(t *testing.T, admin *kadm.Client, prefix string) {
	t.Helper()
	for _, b := range rights(prefix) {
		created, err := admin.CreateACLs(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range created {
			if c.Err != nil {
				t.Fatal(c.Err)
			}
		}
	}
}

// startSecureKafka starts a Kafka and returns the address of the listener with TLS and SASL. It grants kafkaRights
// for the topic prefixes.
func startSecureKafka(t *testing.T, pool *dockertest.Pool, certs string, prefixes []string) string {
	t.Helper()
	port, securePort := mustFreePort(t), mustFreePort(t)
	repository, tag := image("E2E_KAFKA_IMAGE", kafkaImage)
	container, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: repository, Tag: tag, Hostname: "k1",
		Env: append(kafkaEnvironment(port), shortJava,
			"KAFKA_LISTENERS=HOST://:9092,INTERNAL://:19092,CONTROLLER://:9093,SECURE://:9094",
			"KAFKA_ADVERTISED_LISTENERS=HOST://127.0.0.1:"+port+",INTERNAL://k1:19092,SECURE://127.0.0.1:"+securePort,
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=HOST:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
			"KAFKA_LISTENER_NAME_SECURE_SSL_KEYSTORE_TYPE=PEM",
			"KAFKA_LISTENER_NAME_SECURE_SSL_KEYSTORE_LOCATION=/certs/keystore.pem",
			"KAFKA_LISTENER_NAME_SECURE_SASL_ENABLED_MECHANISMS=PLAIN,SCRAM-SHA-512",
			`KAFKA_LISTENER_NAME_SECURE_PLAIN_SASL_JAAS_CONFIG=org.apache.kafka.common.security.plain.PlainLoginModule required user_front="front-secret" user_process="process-secret" user_notify="notify-secret";`,
			"KAFKA_LISTENER_NAME_SECURE_SCRAM___SHA___512_SASL_JAAS_CONFIG=org.apache.kafka.common.security.scram.ScramLoginModule required;",
			"KAFKA_AUTHORIZER_CLASS_NAME=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "KAFKA_SUPER_USERS=User:ANONYMOUS", // User:ANONYMOUS connects without TLS
		),
		Mounts: []string{certs + ":/certs:ro"},
		PortBindings: map[docker.Port][]docker.PortBinding{
			"9092/tcp": {{HostIP: "127.0.0.1", HostPort: port}}, "9094/tcp": {{HostIP: "127.0.0.1", HostPort: securePort}},
		},
		ExposedPorts: []string{"9092/tcp", "9094/tcp"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: "127.0.0.1:" + port, pool: pool, container: container}
	t.Cleanup(s.purge)
	t.Cleanup(func() { s.logs(t) })
	if err = pool.Retry(s.kafkaAnswers); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.address), kgo.AlwaysRetryEOF())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	var users []kadm.UpsertSCRAM
	for _, user := range kafkaUsers {
		users = append(users, kadm.UpsertSCRAM{User: user, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: user + "-secret"})
	}
	created, err := admin.AlterUserSCRAMs(context.Background(), nil, users)
	if err == nil {
		err = created.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range prefixes {
		allow(t, admin, prefix)
	}
	return "127.0.0.1:" + securePort
}

// redisRights are the commands that svc needs according to docs/configuration.md.
var redisRights = []string{
	"+hello", "+auth", "+ping", "+select", "+hmget", "+hget", "+hgetall", "+hset", "+hdel", "+del", "+sadd", "+srem", "+smembers", "+zadd", "+zrem", "+zcard", "+zrange", "+zrevrangebyscore", "+pexpire", "+time", "+info",
	"+multi", "+exec", "+script|load", "+evalsha", "+publish", "+subscribe", "+unsubscribe",
}

// startSecureRedis starts a Redis with TLS and the user svc, and returns its address. The user's
// keys and channels begin with one of the prefixes and "svc:".
func startSecureRedis(t *testing.T, pool *dockertest.Pool, certs string, prefixes []string) string {
	t.Helper()
	port := mustFreePort(t)
	repository, tag := image("E2E_REDIS_IMAGE", redisImage)
	command := append([]string{
		"--port", "0", "--tls-port", "6379", "--tls-cert-file", "/certs/cert.pem", "--tls-key-file", "/certs/key.pem",
		"--tls-ca-cert-file", "/certs/ca.pem", "--tls-auth-clients", "no", "--user", "default", "off",
		"--user", "watcher", "on", ">watcher-secret", "+@all", "--user", "svc", "on", ">redis-secret",
	}, redisRights...)
	for _, prefix := range prefixes {
		command = append(command, "~"+prefix+"svc:*", "&"+prefix+"svc:*")
	}
	container, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: repository, Tag: tag, Cmd: command, Mounts: []string{certs + ":/certs:ro"},
		PortBindings: map[docker.Port][]docker.PortBinding{"6379/tcp": {{HostIP: "127.0.0.1", HostPort: port}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: "127.0.0.1:" + port, pool: pool, container: container}
	t.Cleanup(s.purge)
	t.Cleanup(func() { s.logs(t) })
	if err := pool.Retry(func() error {
		conn, err := net.DialTimeout("tcp", s.address, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	}); err != nil {
		t.Fatal(err)
	}
	return s.address
}
