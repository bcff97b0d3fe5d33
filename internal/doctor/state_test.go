package doctor_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/settings"
	"svc/internal/config"
	"svc/internal/registry"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/schemas"
)

const (
	secretsKey   = "0123456789abcdef0123456789abcdef"
	pseudonymKey = "abcdef0123456789abcdef0123456789"
	otherKey     = "fedcba9876543210fedcba9876543210"
)

func dial(t *testing.T, c *config.Config) *stream.Cluster {
	t.Helper()
	cluster, err := stream.Dial(t.Context(), c.Cluster(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func ringOf(t *testing.T, key string) *seal.Keyring {
	t.Helper()
	ring, err := seal.NewKeyring(key)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// install records the tests' keys as the keys of the installation, as the first process of a new installation does.
func install(t *testing.T, kafka string) {
	t.Helper()
	c := &config.Config{Kafka: []string{kafka}, Partitions: 3}
	store := settings.Follow(dial(t, c), c.Topic(schemas.Settings()), ringOf(t, secretsKey), time.Now, slog.New(slog.DiscardHandler))
	check := settings.NewKeyCheck(settings.KeyCheckConfig{
		Store: store, Now: time.Now, Pseudonyms: ringOf(t, pseudonymKey), FirstData: []byte(pseudonymKey), Begin: func([]byte) {},
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- store.Run(ctx) }()
	go func() { done <- check.Run(ctx) }()
	<-check.Ready()
	stop()
	<-done
	<-done
}

// expect runs svc doctor. It expects the given exit code, each of the given lines in the output, and no secret in the
// output.
func expect(t *testing.T, code int, args []string, wants ...string) {
	t.Helper()
	got, out := examined(t, time.Now, args...)
	if got != code {
		t.Errorf("exit code %d, want %d:\n%s", got, code, out)
	}
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("missing %q in\n%s", want, out)
		}
	}
	for _, key := range []string{secretsKey, pseudonymKey, otherKey, "canary"} {
		if strings.Contains(out, key) {
			t.Errorf("a secret is shown:\n%s", out)
		}
	}
}

// TestDoctorKeys: svc doctor compares the given keys with those that the first process recorded.
func TestDoctorKeys(t *testing.T) {
	kafka, redis := servers(t, 3)
	servers := []string{"--kafka", kafka, "--redis", redis, "--partitions", "3"}
	with := func(args ...string) []string { return append(append([]string{}, servers...), args...) }
	expect(t, 0, servers, "ok       keys: the installation has no secrets key yet; --secrets-key is required for svc ingest, svc notify and svc read")
	expect(t, 0, with("--secrets-key", secretsKey), "ok       keys: the installation has no secrets key yet; the first role")
	install(t, kafka)
	expect(t, 0, with("--secrets-key", secretsKey, "--pseudonym-key", pseudonymKey),
		"ok       keys: the secrets key (", "ok       keys: the pseudonym key (", ") is the key of the installation")
	expect(t, 0, servers, "warning  keys: the installation has a pseudonym key (", "set --pseudonym-key to the key of svc ingest")
	expect(t, 1, with("--secrets-key", otherKey, "--pseudonym-key", otherKey),
		"fault    keys: the secrets key (", "set --secrets-key to the key of the installation",
		"fault    keys: the pseudonym key (", "set --pseudonym-key to the key of the installation")
	expect(t, 0, with("--secrets-key", otherKey, "--secrets-key-old", secretsKey), "is listed in --secrets-key-old, so a rotation is in progress")
	expect(t, 2, with("--secrets-key", "short-canary"), "must have at least 32 characters")
}

// TestDoctorSchemas: svc doctor reports records that this build cannot read.
func TestDoctorSchemas(t *testing.T) {
	kafka, redis := servers(t, 3)
	args := []string{"--kafka", kafka, "--redis", redis, "--partitions", "3"}
	c := &config.Config{Kafka: []string{kafka}, Partitions: 3}
	cluster := dial(t, c)
	write := func(topic schemas.Topic, value []byte) {
		t.Helper()
		if _, err := cluster.Publisher(c.Topic(topic)).Append(t.Context(), []byte("key"), value, 0); err != nil {
			t.Fatal(err)
		}
	}
	of := func(id schemas.SchemaID) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(id)) }
	write(schemas.Verdicts(), of(schemas.Released()[0].ID))
	write(schemas.Verdicts(), nil)
	expect(t, 0, args, "ok       schemas: this build reads the newest records")
	write(schemas.Audit(), of(17))
	write(schemas.Settings(), []byte("canary"))
	expect(t, 1, args, "fault    schemas: svc.v1.audit has records with schemas that this build does not read: id 17; upgrade svc",
		"svc.v1.settings has records with schemas that this build does not read: no schema id")
}

// TestDoctorRegistry: svc doctor asks a schema registry for the schemas of this build, but does not register any.
func TestDoctorRegistry(t *testing.T) {
	kafka, redis := servers(t, 3)
	complete := chi.NewRouter()
	registry.Mount(complete, "/", registry.Subjects(""))
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		code  int
		want  string
	}{
		"complete": {complete.ServeHTTP, 0, "ok       schemas: the schema registry has all schemas of this build"},
		"empty": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/versions") {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			w.WriteHeader(http.StatusNotFound)
			if _, err := fmt.Fprint(w, `{"error_code":40401,"message":"Subject not found."}`); err != nil {
				t.Error(err)
			}
		}, 0, "warning  schemas: the schema registry lacks schemas for"},
		"without a login": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
		}, 1, "check --schema-registry, --schema-registry-user and --schema-registry-password"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.serve)
			defer server.Close()
			expect(t, tt.code, []string{"--kafka", kafka, "--redis", redis, "--partitions", "3", "--schema-registry", server.URL}, tt.want)
		})
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	expect(t, 1, []string{"--kafka", kafka, "--redis", redis, "--partitions", "3", "--schema-registry", secure.URL},
		"fault    schemas", "check --schema-registry (https://) and --schema-registry-ca")
	expect(t, 1, []string{"--kafka", kafka, "--redis", redis, "--partitions", "3", "--schema-registry", "http://127.0.0.1:1"},
		"fault    schemas", "check --schema-registry, and the network to it")
}

// TestDoctorTraces: svc doctor sends an empty request to the collector that the standard OpenTelemetry variables
// name.
func TestDoctorTraces(t *testing.T) {
	kafka, redis := servers(t, 3)
	args := []string{"--kafka", kafka, "--redis", redis, "--partitions", "3"}
	status := http.StatusOK
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" && r.Method != "PRI" { // PRI is the HTTP/2 connection preface, which a gRPC client sends
			t.Errorf("path %s", r.URL.Path)
		}
		w.WriteHeader(status)
	})
	plain, secure := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	for port := 40400; port < 40500; port++ { // the digits of a status in the port must not matter
		if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			secure.Listener.Close()
			secure.Listener = l
			break
		}
	}
	secure.StartTLS()
	defer plain.Close()
	defer secure.Close()
	const variable, protocol = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL"
	for _, tt := range []struct {
		endpoint, protocol string
		status, code       int
		wants              []string
	}{
		{plain.URL, "", http.StatusOK, 0, []string{"ok       traces: the collector in " + variable}},
		{plain.URL, "", http.StatusNotFound, 1, []string{"fault    traces", "check the path and the port in " + variable}},
		{plain.URL, "", http.StatusUnauthorized, 1, []string{"fault    traces", "check OTEL_EXPORTER_OTLP_HEADERS"}},
		{plain.URL, "grpc", http.StatusOK, 1, []string{"fault    traces", protocol}},
		{secure.URL, "", http.StatusOK, 1, []string{"fault    traces", "OTEL_EXPORTER_OTLP_CERTIFICATE"}},
		{"http://127.0.0.1:1", "", http.StatusOK, 1, []string{"fault    traces", "check " + variable + ", and the network to it"}},
		{"http://127.0.0.1:1", "grpc", http.StatusOK, 1, []string{"fault    traces", "check " + variable + ", and the network to it"}},
		{"canary:4318", "", http.StatusOK, 1, []string{"fault    traces: " + variable + " must be a URL", "correct this variable"}},
	} {
		t.Run(tt.endpoint+tt.protocol+http.StatusText(tt.status), func(t *testing.T) {
			status = tt.status
			t.Setenv(variable, tt.endpoint)
			t.Setenv(protocol, tt.protocol)
			expect(t, tt.code, args, tt.wants...)
		})
	}
}
