package projection

import (
	"context"
	"log/slog"
	"time"

	"svc/internal/stream"
)

// pulseEvery is how often a processor reports its partitions, and how many of their inputs the
// view lacks.
const pulseEvery = time.Second

// Log is the log whose records the processor applies.
type Log struct {
	Cluster *stream.Cluster
	Topic   string
}

// Pulse returns the loop that asks each second where the logs of our partitions end. So readers can
// distinguish an idle unit from a processor that hangs. A new partition is reported at once.
func (v *Projection) Pulse(inputs Log, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		every := time.NewTicker(pulseEvery) //nolint:forbidigo // paces the loop; no decision looks at it
		defer every.Stop()
		for {
			if owned := v.owned(); len(owned) > 0 {
				asked := v.now()
				within, cancel := context.WithTimeout(ctx, pulseEvery)
				ends, err := inputs.Cluster.Ends(within, inputs.Topic, owned)
				cancel()
				if err != nil && ctx.Err() == nil {
					log.DebugContext(ctx, "the ends of the log are not known", "error", err)
				}
				v.askOldest(ctx, inputs, log, ends)
				v.ended(asked, ends)
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
func (v *Projection) askOldest(ctx context.Context, inputs Log, log *slog.Logger, ends map[int32]int64) {
	within, cancel := context.WithTimeout(ctx, pulseEvery/2) //nolint:mnd // half of the time until the next
	defer cancel()
	for partition, applied := range v.unasked(ends) {
		_, oldest, err := inputs.Cluster.Behind(within, inputs.Topic, partition, applied)
		switch {
		case err != nil && ctx.Err() == nil:
			log.DebugContext(ctx, "the oldest record is not known", "partition", partition, "error", err)
		case !oldest.IsZero():
			v.waits(partition, applied+1, oldest)
		}
	}
}

// unasked returns the applied offsets of partitions assigned since the last pulse whose waiting
// records have an unknown age.
func (v *Projection) unasked(ends map[int32]int64) map[int32]int64 {
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
func (v *Projection) waits(partition int32, offset int64, since time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if kept := v.partitions[partition]; kept != nil {
		kept.fresh.Ended(since, offset)
	}
}

// ended notes where the logs of partitions ended at an instant, and writes that to the view.
func (v *Projection) ended(at time.Time, ends map[int32]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for partition, end := range ends {
		if kept := v.partitions[partition]; kept != nil {
			kept.fresh.Ended(at, end-1)
		}
	}
	v.Projector.Pulse(at, ends)
}

// Behind returns the age of the oldest input without a verdict, over our partitions.
func (v *Projection) Behind(now time.Time) (most time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, kept := range v.partitions {
		most = max(most, kept.fresh.Behind(now))
	}
	return most
}

// Faults returns the partitions with an input that waits for longer than most, and how many
// partitions there are. most 0: the limit of the verdicts.
func (v *Projection) Faults(most time.Duration) (faults map[int32]error, all int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	faults = map[int32]error{}
	for partition, kept := range v.partitions {
		if err := kept.fresh.Fault(v.now(), most); err != nil {
			faults[partition] = err
		}
	}
	return faults, len(v.partitions)
}
