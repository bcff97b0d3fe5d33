package replay

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

// NewPace returns a pace of at most so many records a second for all readers of a command
// together, so that the live system beside them does not suffer. 0: nil, which is no limit.
func NewPace(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(perSecond/20, 1))
}

// share is what the readers of several partitions have in common: the pace and the progress.
type share struct {
	pace     *rate.Limiter           // nil: no limit
	progress func(done, total int64) // is called with the progress; nil: no progress is wanted

	mu          sync.Mutex
	done, total int64
}

func newShare(pace *rate.Limiter, told func(done, total int64)) *share {
	return &share{pace: pace, progress: told}
}

// wait keeps a reader to the pace, before each record.
func (s *share) wait(ctx context.Context) error {
	if s.pace == nil {
		return nil
	}
	if err := s.pace.Wait(ctx); err != nil {
		return fmt.Errorf("keep to the rate: %w", err)
	}
	return nil
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
