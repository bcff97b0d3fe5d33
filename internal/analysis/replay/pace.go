package replay

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

// Pace slows the readers of a command down, so that the live system beside them does not
// suffer. A nil Pace sets no limit.
type Pace struct {
	limiter *rate.Limiter
}

// NewPace returns a pace of at most so many records a second for all readers together; 0: no
// limit.
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

// share is what the readers of several partitions have in common: the pace and the progress.
type share struct {
	*Pace
	progress func(done, total int64) // is called with the progress; nil: no progress is wanted

	mu          sync.Mutex
	done, total int64
}

func newShare(pace *Pace, told func(done, total int64)) *share {
	return &share{Pace: pace, progress: told}
}

// addProgress adds to the progress and to its total.
func (s *share) addProgress(done, total int64) {
	if s.progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.total = s.done+done, s.total+total
	s.progress(s.done, s.total)
}
