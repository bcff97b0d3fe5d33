package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestSecuredServers runs every role against a Kafka that wants TLS and SASL and
// a Redis that wants TLS and a user with no more rights than it needs.
func TestSecuredServers(t *testing.T) {
	plain, _ := needServers(t)
	if plain.pool == nil {
		t.Skip("needs Docker to start servers of its own")
	}
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if rights := strings.Join(redisRights, " "); !strings.Contains(string(page), rights) {
		t.Errorf("docs/configuration.md does not list the rights %s", rights)
	}
	certs, _ := makeCertificates(t)
	secure := startSecureKafka(t, plain.pool, certs)
	redis := startSecureRedis(t, plain.pool, certs)

	for name, kafkaEnv := range map[string][]string{
		"PLAIN":         {"SVC_KAFKA_SASL=PLAIN", "SVC_KAFKA_SASL_USER=svc", "SVC_KAFKA_SASL_PASSWORD=plain-secret"},
		"SCRAM-SHA-512": {"SVC_KAFKA_SASL=SCRAM-SHA-512", "SVC_KAFKA_SASL_USER=svc", "SVC_KAFKA_SASL_PASSWORD=scram-secret"},
	} {
		t.Run(name, func(t *testing.T) {
			listen, private := "127.0.0.1:"+mustFreePort(t), "127.0.0.1:"+mustFreePort(t)
			env := append([]string{
				"SVC_KAFKA=" + secure, "SVC_KAFKA_TLS=true", "SVC_KAFKA_TLS_CA=" + filepath.Join(certs, "ca.pem"),
				"SVC_REDIS=rediss://svc:redis-secret@" + redis + "/0", "SVC_REDIS_CA=" + filepath.Join(certs, "ca.pem"),
				"SVC_TOPIC_PREFIX=" + name + ".", "SVC_PARTITIONS=3", "SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef",
			}, kafkaEnv...)
			n := start(t, "all", []string{"run", "ingest,process,read", "-listen", listen, "-private-listen", private}, env...)
			n.await("http://" + private + "/readyz")
			cli(t, env, "hospitals", "create", "-id", "north", "-name", "North", "-timezone", "America/Chicago")
			key := cli(t, env, "keys", "mint", "-hospital", "north", "-name", "test", "-scopes", "all", "-rate", "0")
			p := newPartner("http://"+listen, "north", key)
			eventually(t, 2*time.Second, func() error { return notStatus(p, 401) })
			tour(t, p)
		})
	}
}

func notStatus(p *partner, status int) error {
	if a, err := p.do("GET", "/api/v1/level", "", ""); err != nil {
		return err
	} else if a.status == status {
		return errors.New("the key is not honoured yet")
	}
	return nil
}

// makeCertificates writes an authority and a server certificate for 127.0.0.1, and
// returns who signs.
func makeCertificates(t *testing.T) (dir string, signer *authority) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, root, root, &authorityKey.PublicKey, authorityKey)
	must(err)
	parsed, err := x509.ParseCertificate(authorityDER)
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test server"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, authorityKey)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER})
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	for name, content := range map[string][]byte{
		"ca.pem": ca, "cert.pem": cert, "key.pem": private, "keystore.pem": append(append(append([]byte{}, private...), cert...), ca...),
	} {
		must(os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	return dir, &authority{parsed, authorityKey}
}

// startSecureKafka returns the address of a listener that wants TLS and SASL.
func startSecureKafka(t *testing.T, pool *dockertest.Pool, certs string) string {
	t.Helper()
	port, securePort := mustFreePort(t), mustFreePort(t)
	repository, tag := image("E2E_KAFKA_IMAGE", kafkaImage)
	container, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: repository, Tag: tag, Hostname: "k1",
		Env: append(kafkaEnvironment(port),
			"KAFKA_LISTENERS=HOST://:9092,INTERNAL://:19092,CONTROLLER://:9093,SECURE://:9094",
			"KAFKA_ADVERTISED_LISTENERS=HOST://127.0.0.1:"+port+",INTERNAL://k1:19092,SECURE://127.0.0.1:"+securePort,
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=HOST:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
			"KAFKA_LISTENER_NAME_SECURE_SSL_KEYSTORE_TYPE=PEM",
			"KAFKA_LISTENER_NAME_SECURE_SSL_KEYSTORE_LOCATION=/certs/keystore.pem",
			"KAFKA_LISTENER_NAME_SECURE_SASL_ENABLED_MECHANISMS=PLAIN,SCRAM-SHA-512",
			`KAFKA_LISTENER_NAME_SECURE_PLAIN_SASL_JAAS_CONFIG=org.apache.kafka.common.security.plain.PlainLoginModule required user_svc="plain-secret";`,
			"KAFKA_LISTENER_NAME_SECURE_SCRAM___SHA___512_SASL_JAAS_CONFIG=org.apache.kafka.common.security.scram.ScramLoginModule required;",
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
	created, err := kadm.NewClient(client).AlterUserSCRAMs(context.Background(), nil, []kadm.UpsertSCRAM{{
		User: "svc", Mechanism: kadm.ScramSha512, Iterations: 4096, Password: "scram-secret",
	}})
	if err == nil {
		err = created.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + securePort
}

// redisRights are the commands that svc needs, as docs/configuration.md lists them.
var redisRights = []string{
	"+hello", "+auth", "+ping", "+select", "+hmget", "+hget", "+hgetall", "+hset", "+hdel", "+del", "+sadd", "+srem", "+smembers", "+zadd", "+zrem", "+zcard", "+zrange", "+zrevrangebyscore", "+pexpire", "+time",
	"+multi", "+exec", "+script|load", "+evalsha", "+publish", "+subscribe", "+unsubscribe",
}

// startSecureRedis returns the address of a Redis that wants TLS and the user svc.
func startSecureRedis(t *testing.T, pool *dockertest.Pool, certs string) string {
	t.Helper()
	port := mustFreePort(t)
	repository, tag := image("E2E_REDIS_IMAGE", redisImage)
	command := append([]string{
		"--port", "0", "--tls-port", "6379", "--tls-cert-file", "/certs/cert.pem", "--tls-key-file", "/certs/key.pem",
		"--tls-ca-cert-file", "/certs/ca.pem", "--tls-auth-clients", "no", "--user", "default", "off",
		"--user", "svc", "on", ">redis-secret", "~*", "&*",
	}, redisRights...)
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
