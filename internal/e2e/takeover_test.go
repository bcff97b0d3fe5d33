package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/processors/verdict"
	"svc/schemas"
)

// witness follows the log of a running system, and records when the change from each input became visible to
// read_committed readers.
type witness struct {
	mu      sync.Mutex
	written map[position]time.Time // time of ingest of each input
	visible map[position]time.Time
	owner   map[position]string // hospital of each input
}

func (s *system) witness(t *testing.T) *witness {
	t.Helper()
	w := &witness{written: map[position]time.Time{}, visible: map[position]time.Time{}, owner: map[position]string{}}
	observations, verdicts := s.prefix+schemas.Observations().Name, s.prefix+schemas.Verdicts().Name
	followTopics(t, s.kafka.address, func(fetches kgo.Fetches) {
		now := time.Now()
		w.mu.Lock()
		defer w.mu.Unlock()
		for iter := fetches.RecordIter(); !iter.Done(); {
			r := iter.Next()
			if r.Topic == observations {
				w.written[position{r.Partition, r.Offset}] = r.Timestamp
			} else if schemas.IsChange(r.Key) {
				c, err := schemas.ChangeCodec.Decode(r.Value)
				if err != nil {
					t.Errorf("change %d:%d: %v", r.Partition, r.Offset, err)
				} else if at := (position{r.Partition, c.Offset}); c.Cause == acuity.CauseIngest && w.visible[at].IsZero() {
					w.visible[at], w.owner[at] = now, string(r.Key)
				}
			}
		}
	}, observations, verdicts)
	return w
}

// longest returns the longest time that a hospital waited for the change from an input that was written after the given
// instant.
func (w *witness) longest(t *testing.T, since time.Time) time.Duration {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	waits := map[string]time.Duration{}
	for at, seen := range w.visible {
		if begun := w.written[at]; !begun.IsZero() && !begun.Before(since.Truncate(time.Millisecond)) {
			waits[w.owner[at]] = max(waits[w.owner[at]], seen.Sub(begun))
		}
	}
	if len(waits) == 0 {
		t.Error("no input was witnessed")
		return 0
	}
	return slices.Max(slices.Collect(maps.Values(waits)))
}

// applied returns an error until each hospital has a change from an input that was written after the given instant.
func (w *witness) applied(since time.Time, partners []*partner) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh := map[string]bool{}
	for at := range w.visible {
		if w.written[at].After(since) {
			fresh[w.owner[at]] = true
		}
	}
	for _, p := range partners {
		if !fresh[p.hospital] {
			return fmt.Errorf("%s waits", p.hospital)
		}
	}
	return nil
}

// patientKafka starts a broker that does not end timed-out transactions, so a reader that waits for the end of an
// open transaction waits forever. The broker has the default backoff between transactions. The test runs in parallel.
func patientKafka(t *testing.T) *server {
	t.Helper()
	kafka, _ := needServers(t)
	if kafka.container == nil {
		t.Skip("needs a broker with settings of its own: run without E2E_KAFKA and E2E_REDIS")
	}
	t.Parallel()
	return startOwnKafka(t, kafka.pool, "KAFKA_ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS=20",
		"KAFKA_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS=3600000")
}

// hasTransaction reports whether a processor has an open transaction at the coordinator.
func (s *system) hasTransaction(t *testing.T, n *node) bool {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.address), kgo.AlwaysRetryEOF())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	id := s.prefix + verdict.Group + "-" + n.name
	described, err := kadm.NewClient(client).DescribeTransactions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return described[id].State == "Ongoing"
}

// freezeInTransaction freezes a processor while it has an open transaction at the coordinator.
func (s *system) freezeInTransaction(t *testing.T, n *node) {
	t.Helper()
	for range 500 {
		n.freeze()
		first := s.hasTransaction(t, n)
		if second := s.hasTransaction(t, n); first && second { // an in-flight request may change the state in between
			return
		}
		n.thaw()
		select {
		case <-time.After(time.Duration(3+time.Now().UnixNano()%7) * time.Millisecond): // varies, so that freezes hit different moments
		case <-t.Context().Done():
		}
	}
	t.Fatalf("%s was never frozen during a transaction: the test proves nothing", n.name)
}

// TestTakeOver kills or freezes a processor, even during a transaction, on a broker that does not end timed-out
// transactions. The other processor takes over the partitions without waiting for the transaction timeout. No input
// is lost or applied twice. The test logs the longest wait.
func TestTakeOver(t *testing.T) {
	kafka := patientKafka(t)
	_, view := needServers(t)
	for name, fault := range map[string]func(t *testing.T, s *system, n *node){
		"kill":   func(_ *testing.T, _ *system, n *node) { n.kill() },
		"freeze": func(_ *testing.T, _ *system, n *node) { n.freeze() },
		"freeze in a transaction": func(t *testing.T, s *system, n *node) {
			t.Helper()
			s.freezeInTransaction(t, n)
		},
		"kill in a transaction": func(t *testing.T, s *system, n *node) {
			t.Helper()
			s.freezeInTransaction(t, n)
			n.kill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSystemOn(t, kafka, view, nil, everyPartition()...)
			first, other := s.processor("p1"), s.processor("p2")
			w := s.witness(t)
			l := feed(t, 100, s.partners...)
			l.awaitMore(t, 100)
			for _, n := range []*node{first, other} {
				<-n.says(restored)
			}
			l.awaitMore(t, 100)
			calm := time.Now()
			l.awaitMore(t, 50)
			fault(t, s, first)
			at := time.Now()
			eventually(t, 2*time.Minute, func() error { return w.applied(at, s.partners) })
			taken := time.Since(at)
			l.awaitMore(t, 50)
			if s.hasTransaction(t, first) { // the broker does not end it, so only the other processor can
				t.Error("the other processor has not ended the transaction")
			}
			if first.cmd.ProcessState == nil {
				first.thaw() // the frozen process must not complete its transaction
			} else {
				s.processor("p1")
			}
			l.awaitMore(t, 100)
			s.verify(l.finish())
			t.Logf("%s: all hospitals applied after %.1f s, longest wait %.1f s", name, taken.Seconds(), w.longest(t, calm).Seconds())
		})
	}
}

// TestRollingUpdate restarts two processors in succession under load, and logs the longest wait.
func TestRollingUpdate(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"they keep their partitions": nil, "they leave": {"SVC_LEAVE=true"}} {
		t.Run(name, func(t *testing.T) {
			s := startSystemWith(t, env, everyPartition()...)
			nodes := []*node{s.processor("p1"), s.processor("p2")}
			w := s.witness(t)
			l := feed(t, 100, s.partners...)
			l.awaitMore(t, 100)
			for _, n := range nodes {
				<-n.says(restored)
			}
			l.awaitMore(t, 100)
			calm := time.Now()
			for i, n := range nodes {
				n.stop()
				nodes[i] = s.processor(n.name)
				<-nodes[i].says(restored)
				l.awaitMore(t, 100)
			}
			s.verify(l.finish())
			t.Logf("%s: longest wait %.2f s", name, w.longest(t, calm).Seconds())
		})
	}
}

// TestBrokersReturn kills the broker for SVC_AWAY (20 s). After the broker has restarted, inputs from every hospital
// are applied again, although no process of svc is restarted. The test logs how long that takes.
func TestBrokersReturn(t *testing.T) {
	away, err := time.ParseDuration(cmp.Or(os.Getenv("SVC_AWAY"), "20s"))
	if err != nil {
		t.Fatal("SVC_AWAY:", err)
	}
	kafka := patientKafka(t)
	_, view := needServers(t)
	s := startSystemOn(t, kafka, view, nil, everyPartition()...)
	nodes := []*node{s.processor("p1"), s.processor("p2")}
	w := s.witness(t)
	l := feed(t, 100, s.partners...)
	l.awaitMore(t, 100)
	for _, n := range nodes {
		<-n.says(restored)
	}
	s.kafka.stop(t)
	<-after(away)
	s.kafka.start(t)
	at := time.Now()
	eventually(t, 2*time.Minute, func() error { return w.applied(at, s.partners) })
	t.Logf("brokers away for %v: all hospitals applied %.1f s after their return", away, time.Since(at).Seconds())
	l.awaitMore(t, 100)
	s.verify(l.finish())
}
