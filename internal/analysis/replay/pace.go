package replay

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

// Pace holds the readers of a command back, so that the live system next to them
// does not notice; nil: they are as fast as can be.
type Pace struct {
	limiter *rate.Limiter
}

// NewPace returns a pace of so many records a second at most, all readers together;
// 0: as many as can be.
func NewPace(perSecond int) *Pace {
	if perSecond == 0 {
		return nil
	}
	return &Pace{rate.NewLimiter(rate.Limit(perSecond), max(perSecond/20, 1))}
}

func (p *Pace) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if err := p.limiter.Wait(ctx); err != nil {
		return fmt.Errorf("keep to the rate: %w", err)
	}
	return nil
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
