package replay

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

// pace holds readers to so many records a second together, so that the live
// system next to them does not notice; nil: as fast as can be.
type pace struct{ limiter *rate.Limiter }

func newPace(perSecond int) *pace {
	if perSecond <= 0 {
		return nil
	}
	return &pace{rate.NewLimiter(rate.Limit(perSecond), max(perSecond/20, 1))}
}

func (p *pace) wait(ctx context.Context) error {
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
	*pace
	told func(done, total int64) // nil: nobody looks

	mu          sync.Mutex
	done, total int64
}

func newShare(perSecond int, told func(done, total int64)) *share {
	return &share{pace: newPace(perSecond), told: told}
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
