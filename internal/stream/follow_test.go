package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// run starts a function, and returns a function that stops it.
func run(t *testing.T, long func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- long(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ended with %v", err)
		}
	}
}

func decodeInput(r Record) (string, int64, bool) {
	if string(r.Key) != "in" {
		return "", 0, false
	}
	at, err := strconv.ParseInt(string(r.Value), 10, 64)
	return string(r.Value), at, err == nil
}

func TestSenderLearnsThatItsInputIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.send(9)
		defer func(stop func() error) {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}(r.process(r.cluster, Config{}))
		r.await("applied", 9, r.applied)
		applied := NewApplied(decodeInput)
		tail := r.cluster.Tail(logTopic, applied.Add)
		defer run(t, tail.Run)()
		<-tail.Ready()
		in := r.cluster.Publisher(inTopic)
		var wait sync.WaitGroup
		for i := range 300 {
			wait.Go(func() {
				at, err := in.Append(t.Context(), []byte("k"), []byte("add"), int32(i%parts))
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 0 {
					time.Sleep(time.Second) // the change arrives long before Wait is called
				}
				change, known, err := applied.Wait(t.Context(), at)
				if err != nil || !known || change != strconv.FormatInt(at.Offset, 10) {
					t.Errorf("input %v: %q, %v, %v", at, change, known, err)
				}
			})
		}
		wait.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, _, err := applied.Wait(ctx, Position{Partition: 0, Offset: 1 << 30}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an input that never comes: %v", err)
		}
		if n := len(applied.parts[0].queue); n != 0 {
			t.Errorf("%d waiters are left", n)
		}
	})
}

func TestWaitersAreReleasedByALaterInput(t *testing.T) {
	a := NewApplied(decodeInput)
	see := func(at int64) {
		a.Add(Record{Key: []byte("in"), Value: strconv.AppendInt(nil, at, 10)})
	}
	see(4)
	see(4) // a timer caused this change: it names the last input again, and does not count as another input
	var wait sync.WaitGroup
	var known, passed atomic.Int64
	for _, at := range []int64{5, 5, 6, 7} {
		wait.Go(func() {
			_, exact, err := a.Wait(t.Context(), Position{Offset: at})
			if err != nil {
				t.Error(err)
			}
			if exact {
				known.Add(1)
			} else {
				passed.Add(1)
			}
		})
	}
	for waiting := 0; waiting < 4; {
		a.mu.Lock()
		waiting = len(a.part(0).queue)
		a.mu.Unlock()
	}
	see(5)
	see(7)
	wait.Wait()
	if known.Load() != 3 || passed.Load() != 1 {
		t.Errorf("%d known, %d passed", known.Load(), passed.Load())
	}
	for i := range int64(2 * changesKept) {
		see(8 + i)
	}
	if _, exact, err := a.Wait(t.Context(), Position{Offset: 7}); exact || err != nil {
		t.Errorf("an old change is still known: %v %v", exact, err)
	}
	if change, exact, _ := a.Wait(t.Context(), Position{Offset: 8 + changesKept}); !exact || change != strconv.Itoa(8+changesKept) {
		t.Errorf("a late change is lost: %q", change)
	}
}

func TestTableShowsWhatWasPutEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		if err := r.cluster.Ensure(t.Context(), Topic{Name: "settings", Partitions: 2, Compact: true}); err != nil {
			t.Fatal(err)
		}
		partition := func(key string) int32 { return int32(len(key) % 2) }
		here := r.cluster.Table("settings", partition)
		stop := run(t, here.Run)
		<-here.Ready()
		for i := range 20 {
			if err := here.Put(t.Context(), fmt.Sprintf("h/key/%0*d", i%3, i), []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := here.Put(t.Context(), "h/key/7", nil); err != nil {
			t.Fatal(err)
		}
		other := r.dial()
		defer other.Close()
		there := other.Table("settings", partition)
		var changes []string
		there.OnChange(func(key string, value []byte) { changes = append(changes, fmt.Sprintf("%s=%v", key, value)) })
		defer run(t, there.Run)()
		<-there.Ready()
		var keys []string
		there.Range("h/key/", func(key string, _ []byte) bool { keys = append(keys, key); return true })
		if _, ok := there.Get("h/key/7"); ok || len(keys) != 19 {
			t.Errorf("7 is there: %v; %v", ok, keys)
		}
		if len(changes) != 21 {
			t.Errorf("%d changes: %v", len(changes), changes)
		}
		began := time.Now()
		if err := here.Put(t.Context(), "h/key/8", nil); err != nil {
			t.Fatal(err)
		}
		if _, ok := here.Get("h/key/8"); ok {
			t.Error("revoked, and still shown here")
		}
		time.Sleep(time.Second - time.Since(began))
		if _, ok := there.Get("h/key/8"); ok {
			t.Error("revoked, and still shown there")
		}
		stop()
	})
}

func TestAppendFailsAtOnceWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		cluster, wire := r.wired()
		defer cluster.Close()
		p := cluster.Publisher(inTopic)
		if at, err := p.Append(t.Context(), []byte("k"), []byte("add"), 2); err != nil || at != (Position{Partition: 2, Offset: 0}) {
			t.Fatalf("%v, %v", at, err)
		}
		wire.pull()
		began := time.Now()
		if _, err := p.Append(t.Context(), []byte("k"), []byte("add"), 2); !errors.Is(err, ErrAway) {
			t.Fatalf("got %v", err)
		}
		if took := time.Since(began); took > appendTimeout {
			t.Errorf("the first refusal takes %s", took)
		}
		began = time.Now()
		if _, err := p.Append(t.Context(), []byte("k"), []byte("add"), 2); !errors.Is(err, ErrAway) {
			t.Fatalf("got %v", err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("a known absence takes %s", took)
		}
		if cluster.Away().IsZero() {
			t.Error("not away")
		}
		wire.plug()
		time.Sleep(time.Second)
		if !cluster.Away().IsZero() {
			t.Error("still away")
		}
		if _, err := p.Append(t.Context(), []byte("k"), []byte("add"), 2); err != nil {
			t.Errorf("after the return: %v", err)
		}
	})
}

// A process that only follows a topic, and sends nothing, also detects that the broker is lost.
func TestAwayIsSeenWithoutAppending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		cluster, wire := r.wired()
		defer cluster.Close()
		tail := cluster.Tail(inTopic, func(Record) {})
		stop := run(t, tail.Run)
		<-tail.Ready()
		time.Sleep(90 * time.Second) // until no request on the process's other connections is pending
		wire.pull()
		time.Sleep(2 * time.Second)
		if cluster.Away().IsZero() {
			t.Error("not away, two seconds after the broker went")
		}
		wire.plug()
		time.Sleep(2 * time.Second)
		if !cluster.Away().IsZero() {
			t.Error("still away")
		}
		stop()
	})
}

// If the broker refuses every append with an error that the client retries, Append returns ErrAway within 5 s.
func TestAppendFailsWithinFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		h := r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: -1})
		began := time.Now()
		_, err := r.cluster.Publisher(inTopic).Append(t.Context(), []byte("k"), []byte("add"), 0)
		if took := time.Since(began); !errors.Is(err, ErrAway) || took > appendTimeout {
			t.Errorf("%v after %s", err, took)
		}
		h.Remove()
	})
}

func TestAppendTellsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		_, err := r.cluster.Publisher(inTopic).Append(t.Context(), []byte("k"), make([]byte, 9<<20), 0)
		if !errors.Is(err, ErrTooLarge) || errors.Is(err, ErrAway) {
			t.Errorf("got %v", err)
		}
		if err := r.cluster.Ensure(t.Context(), Topic{Name: "large", Partitions: 1, MaxMessageBytes: 8 << 20}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.cluster.Publisher("large").Append(t.Context(), []byte("k"), make([]byte, 7<<20), 0); err != nil {
			t.Errorf("what the topic allows: %v", err)
		}
	})
}
