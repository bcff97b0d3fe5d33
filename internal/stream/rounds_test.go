package stream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// slow is what produce requests meet.
type slow struct {
	each   atomic.Int64
	mu     sync.Mutex
	rounds map[int64]bool // by when their records were handed to the client, in ms
}

// slowly lets each produce request take so long, and tells the rounds apart: of one
// the client makes a request, or several if it begins to send before it has all.
func (r *rig) slowly(each time.Duration) *slow {
	s := &slow{rounds: map[int64]bool{}}
	s.each.Store(int64(each))
	r.broker.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		r.broker.KeepControl()
		s.see(req.(*kmsg.ProduceRequest)) //nolint:errcheck // of that key
		if each := s.each.Load(); each > 0 {
			r.broker.SleepControl(func() { time.Sleep(time.Duration(each)) })
		}
		return nil, nil, false
	})
	return s
}

func (s *slow) see(req *kmsg.ProduceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			var batch kmsg.RecordBatch
			if err := batch.ReadFrom(p.Records); err == nil {
				s.rounds[batch.FirstTimestamp] = true
			}
		}
	}
}

// What comes while a request is under way goes with the next one, all of it, in
// whatever partitions.
func TestAppendsGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		p := r.cluster.Publisher(inTopic)
		r.send(parts) // the leaders are known
		requests := r.slowly(10 * time.Millisecond)
		const senders, each = 32, 10
		var all sync.WaitGroup
		var mu sync.Mutex
		stored := map[Position]bool{}
		for n := range senders {
			all.Go(func() {
				for range each {
					at, err := p.Append(t.Context(), []byte("k"), []byte("add"), int32(n%parts))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					stored[at] = true
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if len(stored) != senders*each {
			t.Errorf("%d positions", len(stored))
		}
		// The first record goes alone. Then all senders go with each round, also those
		// whose last record has come back only with the round before.
		requests.mu.Lock()
		defer requests.mu.Unlock()
		if n := len(requests.rounds); n < each || n > each+2 {
			t.Errorf("%d rounds for %d senders, each %d times", n, senders, each)
		}
	})
}

// A round waits for those who came with the one before, but not for long: some have
// nothing more to send. Who is alone never waits.
func TestARoundDoesNotWaitForThoseWhoStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		p := r.cluster.Publisher(inTopic)
		r.send(parts) // the leaders are known
		const each = 4 * time.Millisecond
		r.slowly(each)
		took := func() time.Duration {
			began := time.Now()
			if _, err := p.Append(t.Context(), nil, []byte("add"), 0); err != nil {
				t.Error(err)
			}
			return time.Since(began)
		}
		for range 3 {
			if alone := took(); alone != each {
				t.Errorf("%v for one that is alone", alone)
			}
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { took() })
		}
		all.Wait()
		// The round before took one append or, if it waited for its leader, two.
		if next := took(); next <= each || next > each+2*each/gatherPart {
			t.Errorf("%v where others do not come again", next)
		}
		if after := took(); after != each {
			t.Errorf("%v for one that is alone again", after)
		}
	})
}

// Who waits for a round that does not end is told in time, and so is who waits for
// no longer; nothing is left behind when the broker answers again.
func TestARoundThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		p := r.cluster.Publisher(inTopic)
		r.send(parts)
		broker := r.slowly(time.Minute)
		defer time.Sleep(time.Minute) // virtual, for what hangs in the broker
		var all sync.WaitGroup
		began := time.Now()
		for n := range 5 {
			all.Go(func() {
				if _, err := p.Append(t.Context(), nil, []byte("x"), int32(n%parts)); !errors.Is(err, ErrAway) {
					t.Errorf("%v, want away", err)
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Append(ctx, nil, []byte("x"), 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		all.Wait()
		if took := time.Since(began); took > appendTimeout+time.Second {
			t.Errorf("told after %v", took)
		}
		broker.each.Store(0)
		for range 1000 {
			if _, err := p.Append(t.Context(), nil, []byte("x"), 0); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond) // virtual: until the scout and the client have seen it
		}
		t.Error("nothing is stored any more")
	})
}
