package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/doctor"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/schemas"
)

// examined runs svc doctor with the given flags, and returns its exit code and output.
func examined(t *testing.T, now func() time.Time, args ...string) (code int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	w := cli.Env{LookupEnv: func(string) (string, bool) { return "", false }, Stdout: &stdout, Stderr: &stderr, Now: now}
	root := cli.Root("svc", "test", "test")
	cli.Section(root, "Operation", doctor.Command(w))
	code = cli.Run(context.Background(), root, append([]string{"doctor"}, args...), w)
	return code, stdout.String() + stderr.String()
}

// servers starts an embedded Kafka and an embedded Redis. It creates the topics with the given number of partitions,
// or no topics if the number is 0.
func servers(t *testing.T, partitions int) (kafka, redis string) {
	t.Helper()
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	store, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if partitions > 0 {
		c := &config.Config{Kafka: []string{broker.Addr()}, Partitions: partitions}
		cluster, err := stream.Dial(t.Context(), c.Cluster(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		if err := cluster.Ensure(t.Context(), c.Topics(schemas.Topics()...)...); err != nil {
			t.Fatal(err)
		}
	}
	return broker.Addr(), store.URL()
}

func TestDoctor(t *testing.T) {
	kafka, redis := servers(t, 3)
	bare, _ := servers(t, 0)
	later := func() time.Time { return time.Now().Add(5 * time.Minute) }
	for name, tt := range map[string]struct {
		now  func() time.Time
		args []string
		code int
		want []string
	}{
		"all is well":            {time.Now, []string{"--kafka", kafka, "--redis", redis, "--partitions", "3"}, 0, []string{"ok       kafka", "ok       topics", "ok       redis", "ok       clocks", "ok       capacity: the Kafka of svc dev", "ok       capacity: the Redis of svc dev"}},
		"wrong address of Kafka": {time.Now, []string{"--kafka", "127.0.0.1:1", "--redis", redis}, 1, []string{"fault    kafka: connect to 127.0.0.1:1", "check --kafka,", "ok       redis"}},
		"one wrong address":      {time.Now, []string{"--kafka", "127.0.0.1:1," + kafka, "--redis", redis, "--partitions", "3"}, 1, []string{"fault    kafka: connect to 127.0.0.1:1", "ok       kafka: connected to " + kafka + "\n", "ok       topics"}},
		"wrong address of Redis": {time.Now, []string{"--kafka", kafka, "--redis", "redis://127.0.0.1:1/0", "--partitions", "3"}, 1, []string{"fault    redis", "check --redis,", "ok       kafka"}},
		"wrong password":         {time.Now, []string{"--kafka", kafka, "--redis", strings.Replace(redis, "redis://", "redis://canary:canary@", 1), "--partitions", "3"}, 1, []string{"fault    redis", "user and password in --redis"}},
		"wrong topic setting":    {time.Now, []string{"--kafka", kafka, "--redis", redis, "--partitions", "4"}, 1, []string{"has 3 partitions, must have 4; set --partitions to the number of partitions of the topic"}},
		"no topics yet":          {time.Now, []string{"--kafka", bare, "--redis", redis}, 0, []string{"warning  topics: topic svc.v1.verdicts does not exist"}},
		"clock skew":             {later, []string{"--kafka", kafka, "--redis", redis, "--partitions", "3"}, 1, []string{"fault    clocks: the Redis clock is -5m0", "synchronize the clocks"}},
		"no certificate":         {time.Now, []string{"--kafka", kafka, "--redis", redis, "--partitions", "3", "--kafka-tls-ca", "doctor.go"}, 1, []string{"fault    certificates: --kafka-tls-ca", "correct --kafka-tls-ca"}},
		"TLS to a plain port":    {time.Now, []string{"--kafka", kafka, "--redis", redis, "--kafka-tls"}, 1, []string{"fault    kafka", "--kafka-tls"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out := examined(t, tt.now, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d:\n%s", code, tt.code, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("missing %q in\n%s", want, out)
				}
			}
			if strings.Contains(out, "canary") {
				t.Errorf("a password is shown:\n%s", out)
			}
		})
	}
}

// TestDoctorJSON: each finding has a check and a result. A finding that is not OK also has a remedy.
func TestDoctorJSON(t *testing.T) {
	kafka, redis := servers(t, 3)
	code, out := examined(t, time.Now, "--kafka", kafka, "--redis", redis, "--partitions", "4", "--json")
	out, _, _ = strings.Cut(out, "svc: ")
	var answer struct{ Items []doctor.Finding }
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&answer); err != nil || code != 1 || len(answer.Items) < 4 {
		t.Fatalf("code %d, %v:\n%s", code, err, out)
	}
	for _, f := range answer.Items {
		if f.Check == "" || f.Message == "" || (f.Remedy == "") != (f.Result == doctor.OK) || strings.Contains(f.Message+f.Remedy, "\n") {
			t.Errorf("finding %+v", f)
		}
	}
}
