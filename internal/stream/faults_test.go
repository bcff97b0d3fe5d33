package stream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cable is a network that can be disconnected, as if the process had died.
type cable struct {
	net *kfake.VirtualNetwork

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (c *cable) dial(ctx context.Context, network, host string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errors.New("cut")
	}
	conn, err := c.net.DialContext(ctx, network, host)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cable) pull() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *cable) plug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}

func (r *rig) wired() (*Cluster, *cable) {
	r.t.Helper()
	w := &cable{net: r.net}
	c, err := Dial(r.t.Context(), Options{Brokers: []string{"localhost:9092"}, Log: r.log, Dial: w.dial})
	if err != nil {
		r.t.Fatal(err)
	}
	return c, w
}

func transactional(req kmsg.Request) bool {
	p, ok := req.(*kmsg.ProduceRequest)
	return ok && p.TransactionID != nil
}

// Each fault occurs several times while inputs arrive. Regardless of its effect on the session,
// every input is applied exactly once.
func TestFaultsDoNotLoseOrRepeat(t *testing.T) {
	faults := map[string]kfake.Fault{
		"offset commit refused":    {Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.IllegalGeneration, Count: 3},
		"coordinator loads":        {Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.CoordinatorLoadInProgress, Count: 5},
		"member unknown":           {Keys: []kmsg.Key{kmsg.TxnOffsetCommit, kmsg.Heartbeat}, Err: kerr.UnknownMemberID, Count: 4},
		"end unclear":              {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.UnknownServerError, Count: 3, TopLevel: true},
		"end timed out, but done":  {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.RequestTimedOut, Count: 3, TopLevel: true},
		"end fenced":               {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.InvalidProducerEpoch, Count: 3, TopLevel: true},
		"transaction state":        {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.InvalidTxnState, Count: 2, TopLevel: true},
		"produce refused":          {Keys: []kmsg.Key{kmsg.Produce}, When: transactional, Err: kerr.InvalidTxnState, Count: 3},
		"produce appended, but no": {Keys: []kmsg.Key{kmsg.Produce}, When: transactional, Err: kerr.NotEnoughReplicasAfterAppend, Count: 3},
		"too large":                {Keys: []kmsg.Key{kmsg.Produce}, When: transactional, Err: kerr.MessageTooLarge, Count: 3},
		"producer id":              {Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.CoordinatorNotAvailable, Count: 3, TopLevel: true},
		"fetch refused":            {Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 5},
		"offset fetch":             {Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.UnstableOffsetCommit, Count: 3},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				stop := r.process(r.cluster, Config{})
				r.send(15)
				r.await("applied", 15, r.applied)
				h := r.broker.Fault(fault)
				defer h.Remove()
				r.send(60)
				r.await("applied", 75, r.applied)
				r.send(15)
				r.await("applied", 90, r.applied)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				r.exact(90)
			})
		})
	}
}

// If the coordinator of a transaction fails, another broker takes over after several seconds. The session survives this,
// because a new one would have to restore all partitions.
func TestSessionSurvivesItsCoordinators(t *testing.T) {
	for name, fault := range map[string]kfake.Fault{
		"group":       {Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.NotCoordinator, Count: 24},
		"transaction": {Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.NotCoordinator, Count: 24, TopLevel: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				var stats Stats
				stop := r.process(r.cluster, Config{Stats: &stats})
				r.send(15)
				r.await("applied", 15, r.applied)
				h := r.broker.Fault(fault)
				defer h.Remove()
				begun := time.Now()
				r.send(15)
				r.await("applied", 30, r.applied)
				if took := time.Since(begun); took < 4*time.Second {
					t.Errorf("the coordinator failed for only %v; want more than the 4 s of the default retries", took)
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				checkOneSession(t, &stats)
				r.exact(30)
			})
		})
	}
}

// checkOneSession checks that the process kept its session, and so did not restore its three partitions again.
func checkOneSession(t *testing.T, stats *Stats) {
	t.Helper()
	if n := stats.Sessions.Load(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if n := stats.Restores.Load(); n != 3 {
		t.Errorf("%d restores of 3 partitions", n)
	}
}

// A member keeps its partitions while a group has no coordinator, because its next coordinator gives it a new session.
func TestSessionSurvivesFailedHeartbeats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var stats Stats
		stop := r.process(r.cluster, Config{Stats: &stats})
		r.send(15)
		r.await("applied", 15, r.applied)
		// The test sends the member's heartbeats itself, so that its session does not expire.
		var heartbeat atomic.Pointer[kmsg.HeartbeatRequest]
		h := r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.NotCoordinator, Count: -1, When: func(req kmsg.Request) bool {
			beat, ok := req.(*kmsg.HeartbeatRequest)
			if !ok || beat.InstanceID == nil {
				return false
			}
			heartbeat.Store(beat)
			return true
		}})
		for begun := time.Now(); time.Since(begun) < 12*time.Second; {
			time.Sleep(time.Second)
			beat := *heartbeat.Load()
			beat.InstanceID = nil
			if _, err := beat.RequestWith(t.Context(), r.cluster.client); err != nil {
				t.Fatal(err)
			}
		}
		h.Remove()
		r.send(15)
		r.await("applied", 30, r.applied)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		checkOneSession(t, &stats)
		r.exact(30)
	})
}

// TestErrorsOfAPoll: of the transient errors of a partition, only the last is logged.
func TestErrorsOfAPoll(t *testing.T) {
	said := make(spoken, 10)
	m := membership{log: slog.New(slog.NewTextHandler(said, nil))}
	fetches := slices.Concat(kgo.NewErrFetch(errors.New("first")), kgo.NewErrFetch(errors.New("second")), kgo.NewErrFetch(errors.New("last")))
	if err := m.checkErrors(t.Context(), fetches); err != nil {
		t.Fatal(err)
	}
	if got := <-said; !strings.Contains(got, "error=last") {
		t.Error(got)
	}
	if len(said) != 0 {
		t.Errorf("also logged: %s", <-said)
	}
}

// A process can stop while no broker coordinates its transactions, although the client waits for a producer id even then.
func TestEndsWithoutCoordinator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		asked := make(chan struct{}, 100)
		r.broker.ControlKey(int16(kmsg.InitProducerID), func(req kmsg.Request) (kmsg.Response, error, bool) {
			r.broker.KeepControl()
			select {
			case asked <- struct{}{}:
			default:
			}
			resp, ok := req.ResponseKind().(*kmsg.InitProducerIDResponse)
			if ok {
				resp.ErrorCode = kerr.NotCoordinator.Code
			}
			return resp, nil, ok
		})
		stop := r.process(r.cluster, Config{})
		<-asked
		begun := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 10*time.Second { // then the process would exit without waiting any longer
			t.Errorf("the end took %v", took)
		}
	})
}

// A restore begins with barriers. If the broker is lost before it has acknowledged them, appendBarriers returns when
// its context ends. If it waited for the acknowledgment, a process could not be stopped while Kafka is unavailable.
func TestRestoreEndsWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		cluster, wire := r.wired()
		defer cluster.Close()
		r.broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			wire.pull()
			return nil, nil, false
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if _, err := cluster.appendBarriers(ctx, logTopic, []int32{0, 1, 2}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ends with %v", err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("ends after %s", took)
		}
	})
}

// A new leader does not know the end of its log at first. The restore waits for it, and the member does not rejoin the
// group.
func TestRestoreWaitsForTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.send(5)
		unknown := r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: inTopic, Err: kerr.OffsetNotAvailable, Count: 5})
		defer unknown.Remove()
		joins := r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SyncGroup}, Observe: true, Count: -1})
		defer joins.Remove()
		stop := r.process(r.cluster, Config{})
		r.await("applied", 5, r.applied)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if unknown.Hits() != 5 || joins.Hits() != 1 {
			t.Errorf("the end was unknown %d times, and the member joined %d times", unknown.Hits(), joins.Hits())
		}
	})
}

func TestKilledInstanceIsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		total := 0
		for range 8 {
			cluster, wire := r.wired()
			stop := r.process(cluster, Config{})
			r.send(20)
			total += 20
			time.Sleep(time.Duration(total%7) * 3 * time.Millisecond)
			wire.pull()
			stopped := make(chan struct{})
			go func() {
				_ = stop() //nolint:errcheck // any result is acceptable
				cluster.Close()
				close(stopped)
			}()
			defer func() { <-stopped }()
		}
		stop := r.process(r.cluster, Config{})
		r.await("applied", int64(total), r.applied)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.exact(total)
	})
}

func TestInstancesShareAndTakeOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var one, two Stats
		first := r.process(r.cluster, Config{Instance: "one", Stats: &one})
		r.send(15)
		r.await("applied", 15, r.applied)
		other, wire := r.wired()
		second := r.process(other, Config{Instance: "two", Stats: &two})
		total := 15
		for two.Partitions.Load() == 0 {
			r.send(3)
			total += 3
			time.Sleep(50 * time.Millisecond)
		}
		r.await("applied", int64(total), r.applied)
		r.await("a partition given up", -2, func() int64 { return -one.Partitions.Load() })
		if n := one.Partitions.Load() + two.Partitions.Load(); n != parts {
			t.Fatalf("%d partitions owned by two", n)
		}
		// The second instance dies, and the first gets all partitions after the session timeout.
		wire.pull()
		r.send(30)
		total += 30
		r.await("applied", int64(total), r.applied)
		if n := one.Partitions.Load(); n != parts {
			t.Fatalf("the survivor owns %d", n)
		}
		_ = second() //nolint:errcheck // any result is acceptable
		other.Close()
		// A third instance joins and leaves: the partitions are reassigned at once.
		third := r.dial()
		var three Stats
		leave := r.process(third, Config{Instance: "three", Leave: func() bool { return true }, Stats: &three})
		r.await("partitions of the third", 1, three.Partitions.Load)
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		third.Close()
		began := time.Now()
		r.await("partitions of the first", parts, one.Partitions.Load)
		if took := time.Since(began); took > 5*time.Second {
			t.Fatalf("taken back after %s", took)
		}
		r.send(15)
		total += 15
		r.await("applied", int64(total), r.applied)
		if err := first(); err != nil {
			t.Fatal(err)
		}
		r.exact(total)
	})
}

// If two processes have the same instance name, exactly one of them ends.
func TestSecondProcessOfTheSameNameIsFenced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var one, two Stats
		ended := make(chan error, 2)
		start := func(c *Cluster, stats *Stats) {
			cfg := Config{Group: "g", Instance: "one", Input: inTopic, Changelog: logTopic, NewTask: newCounter, Stats: stats}
			go func() { ended <- c.Process(ctx, cfg) }()
		}
		start(r.cluster, &one)
		r.await("partitions", parts, one.Partitions.Load)
		other := r.dial()
		defer other.Close()
		start(other, &two)
		r.send(9)
		if err := <-ended; !errors.Is(err, ErrFenced) {
			t.Fatalf("the first to end does with %v", err)
		}
		r.await("applied", 9, r.applied)
		cancel()
		if err := <-ended; err != nil {
			t.Fatalf("the other ends with %v", err)
		}
		r.exact(9)
	})
}

// A restore waits for another client's open transaction, and applies the records that the client commits.
func TestRestoreWaitsForOpenTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.send(3)
		cl, err := kgo.NewClient(r.cluster.with(kgo.TransactionalID("other"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		// The other instance has written the results of the input with offset 0 of partition 1, but has not committed
		// them yet.
		for _, kv := range [][2]string{{"in", "0"}, {"n/k1", "1"}} {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: logTopic, Partition: 1, Key: []byte(kv[0]), Value: []byte(kv[1])}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		var stats Stats
		stop := r.process(r.cluster, Config{Stats: &stats})
		time.Sleep(5 * time.Second)
		if n := stats.Restores.Load(); n != 0 {
			t.Fatalf("%d partitions restored past an open transaction", n)
		}
		if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		r.await("applied", 3, r.applied)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.exact(3)
	})
}

func TestMissingInputStopsWithAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.send(9)
		if err := r.broker.DeleteRecords(inTopic, 1, 2); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			done <- r.cluster.Process(t.Context(), Config{Group: "g", Instance: "one", Input: inTopic, Changelog: logTopic, NewTask: newCounter})
		}()
		if err := <-done; !errors.Is(err, errAlarm) {
			t.Fatalf("got %v, not an alarm", err)
		}
	})
}
