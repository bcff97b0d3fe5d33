package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/internal/view"
)

// pulseEvery is how often a processor reports its partitions, and how many of their inputs the
// view lacks.
const pulseEvery = time.Second

// pulse asks each second where the logs of our partitions end. So readers can distinguish an idle
// unit from a processor that hangs. A new partition is reported at once.
func (h *service) pulse(v *projection, topic string) func(context.Context) error {
	return func(ctx context.Context) error {
		every := time.NewTicker(pulseEvery)
		defer every.Stop()
		for {
			if owned := v.owned(); len(owned) > 0 {
				asked := h.now()
				within, cancel := context.WithTimeout(ctx, pulseEvery)
				ends, err := h.cluster.Ends(within, topic, owned)
				cancel()
				if err != nil && ctx.Err() == nil {
					h.log.DebugContext(ctx, "the ends of the log are not known", "error", err)
				}
				askOldest(ctx, h, v, topic, ends)
				v.pulse(asked, ends)
			}
			select {
			case <-every.C:
			case <-v.took:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// askOldest asks for the timestamp of the oldest waiting record, in each partition assigned since
// the last pulse. It has half a pulse for that. A partition without an answer counts from now on.
func askOldest(ctx context.Context, h *service, v *projection, topic string, ends map[int32]int64) {
	within, cancel := context.WithTimeout(ctx, pulseEvery/2) //nolint:mnd // half of the time until the next
	defer cancel()
	for partition, applied := range v.unasked(ends) {
		_, oldest, err := h.cluster.Behind(within, topic, partition, applied)
		switch {
		case err != nil && ctx.Err() == nil:
			h.log.DebugContext(ctx, "the oldest record is not known", "partition", partition, "error", err)
		case !oldest.IsZero():
			v.waits(partition, applied+1, oldest)
		}
	}
}

// unasked returns the applied offsets of partitions assigned since the last pulse whose waiting
// records have an unknown age.
func (v *projection) unasked(ends map[int32]int64) map[int32]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := map[int32]int64{}
	for partition, end := range ends {
		if kept := v.partitions[partition]; kept != nil && kept.fresh.Unasked() && end-1 > kept.applied {
			found[partition] = kept.applied
		}
	}
	return found
}

// waits notes since when a record of a partition has waited.
func (v *projection) waits(partition int32, offset int64, since time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if kept := v.partitions[partition]; kept != nil {
		kept.fresh.Ended(since, offset)
	}
}

// pulse notes where the logs of partitions ended at an instant, and writes that to the view.
func (v *projection) pulse(at time.Time, ends map[int32]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for partition, end := range ends {
		if kept := v.partitions[partition]; kept != nil {
			kept.fresh.Ended(at, end-1)
		}
	}
	v.projector.Pulse(at, ends)
}

// behind returns the age of the oldest input without a verdict, over our partitions.
func (v *projection) behind(now time.Time) (most time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, kept := range v.partitions {
		most = max(most, kept.fresh.Behind(now))
	}
	return most
}

// processes fails while an input waits for longer than most. 0: the limit of the verdicts, after
// which reads tell that they are behind.
func (h *service) processes(v *projection, most time.Duration) func(context.Context) error {
	return func(context.Context) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		faults := map[int32]error{}
		for partition, kept := range v.partitions {
			if err := kept.fresh.Fault(h.now(), most); err != nil {
				faults[partition] = err
			}
		}
		return partitionFaults(faults, len(v.partitions))
	}
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
	return partitionFaults(found, int(h.partitions))
}

// partitionFaults returns an error with the number of failing partitions, and why the first one
// fails.
func partitionFaults(faults map[int32]error, all int) error {
	if len(faults) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(faults)))
	return fmt.Errorf("%d of %d partitions; partition %d: %w", len(faults), all, first, faults[first])
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
