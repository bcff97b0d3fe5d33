package stream

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// childEnv is an environment variable. It names the folder in which a child process of this test runs a broker and a
// loop until the process kills itself.
const childEnv = "STREAM_TEST_BROKER_DIR"

// embedded starts a broker in dir and creates its topics.
func embedded(tb testing.TB, dir string) (*Broker, *Cluster) {
	tb.Helper()
	b, err := Embed(BrokerOptions{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := Dial(tb.Context(), Options{Brokers: []string{b.Addr()}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Ensure(tb.Context(),
		Topic{Name: inTopic, Partitions: parts},
		Topic{Name: logTopic, Partitions: parts, Compact: true, CompactionLag: 24 * time.Hour},
	); err != nil {
		tb.Fatal(err)
	}
	return b, c
}

// TestMain runs as the child process if childEnv is set.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
	}
	os.Exit(m.Run())
}

// child appends inputs while a loop runs, prints each acknowledged position, and kills itself with
// SIGKILL.
func child(dir string) {
	ctx := context.Background()
	b, err := Embed(BrokerOptions{Dir: dir})
	if err != nil {
		panic(err)
	}
	c, err := Dial(ctx, Options{Brokers: []string{b.Addr()}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	if err = c.Ensure(ctx, Topic{Name: inTopic, Partitions: parts}, Topic{Name: logTopic, Partitions: parts, Compact: true}); err != nil {
		panic(err)
	}
	go func() {
		panic(c.Process(ctx, Config{Group: "g", Instance: "dev", Input: inTopic, Changelog: logTopic, NewTask: newCounter}))
	}()
	in := c.Publisher(inTopic)
	for i := range 1500 {
		at, fault := in.Append(ctx, fmt.Append(nil, "k", i%5), []byte("add"), int32(i%parts))
		if fault != nil {
			panic(fault)
		}
		fmt.Println(at.Partition, at.Offset)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	_ = self.Kill()
	select {}
}

// Records that an embedded broker has acknowledged survive kill -9 of its process and are applied
// exactly once, regardless of interrupted transactions.
func TestEmbeddedBrokerSurvivesKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kafka")
	acked := 0
	for range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the child ended with %v: %s", err, out)
		}
		acked += strings.Count(string(out), "\n")
	}
	b, c := embedded(t, dir)
	defer b.Close()
	defer c.Close()
	if !c.Embedded() {
		t.Error("the broker is not known as embedded")
	}
	r := &rig{t: t, cluster: c}
	stop := r.process(c, Config{Instance: "dev"})
	r.await("applied", int64(acked), r.applied)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.exact(acked)
}

// BenchmarkEmbed measures how long a broker with 200,000 records takes to start; it should be ready in well under half
// a second.
func BenchmarkEmbed(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "kafka")
	broker, cluster := embedded(b, dir)
	fill(b, cluster)
	cluster.Close()
	broker.Close()
	for b.Loop() {
		broker, cluster := embedded(b, dir)
		b.StopTimer()
		cluster.Close()
		broker.Close()
		b.StartTimer()
	}
}
