package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	"svc/internal/config"
	"svc/internal/metrics"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/processors/projection"
	"svc/schemas"
)

// The upper bounds of the first and the last bucket of the stage histograms.
const (
	leastStage = time.Millisecond
	mostStage  = 17 * time.Minute
)

// importedAfter is the age from which an input counts as imported. svc import preserves the times of receipt, so the
// age of an imported input is not the time for which it waited for its verdict.
const importedAfter = 24 * time.Hour

// measureStages measures how long it takes until an input has a verdict, until a verdict is in the view, and until a
// restore is complete.
func (h *service) measureStages(c *stream.Config, p *view.Projector, spans *viewSpans) {
	verdict := h.metrics.TracedDurations("svc_input_to_verdict_seconds",
		"Time from the receipt of an observation to the commit of its verdict. Imported observations older than a day do not count.",
		leastStage, mostStage)
	c.Committed = func(partition int32, inputs []stream.Input, at time.Time) {
		for i := range inputs {
			traceID := spans.endInput(partition, &inputs[i], at)
			if waited := at.Sub(inputs[i].Timestamp); waited < importedAfter {
				verdict(max(waited, 0), traceID)
			}
		}
	}
	c.Restored = h.metrics.Durations("svc_process_restore_seconds",
		"Duration of a restore of one or more partitions.", 16*time.Millisecond, 17*time.Minute)
	h.metrics.Seconds("svc_process_restoring_seconds",
		"Time since the restore in progress began; 0 if there is none.", func() time.Duration {
			if since := c.Stats.Restoring.Load(); since != 0 {
				return h.now().Sub(time.UnixMilli(since))
			}
			return 0
		})
	shown := h.metrics.TracedDurations("svc_verdict_to_view_seconds",
		"Time from the commit of a verdict to its acknowledgment by Redis, for the oldest verdict of each write.", leastStage, mostStage)
	p.Written = func(partition int32, position int64, waited time.Duration) {
		shown(waited, spans.endWrites(partition, position, h.now()))
	}
}

// watchAges publishes the age of the oldest pending observation of each partition, whether or not a processor owns
// the partition. The caller must call Applied for each change in the verdicts topic.
func (h *service) watchAges() *projection.Ages {
	ages := projection.NewAges(h.partitions, h.now)
	h.Run("ages", func(ctx context.Context) error {
		inputs := projection.Log{Cluster: h.cluster, Topic: h.config.Topic(schemas.Observations())}
		return ages.Run(ctx, inputs, func(ctx context.Context) map[int32]int64 {
			known, err := h.redis.Positions(ctx, h.partitions, h.generation)
			if err != nil {
				return nil // Redis is unavailable: keep the ages from the verdicts topic
			}
			return known
		}, h.log)
	})
	h.metrics.Each("svc_ingest_oldest_seconds",
		"Age of the oldest observation without a verdict, by partition, whether or not a processor owns the partition; "+
			"if Kafka does not respond, time since its last response.",
		[]string{"partition"}, func(_ context.Context, add func(float64, ...string)) {
			ages.Each(func(partition int32, oldest time.Duration) { add(oldest.Seconds(), strconv.Itoa(int(partition))) })
		})
	return ages
}

// watchCurrency publishes, for each view, how far it lags behind the log and how many of its partitions cannot be
// read.
func (h *service) watchCurrency() {
	views := map[string]func(context.Context, int32) view.Currency{
		"units": h.redis.Currency, "forecasts": h.models().Currency, "lists": h.redis.Lists().Currency,
	}
	each := func(name, help string, value func(view.Currency) float64) {
		h.metrics.Each(name, help, []string{"view"}, func(ctx context.Context, add func(float64, ...string)) {
			for word, ask := range views {
				add(value(ask(ctx, h.partitions)), word)
			}
		})
	}
	each("svc_view_behind_seconds",
		"Time since the view was last known to include everything in the log, in the partition that is furthest behind, by view; "+
			"about 1 second in normal operation.",
		func(c view.Currency) float64 { return c.Behind.Seconds() })
	each("svc_view_unreadable_partitions", "Partitions whose reads return 503, by view.",
		func(c view.Currency) float64 { return float64(c.Unreadable) })
}

// watchServers publishes metrics for the Redis clock, the memory of Redis, and the disks of the brokers.
func (h *service) watchServers() {
	h.metrics.Ratio("svc_clock_skew_seconds",
		"How far the Redis clock is ahead of the clock of this process. Absent while Redis does not respond.",
		func(ctx context.Context) (float64, bool) {
			skew, err := h.redis.ClockSkew(ctx)
			return skew.Seconds(), err == nil
		})
	h.metrics.Ratio("svc_redis_memory_ratio", "Fraction of maxmemory that Redis uses. Absent if maxmemory is not set.",
		func(ctx context.Context) (float64, bool) {
			m, err := h.redis.Memory(ctx)
			return float64(m.Used) / float64(m.Limit), err == nil && m.Limit > 0
		})
	disk := &remembered{every: time.Minute, now: h.now}
	h.metrics.Ratio("svc_kafka_disk_free_ratio",
		"Fraction of free space on the fullest broker disk. "+
			"Absent if the brokers do not report it, or if the Kafka user lacks Describe on the cluster.",
		func(ctx context.Context) (float64, bool) {
			return disk.value(func() (float64, bool) {
				_, free, err := stream.FullestDisk(ctx, h.cluster)
				return free, err == nil
			})
		})
}

// publishExpiries publishes the expiry of the certificates. It reads the files only once, as the connections do: after a
// file has been replaced, the process uses the old certificates until it is restarted.
func publishExpiries(m *metrics.Registry, c *config.Config) {
	expiries := map[string]float64{}
	for option, file := range c.Certificates() {
		if expires, err := config.Expiry(file); err == nil {
			expiries[option] = float64(expires.Unix())
		}
	}
	m.Each("svc_certificate_expiry_timestamp_seconds",
		"Expiry time, in Unix seconds, of the certificates that the process read at startup, by the option that names their file.",
		[]string{"option"}, func(_ context.Context, add func(float64, ...string)) {
			for option, expires := range expiries {
				add(expires, option)
			}
		})
}

// remembered caches a value that is expensive to query.
type remembered struct {
	every time.Duration
	now   func() time.Time

	mu    sync.Mutex
	asked time.Time
	last  float64
	known bool
}

func (r *remembered) value(ask func() (float64, bool)) (float64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.asked).Abs() >= r.every {
		r.last, r.known = ask()
		r.asked = now
	}
	return r.last, r.known
}
