package main

import (
	"context"
	"math"
	"time"

	"svc/ingest"
	"svc/ingest/outcomes"
	"svc/internal/devserver"
	"svc/internal/stream"
	"svc/schemas"
)

const (
	pastFeedsFor = 7 * 24 * time.Hour // how long a silent feed is listed
	// silentFeedsMost is the maximum number of records of each partition that are read to find feeds that were silent
	// for the last day. The page shows only the last times of such feeds. A feed that sent none of these records is
	// not listed.
	silentFeedsMost = 50_000
)

// restoreFeeds reads the log to count what the feeds received before this process started. This is necessary because
// the embedded Redis starts empty, and the history of a demo was appended to the log without requests. The argument
// before is the time at which this process started, and key is the id of the key that sends the demo's requests. The
// view must be current.
func restoreFeeds(ctx context.Context, h *service, key string, before time.Time) error {
	past, first := outcomes.NewPast(before), before
	received := func(r stream.Record) error {
		if r.Timestamp.Before(first) {
			first = r.Timestamp
		}
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
	}
	log, day := h.config.Topic(schemas.Observations()), before.Add(-outcomes.PastWindow)
	err := readSpan(ctx, h, log, before.Add(-pastFeedsFor), day, silentFeedsMost, received)
	if err == nil {
		err = readSpan(ctx, h, log, day, before, math.MaxInt64, received) // no limit, because every record counts
	}
	if err == nil { // no outcome is older than first, because an outcome is written after its observation
		err = readSpan(ctx, h, h.config.Topic(schemas.Verdicts()), first, time.Time{}, math.MaxInt64, func(r stream.Record) error {
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

// readSpan calls fn for the records of each partition of a topic with a time in [since, until). If until is zero, the
// interval ends now. If a partition has more than most such records, readSpan reads only the newest ones.
func readSpan(
	ctx context.Context, h *service, topic string, since, until time.Time, most int64, fn func(stream.Record) error,
) error {
	spans, err := h.cluster.Spans(ctx, topic, since, until)
	if err != nil {
		return err
	}
	for _, s := range spans {
		if s.End-s.From > most {
			s.From = s.End - most
		}
		if err := h.cluster.Range(ctx, topic, s, fn); err != nil {
			return err
		}
	}
	return nil
}
