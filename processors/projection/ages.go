package projection

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"svc/internal/view"
)

// Ages tells how long the oldest input of each partition has waited for its verdict, whether or not a
// processor owns the partition. It looks from outside: at the end of the log, and at what others
// report as applied. It is safe for concurrent use.
type Ages struct {
	now func() time.Time

	mu         sync.Mutex
	partitions []age // by number
}

// age is what is known of one partition.
type age struct {
	applied int64 // offset of the last input known to be applied; -1: none
	fresh   view.Freshness
	// oldest is the timestamp of the input after the offset oldestAt. Zero: it was not asked for, or
	// could not be read.
	oldest   time.Time
	oldestAt int64
}

// NewAges returns the ages of the partitions 0 to n-1, of which nothing is known yet.
func NewAges(n int32, now func() time.Time) *Ages {
	a := &Ages{now: now, partitions: make([]age, n)}
	for i := range a.partitions {
		a.partitions[i] = age{applied: -1, oldestAt: -2, fresh: view.FreshnessSince(now())}
		a.partitions[i].fresh.Reached(-1)
	}
	return a
}

// Applied notes that the inputs of a partition up to an offset are applied. The order of calls does
// not matter.
func (a *Ages) Applied(partition int32, offset int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if int(partition) >= len(a.partitions) {
		return
	}
	if p := &a.partitions[partition]; offset > p.applied {
		p.applied = offset
		p.fresh.Reached(offset)
	}
}

// Each calls fn with each partition and the age of its oldest input without a verdict; 0: there is
// none. If Kafka does not respond, the age is the time since its last response.
func (a *Ages) Each(fn func(partition int32, oldest time.Duration)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for i := range a.partitions {
		p := &a.partitions[i]
		waits := p.fresh.Behind(now)
		if waits > 0 && p.oldestAt == p.applied && !p.oldest.IsZero() {
			waits = max(waits, now.Sub(p.oldest))
		}
		fn(int32(i), waits)
	}
}

// Run asks each second where the log ends, until ctx ends. known returns the offsets that are known
// to be applied from elsewhere, such as from the view, by partition; it may return nil.
func (a *Ages) Run(ctx context.Context, inputs Log, known func(context.Context) map[int32]int64, log *slog.Logger) error {
	all := make([]int32, len(a.partitions))
	for i := range all {
		all[i] = int32(i)
	}
	every := time.NewTicker(pulseEvery) //nolint:forbidigo // paces the loop; no decision looks at it
	defer every.Stop()
	for {
		within, cancel := context.WithTimeout(ctx, pulseEvery)
		for partition, offset := range known(within) {
			a.Applied(partition, offset)
		}
		asked := a.now()
		ends, err := inputs.Cluster.Ends(within, inputs.Topic, all)
		cancel()
		if err != nil && ctx.Err() == nil {
			log.DebugContext(ctx, "ends of the log not read", "error", err)
		}
		a.ended(asked, ends)
		a.askOldest(ctx, inputs, log)
		select {
		case <-every.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ended notes where the logs of partitions ended at an instant.
func (a *Ages) ended(at time.Time, ends map[int32]int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for partition, end := range ends {
		a.partitions[partition].fresh.Ended(at, end-1)
	}
}

// stuckAfter is after how long a waiting input is asked for its timestamp. Until then its age is
// known well enough from when the log was seen to end behind it.
const stuckAfter = 2 * time.Second

// askOldest asks for the timestamps of inputs that have waited for long: they may be older than this
// process. It has half a pulse for that.
func (a *Ages) askOldest(ctx context.Context, inputs Log, log *slog.Logger) {
	within, cancel := context.WithTimeout(ctx, pulseEvery/2) //nolint:mnd // half of the time until the next
	defer cancel()
	for partition, applied := range a.stuck() {
		_, oldest, err := inputs.Cluster.Behind(within, inputs.Topic, partition, applied)
		if err != nil || within.Err() != nil {
			log.DebugContext(ctx, "oldest record not read", "partition", partition, "error", err)
			return
		}
		a.mu.Lock()
		a.partitions[partition].oldest, a.partitions[partition].oldestAt = oldest, applied
		a.mu.Unlock()
	}
}

// stuck returns the applied offsets of partitions whose next input has waited for long and has not
// been asked for its timestamp.
func (a *Ages) stuck() map[int32]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := map[int32]int64{}
	for i := range a.partitions {
		if p := &a.partitions[i]; p.oldestAt != p.applied && p.fresh.Behind(a.now()) > stuckAfter {
			found[int32(i)] = p.applied
		}
	}
	return found
}
