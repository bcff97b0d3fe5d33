package projection

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"svc/internal/view"
)

// Ages tracks how long the oldest input of each partition has been waiting for its verdict, whether or not a
// processor owns the partition. It queries the end offsets and timestamps of the log, and compares them with the
// offsets that other components report as applied. It is safe for concurrent use.
type Ages struct {
	now func() time.Time

	mu         sync.Mutex
	partitions []age // indexed by partition number
}

// age is the state of one partition.
type age struct {
	applied int64 // offset of the last input known to be applied; -1: none
	fresh   view.Freshness
	// oldest is the timestamp of the input after the offset oldestAt. Zero means that the timestamp was not queried or
	// could not be read.
	oldest   time.Time
	oldestAt int64
}

// NewAges returns the ages for the partitions 0 to n-1. All ages are initially unknown.
func NewAges(n int32, now func() time.Time) *Ages {
	a := &Ages{now: now, partitions: make([]age, n)}
	for i := range a.partitions {
		a.partitions[i] = age{applied: -1, oldestAt: -2, fresh: view.FreshnessSince(now())}
		a.partitions[i].fresh.RecordProgress(-1)
	}
	return a
}

// Applied records that all inputs of a partition up to and including an offset are applied. Calls may come in any
// order; an offset lower than an earlier one has no effect.
func (a *Ages) Applied(partition int32, offset int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if int(partition) >= len(a.partitions) {
		return
	}
	if p := &a.partitions[partition]; offset > p.applied {
		p.applied = offset
		p.fresh.RecordProgress(offset)
	}
}

// Each calls fn for each partition with the age of the oldest input without a verdict; 0 means that there is no such
// input. If Kafka does not respond, the age is at least the time since Kafka's last response.
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

// Run queries the end of the log every second until ctx ends. known returns the applied offset of each partition
// according to another source, such as the view; it may return nil.
func (a *Ages) Run(ctx context.Context, inputs Log, known func(context.Context) map[int32]int64, log *slog.Logger) error {
	all := make([]int32, len(a.partitions))
	for i := range all {
		all[i] = int32(i)
	}
	every := time.NewTicker(pulseEvery) //nolint:forbidigo // paces the loop; no decision depends on it
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
			log.DebugContext(ctx, "end offsets of the log not read", "error", err)
		}
		a.recordEnds(asked, ends)
		a.askOldest(ctx, inputs, log)
		select {
		case <-every.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// recordEnds records the end offsets of partitions at an instant.
func (a *Ages) recordEnds(at time.Time, ends map[int32]int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for partition, end := range ends {
		a.partitions[partition].fresh.RecordEnd(at, end-1)
	}
}

// stuckAfter is the estimated age from which Ages queries the timestamp of a pending input. The estimate counts from
// the instant at which Ages first saw that the log extends beyond the input.
const stuckAfter = 2 * time.Second

// askOldest queries the timestamps of inputs that have been pending for a long time, because they may be older than
// this process. It takes at most half of pulseEvery.
func (a *Ages) askOldest(ctx context.Context, inputs Log, log *slog.Logger) {
	within, cancel := context.WithTimeout(ctx, pulseEvery/2) //nolint:mnd // half of the time until the next pulse
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

// stuck returns, by partition, the applied offsets of partitions whose next input has been pending for a long time.
// It omits partitions in which the timestamp of that input has already been queried.
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
