package main

import (
	"context"
	"time"

	"svc/ingest"
	"svc/ingest/outcomes"
	"svc/internal/devserver"
	"svc/internal/stream"
	"svc/schemas"
)

const (
	pastFeedsFor  = 7 * 24 * time.Hour // how long a silent feed is listed
	pastFeedsMost = 50_000             // maximum number of records read from each partition
)

// restoreFeeds reads the log to count what the feeds received before this process started, because the embedded Redis
// starts empty and the history of a demo was appended to the log without requests. key is the id of the key that
// sends the demo's requests. The view must be current.
func restoreFeeds(ctx context.Context, h *service, key string, before time.Time) error {
	past := outcomes.NewPast(before)
	err := readNewest(ctx, h, h.config.Topic(schemas.Observations()), before, func(r stream.Record) error {
		o, _, err := schemas.ReadInput(r.Key, r.Value)
		if err != nil || o == nil || !o.ReceivedAt.Time().Before(before) { // this process counts later observations
			return nil //nolint:nilerr // a dead letter
		}
		source := o.Source
		if source == devserver.DemoSource {
			source = key
		}
		past.Received(ingest.Position{Partition: r.Partition, Offset: r.Offset}, source, o)
		return nil
	})
	if err == nil {
		err = readNewest(ctx, h, h.config.Topic(schemas.Verdicts()), time.Time{}, func(r stream.Record) error {
			if change, input, ok := answered(r); ok {
				past.Applied(ingest.Position{Partition: r.Partition, Offset: input}, change)
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return past.Store(ctx, h.redis.Feeds())
}

// readNewest reads the newest records of each partition of a topic: those appended in the last week and before the
// instant until. If until is zero, there is no upper limit.
func readNewest(ctx context.Context, h *service, topic string, until time.Time, fn func(stream.Record) error) error {
	spans, err := h.cluster.Spans(ctx, topic, h.now().Add(-pastFeedsFor), until)
	if err != nil {
		return err
	}
	for _, s := range spans {
		s.From = max(s.From, s.End-pastFeedsMost)
		if err := h.cluster.Range(ctx, topic, s, fn); err != nil {
			return err
		}
	}
	return nil
}
