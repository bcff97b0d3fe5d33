package replay

import (
	"context"
	"fmt"

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
