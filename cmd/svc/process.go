package main

import (
	"context"
	"errors"
	"time"

	"svc/internal/metrics"
	"svc/internal/stream"
	"svc/processors/projection"
	"svc/processors/verdict"
	"svc/schemas"
)

// wireProcess is svc process. It turns observations into verdicts, and writes the view and the
// learning of the forecast.
func wireProcess(ctx context.Context, h *service) error {
	view := projection.New(h.redis, h.generation, h.now)
	h.Run("view", view.Projector.Run)

	h.Run("pulse", view.Pulse(projection.Log{Cluster: h.cluster, Topic: h.config.Topic(schemas.Observations())}, h.log))
	h.Health.Add("view", writes("the view", view.Projector))
	h.Health.Add("processing", processes(view, 0))
	h.metrics.Seconds("svc_process_oldest_seconds", "Age of the oldest observation without a verdict on the owned partitions; while the log does not answer, time since it did.",
		func() time.Duration { return view.Behind(h.now()) })

	stats, letters := &stream.Stats{}, h.config.Topic(schemas.DeadLetters())
	config := stream.Config{
		Group:       h.config.TopicPrefix + verdict.Group,
		Instance:    h.config.Instance,
		Claim:       h.claim,
		Input:       h.config.Topic(schemas.Observations()),
		Changelog:   h.config.Topic(schemas.Verdicts()),
		NewTask:     verdict.Tasks(view),
		CommitEvery: h.config.CommitEvery,
		Stats:       stats,
		Leave:       h.leaves,
		Route: func(key []byte) string {
			if verdict.IsDeadLetter(key) {
				return letters
			}
			return "" // the changelog
		},
	}
	if h.cluster.Embedded() {
		config.Keep = func(ctx context.Context, partition int32) (int64, error) { // keeps the records that other groups have not read yet
			history, err := h.cluster.Committed(ctx, h.historyGroup(), config.Changelog, partition)
			if err != nil {
				return 0, err
			}
			notified, err := h.cluster.Committed(ctx, h.config.TopicPrefix+notifyGroup, config.Changelog, partition)
			return min(history, notified), err
		}
	}
	h.writers = append(h.writers, config.Writers(letters))
	h.Run("verdict", func(ctx context.Context) error { return h.cluster.Process(ctx, config) })
	h.Health.Add("verdict", func(context.Context) error {
		if stats.Restores.Load() == 0 {
			return errors.New("no partition was taken up yet")
		}
		return nil
	})
	processMetrics(h.metrics, stats)
	return wireHistory(ctx, h)
}

// processMetrics registers the metrics of the verdict processor.
func processMetrics(m *metrics.Registry, s *stream.Stats) {
	m.Gauge("svc_process_partitions", "Partitions owned and restored.", s.Partitions.Load)
	m.Gauge("svc_process_lag_records", "Observations not yet applied on the owned partitions.", s.Lag.Load)
	m.Gauge("svc_process_last_commit_timestamp_ms", "When the last transaction was committed, Unix ms.", s.LastCommit.Load)
	m.Counter("svc_process_records_total", "Observations applied.", s.Records.Load)
	m.Counter("svc_process_rejected_total", "Observations that can never be applied.", s.Rejected.Load)
	m.Counter("svc_process_commits_total", "Transactions committed.", s.Commits.Load)
	m.Counter("svc_process_aborts_total", "Transactions aborted.", s.Aborts.Load)
	m.Counter("svc_process_restores_total", "Partitions restored from the changelog.", s.Restores.Load)
	m.Counter("svc_process_checkpoints_total", "Checkpoints written.", s.Checkpoints.Load)
	m.Counter("svc_process_sessions_total", "Group sessions opened; each beyond the first is a recovery.", s.Sessions.Load)
}
