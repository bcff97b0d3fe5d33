package replay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Pace holds the readers of a command back, so that the live system next to them
// does not notice; nil: they are as fast as can be.
type Pace struct {
	limiter *rate.Limiter // nil: none
	others  func() bool
}

// NewPace returns a pace of so many records a second at most, all readers together;
// 0: as many as can be. While others reports that somebody else has work for the
// processors, all readers rest at the same time, half of the time. To be put aside at
// once is not enough: a processor that is never idle was seen to cost others a quarter
// of their p99, though what kept it busy did nothing but count.
func NewPace(perSecond int, others func() bool) *Pace {
	p := &Pace{others: others}
	if perSecond > 0 {
		p.limiter = rate.NewLimiter(rate.Limit(perSecond), max(perSecond/20, 1))
	}
	return p
}

func (p *Pace) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if p.others() {
		time.Sleep(restFor(time.Now())) //nolint:forbidigo // at most restEvery, by the clock that all readers have
	}
	if p.limiter == nil {
		return nil
	}
	if err := p.limiter.Wait(ctx); err != nil {
		return fmt.Errorf("keep to the rate: %w", err)
	}
	return nil
}

// restEvery is how long readers work, and then rest: short against the time that a
// sender waits for an answer.
const restEvery = 5 * time.Millisecond

// restFor is how long a rest lasts from now; 0: it is time to work.
func restFor(now time.Time) time.Duration {
	phase := time.Duration(now.UnixNano()) % (2 * restEvery)
	if phase < restEvery {
		return 0
	}
	return 2*restEvery - phase
}

// share is what the readers of several partitions have together: a pace, and how
// far they are.
type share struct {
	*Pace
	told func(done, total int64) // nil: nobody looks

	mu          sync.Mutex
	done, total int64
}

func newShare(pace *Pace, told func(done, total int64)) *share {
	return &share{Pace: pace, told: told}
}

// tell adds to what is done, and to what there is to do.
func (s *share) tell(done, total int64) {
	if s.told == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.total = s.done+done, s.total+total
	s.told(s.done, s.total)
}
