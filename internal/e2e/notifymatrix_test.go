package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/internal/outbound"
	"svc/schemas"
	"svc/schemas/ledger"
)

// The tests in this file cover the Kafka rows of the notifier's failure matrix on a real Kafka.
// notifier/matrix_test.go covers the same rows on an in-memory ledger with a simulated clock.

// everyPartition returns hospital ids, one for each partition.
func everyPartition() (hospitals []string) {
	taken := map[int32]bool{}
	for n := 0; len(taken) < partitions; n++ {
		name := fmt.Sprintf("unit%d", n)
		if at := schemas.Partition([]byte(name), partitions); !taken[at] {
			taken[at] = true
			hospitals = append(hospitals, name)
		}
	}
	return hospitals
}

// flapLevels changes the level of each unit to red and back, n times.
func flapLevels(t *testing.T, n int, partners ...*partner) {
	t.Helper()
	feeds := [][2]string{{"census", `{"totalRooms":2,"rooms":[{"roomId":1,"area":"L&D","status":"occupied","primaryFactor":"labor-standard"},{"roomId":2,"status":"empty"}]}`}}
	for range n {
		feeds = append(feeds, [2]string{"staffing", `{"nursesOnDuty":9,"callStaffAvailable":true}`}, [2]string{"staffing", `{"nursesOnDuty":0,"callStaffAvailable":false}`})
	}
	for _, p := range partners {
		for _, feed := range feeds {
			if a := p.post(t, feed[0], feed[1]); a.status != http.StatusOK {
				t.Fatalf("%s: %d %s", feed[0], a.status, a.raw)
			}
		}
	}
}

// watched starts a svc notify, and returns its private address.
func (s *system) watched(instance string) (n *node, private string) {
	s.t.Helper()
	private = "127.0.0.1:" + mustFreePort(s.t)
	n = start(s.t, instance, []string{"notify", "--instance", instance, "--private-listen", private}, s.env...)
	private = "http://" + private
	n.await(private + "/readyz")
	return n, private
}

// owns waits until a notifier has logged the given number of restored partitions.
func (n *node) owns(partitions int) {
	n.t.Helper()
	eventually(n.t, time.Minute, func() error {
		if got := strings.Count(n.logged(), "partition restored"); got < partitions {
			return fmt.Errorf("%s has taken up %d of %d partitions", n.name, got, partitions)
		}
		return nil
	})
}

// TestMatrixKafkaAway: while Kafka is unavailable, each queue sends at most eight more events, then all queues stop,
// and the process is not ready. Once Kafka is back, the remaining events are sent in order.
func TestMatrixKafkaAway(t *testing.T) {
	const most = 8
	kafka, redis := ownKafka(t)
	s, p := startNotifiedOn(t, kafka, redis, "north", "south")
	s.processor("p1")
	n, private := s.watched("n1")
	paths := []string{"/north/a", "/north/b", "/south/a", "/south/b"}
	open := p.hold()
	flapLevels(t, 10, s.partners...)
	eventually(t, time.Minute, func() error {
		waiting, err := figure(private, `svc_notify_waiting{channel="webhook"}`)
		if err == nil && waiting < 2*most*float64(len(paths)) {
			err = fmt.Errorf("%v wait", waiting)
		}
		return err
	})

	tried := func() (all int) {
		for _, path := range paths {
			all += p.requests(path)
		}
		return all
	}
	was := tried()
	eventually(t, time.Minute, func() error { // until a retry is in flight
		if tried() == was {
			return errors.New("nothing is tried again")
		}
		return nil
	})
	before := map[string]int{}
	for _, path := range paths {
		before[path] = p.requests(path)
	}
	restored := func() int { return strings.Count(n.logged(), "partition restored") }
	owned := restored()
	s.kafka.pause(t) // not killed, because a killed broker may end the group's session before it accepts the in-flight requests
	open()
	eventually(t, time.Minute, func() error { // until no queue is allowed to send more, or the group session has expired
		owned, err := figure(private, "svc_notify_partitions")
		if err != nil || owned == 0 {
			return err
		}
		for _, path := range paths {
			if n := len(p.at(path)); n < most { // the first of these events was in flight when Kafka stopped
				return fmt.Errorf("%s has %d", path, n)
			}
		}
		return nil
	})
	eventually(t, 30*time.Second, func() error {
		if err := ready(private + "/readyz"); err == nil || !strings.Contains(err.Error(), "kafka") {
			return fmt.Errorf("readiness without Kafka: %w", err)
		}
		return nil
	})
	eventually(t, 2*time.Minute, func() error { // within this time, a queue that does not stop would have sent everything
		owned, err := figure(private, "svc_notify_partitions")
		if err == nil && owned > 0 {
			err = fmt.Errorf("%v partitions are owned without Kafka", owned)
		}
		return err
	})
	accepted := 0
	for _, path := range paths {
		accepted += len(p.at(path))
		if more := p.requests(path) - before[path]; more > most {
			t.Errorf("%s: %d more while Kafka is away", path, more)
		}
	}
	if accepted == 0 {
		t.Error("nothing was in flight when Kafka became unavailable: the test proves nothing")
	}
	s.kafka.unpause(t)
	s.kafka.stop(t)
	s.kafka.start(t)
	events, repeats := allReceived(t, s, p, 2*time.Minute, "north", "south")
	// A queue may repeat the events that it sent while Kafka was down, and those that it sent before the group
	// reassigned its partition. After a broker starts, the group reassigns the partitions once or twice.
	times := (restored() - owned + partitions - 1) / partitions
	t.Logf("%d of %d events came again, the partitions were taken up %d times", repeats, events, times)
	if bound := (most + 1) * len(paths) * (times + 1); repeats > bound {
		t.Errorf("want at most %d repeats", bound)
	}
	eventually(t, 30*time.Second, func() error { return ready(private + "/readyz") })
	n.stop()
}

// TestMatrixRebalance: a revoked partition is drained. A request that is answered within five
// seconds is not repeated. A request that hangs is interrupted, does not count as an attempt, and
// is sent by the next owner.
func TestMatrixRebalance(t *testing.T) {
	needServers(t)
	t.Parallel()
	hospitals := everyPartition()
	s, p := startNotified(t, hospitals...)
	s.processor("p1")
	n1, _ := s.watched("n1")
	n1.owns(partitions)
	p.answers(func(r *http.Request) int {
		select { // responds slowly, so that every queue has a request in flight when its partition is revoked
		case <-r.Context().Done():
		case <-time.After(700 * time.Millisecond):
		}
		return http.StatusNoContent
	})
	flapLevels(t, 4, s.partners...)
	n2, _ := s.watched("n2")
	n2.owns(partitions / 2)
	if log := n1.logged() + n2.logged(); strings.Contains(log, `"class":"interrupted"`) {
		t.Error("a request that takes 0.7 s was interrupted")
	}
	if _, repeats := allReceived(t, s, p, time.Minute, hospitals...); repeats > 0 {
		t.Errorf("%d events came again", repeats)
	}

	open := p.hold()
	flapLevels(t, 1, s.partners...)
	under := func() (n int) {
		for _, h := range hospitals {
			n += p.requests("/"+h+"/a") - len(p.at("/"+h+"/a"))
		}
		return n
	}
	eventually(t, 30*time.Second, func() error {
		if n := under(); n < partitions {
			return fmt.Errorf("%d requests under way", n)
		}
		return nil
	})
	n3, _ := s.watched("n3")
	n3.owns(partitions / 3)
	if log := n1.logged() + n2.logged(); !strings.Contains(log, `"class":"interrupted"`) {
		t.Error("what hangs was not interrupted")
	}
	open()
	if _, repeats := allReceived(t, s, p, time.Minute, hospitals...); repeats > 0 {
		t.Errorf("%d events came again", repeats)
	}
	if log := n3.logged(); !strings.Contains(log, `"attempt":1`) || strings.Contains(log, `"attempt":2`) {
		t.Error("an interrupted attempt counts")
	}
	for _, n := range []*node{n1, n2, n3} {
		n.stop()
	}
}

// TestMatrixLateWriter: a frozen notifier continues after another notifier has taken over its partitions. Its late
// entries rank below those of the new owner, which have a later term. Its refused attempts do not delay an endpoint
// that has accepted deliveries since then.
func TestMatrixLateWriter(t *testing.T) {
	needServers(t)
	t.Parallel()
	hospitals := everyPartition()
	s, p := startNotified(t, hospitals...)
	s.processor("p1")
	n1, _ := s.watched("n1")
	n1.owns(partitions)
	open := p.holdAnd(http.StatusTooManyRequests)
	flapLevels(t, 2, s.partners...)
	eventually(t, 30*time.Second, func() error {
		for _, h := range hospitals {
			if p.requests("/"+h+"/a") == 0 || p.requests("/"+h+"/b") == 0 {
				return errors.New("a lane has no request under way")
			}
		}
		return nil
	})
	n1.freeze()
	frozen := time.Now()
	open() // the frozen notifier reads these answers once it is thawed
	n2 := s.notifier("n2")
	n2.owns(partitions) // once the first notifier's session has expired
	t.Logf("another notifier owns all partitions %.1f s after the first was frozen, its start included", time.Since(frozen).Seconds())
	flapLevels(t, 2, s.partners...)
	events, _ := allReceived(t, s, p, time.Minute, hospitals...)
	n1.thaw()
	eventually(t, 30*time.Second, func() error {
		if delivered, _ := s.outcomes(t); delivered < 2*events { // a delivery without a recorded outcome would correctly be repeated
			return fmt.Errorf("%d of %d deliveries are noted", delivered, 2*events)
		}
		return nil
	})
	// The notifier logs the loss of its partitions before or after its late write, depending on the order of the
	// responses, so either one is enough here. A test of package notifier makes sure that the late write happens.
	lost := func() bool { return strings.Contains(n1.logged(), `"msg":"partitions lost to another process"`) }
	eventually(t, 30*time.Second, func() error {
		if _, outranked := s.outcomes(t); outranked == 0 && !lost() {
			return errors.New("the late one has neither written nor learnt that it is late")
		}
		return nil
	})
	n1.kill()
	n2.kill()
	n3 := s.notifier("n3")
	n3.owns(partitions)
	_, before := allReceived(t, s, p, time.Minute, hospitals...)
	flapLevels(t, 1, s.partners...) // these events follow all events that the next notifier may have repeated
	if _, repeats := allReceived(t, s, p, time.Minute, hospitals...); repeats > before {
		t.Errorf("%d events came again after the next restore", repeats-before)
	}
	n3.stop()
}

// outcomes returns how many deliveries have the state Delivered in the ledger, and how many outcomes follow a record
// with a later term in their partition.
func (s *system) outcomes(t *testing.T) (delivered, outranked int) {
	t.Helper()
	gone := map[string]bool{}
	latest := map[int32]int64{}
	readTopic(t, s.kafka.address, s.prefix+schemas.Deliveries().Name, func(r *kgo.Record) {
		entry, err := ledger.Decode(r.Key, r.Value)
		if err != nil {
			return // a restore marker
		}
		var term int64
		switch e := entry.(type) {
		case *outbound.Event:
			term = e.Term
		case *outbound.EndpointQueue:
			term = e.Term
		case *outbound.Entry:
			if term = e.Term; term < latest[r.Partition] {
				outranked++
			}
			if e.Delivery.State == outbound.Delivered {
				gone[e.Delivery.ID] = true
			}
		}
		latest[r.Partition] = max(latest[r.Partition], term)
	})
	return len(gone), outranked
}
