package inputlog

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

// NewPace returns the pace of all readers of a command together: at most so many records a second.
// It protects the live system beside them. 0: nil, which is no limit.
func NewPace(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(perSecond/20, 1))
}

// Share is what the readers of several partitions have in common: the pace and the progress.
type Share struct {
	pace     *rate.Limiter           // nil: no limit
	progress func(done, total int64) // is called with the progress; nil: no progress is wanted

	mu          sync.Mutex
	done, total int64
}

// NewShare returns a share; without a pace there is no limit, and without progress no report.
func NewShare(pace *rate.Limiter, progress func(done, total int64)) *Share {
	return &Share{pace: pace, progress: progress}
}

// Wait keeps a reader to the pace, before each record.
func (s *Share) Wait(ctx context.Context) error {
	if s.pace == nil {
		return nil
	}
	if err := s.pace.Wait(ctx); err != nil {
		return fmt.Errorf("keep to the rate: %w", err)
	}
	return nil
}

// AddProgress adds to the progress and to its total.
func (s *Share) AddProgress(done, total int64) {
	if s.progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.total = s.done+done, s.total+total
	s.progress(s.done, s.total)
}
