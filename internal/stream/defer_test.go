package stream

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// shower is a task that shows its state to others, and may hold it back. Each
// transaction takes it a while.
type shower struct {
	*counter
	t           *testing.T
	all         int64 // inputs there are in the partition
	hold        bool
	shown       time.Time
	outputs     int
	held        *atomic.Int64
	notShownYet *atomic.Int64 // tasks that hold something back
}

func (s *shower) Defer(hold bool) { s.hold = hold }

func (s *shower) Outputs(emit func(key, value []byte)) error {
	time.Sleep(holdAtMost / 4) // virtual
	s.outputs++
	switch now := time.Now(); {
	case !s.hold:
		s.shown = now
	case s.outputs == 1:
		s.t.Error("nothing was shown yet, and is held back")
	case s.next >= s.all:
		s.t.Errorf("partition %d: the last inputs are held back", s.partition)
	case now.Sub(s.shown) >= holdAtMost+holdAtMost/4:
		s.t.Errorf("partition %d: held back for %v", s.partition, now.Sub(s.shown))
	default:
		s.held.Add(1)
	}
	return s.counter.Outputs(emit)
}

// Committed says who has not shown the last that is durable.
func (s *shower) Committed() {
	if s.next >= s.all && !s.hold {
		s.notShownYet.Add(-1)
	}
}

// A task that is long behind holds back what it shows, for a moment and never at
// the end; one that is not is told to show each transaction.
func TestWhatIsShownIsHeldBackFarBehind(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		holds bool
	}{
		{"long behind", longBehind + 6*turnRecords, true},
		{"a little behind", longBehind - 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				r.load(c.n)
				var stats Stats
				var held, open atomic.Int64
				open.Store(parts)
				stop := r.process(r.cluster, Config{Stats: &stats, NewTask: func(partition int32) Task {
					return &shower{counter: newCounter(partition).(*counter), t: t, all: int64(c.n+parts-1-int(partition)) / parts, held: &held, notShownYet: &open} //nolint:errcheck // that is what it makes
				}})
				r.await("records", int64(c.n), stats.Records.Load)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				r.exact(c.n)
				if (held.Load() > 0) != c.holds {
					t.Errorf("%d transactions were held back", held.Load())
				}
				if open.Load() != 0 {
					t.Errorf("%d partitions have not shown their end", open.Load())
				}
			})
		})
	}
}
