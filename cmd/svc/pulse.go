package main

import (
	"context"
	"fmt"
	"time"

	"svc/internal/view"
	"svc/processors/projection"
)

// pulseEvery is how often a notifier reports its partitions.
const pulseEvery = time.Second

// processes fails while an input waits for longer than most. 0: the limit of the verdicts, after
// which reads tell that they are behind.
func processes(v *projection.Projection, most time.Duration) func(context.Context) error {
	return func(context.Context) error { return view.PartitionFaults(v.Faults(most)) }
}

// writes fails while the projector cannot write its view.
func writes(what string, p *view.Projector) func(context.Context) error {
	return func(context.Context) error {
		if err := p.Fault(); err != nil {
			return fmt.Errorf("%s cannot be written: %w", what, err)
		}
		return nil
	}
}

// shows fails while a partition of the view cannot be read.
func (h *service) shows(ctx context.Context) error { return partitionsRead(ctx, h, h.redis.Faults) }

// partitionsRead fails while a partition of some view cannot be read. ask returns the fault of
// each.
func partitionsRead(ctx context.Context, h *service, ask func(context.Context, int32) (map[int32]error, error)) error {
	found, err := ask(ctx, h.partitions)
	if err != nil {
		return err
	}
	return view.PartitionFaults(found, int(h.partitions))
}

// current waits until every partition of all views can be read.
func (h *service) current(ctx context.Context) error {
	for h.shows(ctx) != nil || partitionsRead(ctx, h, h.models().Faults) != nil || partitionsRead(ctx, h, h.redis.Lists().Faults) != nil {
		if err := pause(ctx, pulseEvery/200); err != nil { //nolint:mnd // 5 ms: somebody waits for the prompt
			return err
		}
	}
	return nil
}
