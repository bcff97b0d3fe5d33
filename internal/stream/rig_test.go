package stream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

const (
	inTopic  = "in"
	logTopic = "log"
	parts    = 3
)

// rig is a fake Kafka on a virtual network, for use within synctest.
type rig struct {
	t       *testing.T
	net     *kfake.VirtualNetwork
	broker  *kfake.Cluster
	cluster *Cluster
	log     *slog.Logger
	lines   *lines
}

// lines is the log of a test, which is printed if the test fails.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, net: &kfake.VirtualNetwork{}, lines: &lines{}}
	var out io.Writer = r.lines
	if os.Getenv("RIG") != "" {
		out = os.Stderr
	}
	r.log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.lines.String())
		}
	})
	broker, err := kfake.NewCluster(kfake.Ports(9092), kfake.ListenFn(r.net.Listen), kfake.ClusterID("rig"))
	if err != nil {
		t.Fatal(err)
	}
	r.broker = broker
	r.cluster = r.dial()
	if err := r.cluster.Ensure(t.Context(),
		Topic{Name: inTopic, Partitions: parts},
		Topic{Name: logTopic, Partitions: parts, Compact: true, CompactionLag: 24 * time.Hour},
	); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) dial() *Cluster { return r.dialWith(Options{}) }

// dialWith opens a connection with the given options, apart from those of the network.
func (r *rig) dialWith(o Options) *Cluster {
	r.t.Helper()
	o.Brokers, o.Log, o.Dial = []string{"localhost:9092"}, r.log, r.net.DialContext
	c, err := Dial(r.t.Context(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) close() {
	r.cluster.Close()
	r.broker.Close()
}

// send appends n inputs, spread over all partitions and five keys.
func (r *rig) send(n int) {
	r.t.Helper()
	p := r.cluster.Publisher(inTopic)
	for i := range n {
		if _, err := p.Append(r.t.Context(), []byte("k"+strconv.Itoa(i%5)), []byte("add"), int32(i%parts)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// load appends the same inputs as send, in bulk.
func (r *rig) load(n int) {
	r.t.Helper()
	r.fill(func(l *Loader) {
		for i := range n {
			if err := l.Put(&Record{Partition: int32(i % parts), Key: []byte("k" + strconv.Itoa(i%5)), Value: []byte("add"), Timestamp: time.Now()}); err != nil {
				r.t.Fatal(err)
			}
		}
	})
}

// fill opens a loader for the input topic, calls the function put with the loader, and closes the loader.
func (r *rig) fill(put func(*Loader)) {
	r.t.Helper()
	l, err := r.cluster.Loader(r.t.Context(), inTopic)
	if err != nil {
		r.t.Fatal(err)
	}
	put(l)
	if err := l.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// process starts a loop. The returned function stops the loop and returns its error.
func (r *rig) process(cluster *Cluster, cfg Config) (stop func() error) {
	ctx, cancel := context.WithCancel(r.t.Context())
	if cfg.Group == "" {
		cfg.Group = "g"
	}
	if cfg.Instance == "" {
		cfg.Instance = "one"
	}
	cfg.Input, cfg.Changelog = inTopic, cmp.Or(cfg.Changelog, logTopic)
	if cfg.NewTask == nil {
		cfg.NewTask = newCounter
	}
	done := make(chan error, 1)
	go func() { done <- cluster.Process(ctx, cfg) }()
	return func() error {
		cancel()
		return <-done
	}
}

// changes reads the committed changelog. It returns the offsets of the applied inputs by partition,
// in order, and the last value of each key.
func (r *rig) changes() (applied map[int32][]int64, last map[string]string) {
	r.t.Helper()
	applied, last = map[int32][]int64{}, map[string]string{}
	var mu sync.Mutex
	if err := r.cluster.readTo(r.t.Context(), logTopic, nil, []int32{0, 1, 2}, func(rec Record) error {
		mu.Lock()
		defer mu.Unlock()
		if string(rec.Key) == "in" {
			at, err := strconv.ParseInt(string(rec.Value), 10, 64)
			applied[rec.Partition] = append(applied[rec.Partition], at)
			return err
		}
		last[fmt.Sprintf("%d/%s", rec.Partition, rec.Key)] = string(rec.Value)
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return applied, last
}

// await waits until have() is at least want.
func (r *rig) await(what string, want int64, have func() int64) {
	r.t.Helper()
	for end := time.Now().Add(2 * time.Minute); have() < want; {
		if time.Now().After(end) {
			r.t.Fatalf("%s: %d of %d after two minutes", what, have(), want)
		}
		time.Sleep(20 * time.Millisecond) // virtual time
	}
}

// applied returns the number of inputs in the committed changelog.
func (r *rig) applied() int64 {
	applied, _ := r.changes()
	n := 0
	for _, a := range applied {
		n += len(a)
	}
	return int64(n)
}

// exact fails unless each of the first n inputs was applied exactly once, in order, and the counts match.
func (r *rig) exact(n int) {
	r.t.Helper()
	applied, last := r.changes()
	total := 0
	for p, at := range applied {
		for i, offset := range at {
			if offset != int64(i) {
				r.t.Fatalf("partition %d: change %d is of input %d", p, i, offset)
			}
		}
		total += len(at)
	}
	if total != n {
		r.t.Fatalf("%d inputs applied, not %d", total, n)
	}
	sum := 0
	for key, value := range last {
		if strings.Contains(key, "/n/") {
			c, err := strconv.Atoi(value)
			if err != nil {
				r.t.Fatal(err)
			}
			sum += c
		}
	}
	if sum != n {
		r.t.Fatalf("counts add up to %d, not %d", sum, n)
	}
}

// counter is a small task that counts inputs per key. It writes records with these keys: "in" for an applied input,
// "n/<key>" for the count of a key, "due" for a pending timer, "fired/<time>" for a timer that has fired, and
// "rejected/<reason>" for a rejected input.
type counter struct {
	partition int32
	counts    map[string]int
	next      int64
	due       time.Time
	closed    bool

	changes [][2][]byte
	dirty   map[string]bool
}

func newCounter(partition int32) Task {
	return &counter{partition: partition, counts: map[string]int{}, dirty: map[string]bool{}}
}

func (c *counter) Restore(r Record) error {
	switch key := string(r.Key); {
	case key == "in":
		at, err := strconv.ParseInt(string(r.Value), 10, 64)
		c.next = at + 1
		return err
	case key == "due":
		ms, err := strconv.ParseInt(string(r.Value), 10, 64)
		c.due = time.UnixMilli(ms)
		return err
	case strings.HasPrefix(key, "n/") && r.Value == nil:
		delete(c.counts, key)
	case strings.HasPrefix(key, "n/"):
		n, err := strconv.Atoi(string(r.Value))
		c.counts[key] = n
		return err
	case strings.HasPrefix(key, "fired/"):
		c.due = time.Time{}
	}
	return nil
}

func (c *counter) Restored() (int64, error) { return c.next, nil }

func (c *counter) Apply(r Record) error {
	if c.closed {
		return errors.New("applied to a closed task")
	}
	if r.Offset != c.next {
		return fmt.Errorf("input %d, not %d", r.Offset, c.next)
	}
	if string(r.Value) == "poison" {
		return &PoisonError{Reason: "test", Err: errors.New("poison")}
	}
	if wait, ok := strings.CutPrefix(string(r.Value), "wait "); ok {
		d, err := time.ParseDuration(wait)
		if err != nil {
			return err
		}
		c.due = r.Timestamp.Add(d)
		c.changes = append(c.changes, [2][]byte{[]byte("due"), strconv.AppendInt(nil, c.due.UnixMilli(), 10)})
	}
	c.count(r)
	return nil
}

func (c *counter) count(r Record) {
	c.next = r.Offset + 1
	c.changes = append(c.changes, [2][]byte{[]byte("in"), strconv.AppendInt(nil, r.Offset, 10)})
	key := "n/" + string(r.Key)
	c.counts[key]++
	c.dirty[key] = true
}

func (c *counter) Reject(r Record, reason string) error {
	c.changes = append(c.changes, [2][]byte{[]byte("rejected/" + reason), strconv.AppendInt(nil, r.Offset, 10)})
	c.count(r)
	return nil
}

func (c *counter) Due() time.Time { return c.due }

func (c *counter) Advance(now time.Time) error {
	c.changes = append(c.changes, [2][]byte{[]byte("fired/" + c.due.UTC().Format(time.TimeOnly)), []byte(now.UTC().Format(time.TimeOnly))})
	c.due = time.Time{}
	return nil
}

func (c *counter) Outputs(emit func(key, value []byte)) error {
	for _, kv := range c.changes {
		emit(kv[0], kv[1])
	}
	c.changes = nil
	for key := range c.dirty {
		emit([]byte(key), strconv.AppendInt(nil, int64(c.counts[key]), 10))
	}
	clear(c.dirty)
	return nil
}

func (c *counter) Committed() {}

// Live emits one key per call.
func (c *counter) Live() func(emit func(key, value []byte)) (more bool, err error) {
	left := append(slices.Collect(maps.Keys(c.counts)), "in")
	return func(emit func(key, value []byte)) (bool, error) {
		key := left[0]
		n := int64(c.counts[key])
		if left = left[1:]; key == "in" {
			n = c.next - 1
		}
		emit([]byte(key), strconv.AppendInt(nil, n, 10))
		return len(left) > 0, nil
	}
}

func (c *counter) Close() { c.closed = true }
