package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/internal/metrics"
	"svc/internal/stream"
	"svc/internal/view"
	"svc/processors/history"
	"svc/processors/projection"
	"svc/processors/verdict"
	"svc/schemas"
)

// wireProcess wires svc process, which turns observations into verdicts and snapshots, and writes the view and the
// forecast models.
func wireProcess(ctx context.Context, h *service) error {
	view, spans := projection.New(h.redis, h.generation, h.now), newViewSpans(h.tracer)
	h.Run("view", view.Projector.Run)

	h.Run("pulse", view.Pulse(projection.Log{Cluster: h.cluster, Topic: h.config.Topic(schemas.Observations())}, h.log))
	h.Health.Add("view", checkProjector("the view", view.Projector))
	h.Health.Add("processing", checkProcessing(view, 0))
	h.metrics.Seconds("svc_process_oldest_seconds",
		"Age of the oldest observation without a verdict on the owned partitions; if Kafka does not respond, time since its last response.",
		func() time.Duration { return view.Behind(h.now()) })

	stats, letters, snapshots := &stream.Stats{}, h.config.Topic(schemas.DeadLetters()), h.config.Topic(schemas.Snapshots())
	config := stream.Config{
		Group:       h.config.TopicPrefix + verdict.Group,
		Instance:    h.config.Instance,
		Claim:       h.claim,
		Input:       h.config.Topic(schemas.Observations()),
		Changelog:   h.config.Topic(schemas.Verdicts()),
		NewTask:     verdict.Tasks(spans.of(view)),
		CommitEvery: h.config.CommitEvery,
		Stats:       stats,
		Leave:       h.leaves,
		Route: func(key []byte) string {
			switch {
			case verdict.IsDeadLetter(key):
				return letters
			case verdict.IsSnapshot(key):
				return snapshots
			}
			return "" // "" means the changelog
		},
	}
	if h.cluster.Embedded() {
		config.Keep = func(ctx context.Context, partition int32) (int64, error) { // preserves records that the notifier has not read yet
			return h.cluster.Committed(ctx, h.config.TopicPrefix+notifyGroup, config.Changelog, partition)
		}
	}
	h.measureStages(&config, view.Projector, spans)
	h.traceInputs(&config) //nolint:contextcheck // a span continues the trace of its record, not of ctx
	h.writers = append(h.writers, config.Writers(letters, snapshots))
	h.Run("verdict", func(ctx context.Context) error { return h.cluster.Process(ctx, config) })
	h.Health.Add("verdict", func(context.Context) error {
		if stats.Restores.Load() == 0 {
			return errors.New("no partition acquired yet")
		}
		return nil
	})
	registerProcessMetrics(h.metrics, stats)
	return wireHistory(ctx, h)
}

// registerProcessMetrics registers the metrics of the verdict processor.
func registerProcessMetrics(m *metrics.Registry, s *stream.Stats) {
	m.Gauge("svc_process_partitions", "Partitions owned and restored.", s.Partitions.Load)
	m.Gauge("svc_process_lag_records", "Observations not yet applied on the owned partitions.", s.Lag.Load)
	m.Gauge("svc_process_last_commit_timestamp_ms", "Time of the last committed transaction, Unix ms.", s.LastCommit.Load)
	m.Counter("svc_process_records_total", "Observations applied.", s.Records.Load)
	m.Counter("svc_process_rejected_total", "Observations that could not be applied and were moved to the dead letters.", s.Rejected.Load)
	m.Counter("svc_process_commits_total", "Transactions committed.", s.Commits.Load)
	m.Counter("svc_process_aborts_total", "Transactions aborted.", s.Aborts.Load)
	m.Counter("svc_process_restores_total", "Partitions restored from the changelog.", s.Restores.Load)
	m.Counter("svc_process_checkpoints_total", "Checkpoints written.", s.Checkpoints.Load)
	m.Counter("svc_process_sessions_total", "Consumer group sessions opened; each one after the first is a recovery.", s.Sessions.Load)
}

// historyEvery is the commit interval of the models. It is long, because no reader waits for the models and each
// model is large.
const historyEvery = time.Second

// wireHistory adds to svc process the processor that learns the forecast models. The processor reads snapshots, and
// writes the models and the view that contains them.
func wireHistory(ctx context.Context, h *service) error {
	snapshots, models := h.config.Topic(schemas.Snapshots()), h.config.Topic(schemas.Models())
	generation, err := h.cluster.Generation(ctx, models)
	if err != nil {
		return err
	}
	read, err := h.cluster.Generation(ctx, snapshots) // positions in the view are offsets in the snapshots topic
	if err != nil {
		return err
	}
	learnt := projection.New(h.models(), generation+read, h.now)
	h.Run("view of models", learnt.Projector.Run)
	h.Run("pulse of models", learnt.Pulse(projection.Log{Cluster: h.cluster, Topic: snapshots}, h.log))
	h.Health.Add("forecast", checkProjector("the view of models", learnt.Projector))
	h.Health.Add("forecast", checkProcessing(learnt, view.DerivedAtMost))

	stats := &stream.Stats{}
	config := stream.Config{
		Group:       h.historyGroup(),
		Instance:    h.config.Instance,
		Claim:       h.claim,
		Input:       snapshots,
		Former:      h.config.Topic(schemas.Verdicts()),
		Changelog:   models,
		Sparse:      true,
		Passed:      learnt.Passed,
		CommitEvery: historyEvery,
		Stats:       stats,
		Leave:       h.leaves,
		Route: func(key []byte) string {
			if verdict.IsSnapshot(key) { // written by the previous build
				return snapshots
			}
			return models
		},
	}
	h.writers = append(h.writers, config.Writers(snapshots))
	h.Run("history", func(ctx context.Context) error {
		config.NewTask = history.Tasks(history.Config{
			Zone: h.settings.Register.Zone,
			View: learnt,
			Past: func(partition int32, since time.Time, fn func([]byte) error) error {
				return h.passValues(ctx, snapshots, partition, since, fn)
			},
			Older: func(partition int32, fn func(stream.Record) error) error {
				return passOlderChanges(ctx, h, partition, fn)
			},
		})
		select { // wait for the settings, which have the time zones
		case <-h.settings.Ready():
		case <-ctx.Done():
			return ctx.Err()
		}
		return h.cluster.Process(ctx, config)
	})
	registerHistoryMetrics(h.metrics, stats)
	return nil
}

// passOlderChanges calls fn with each change of a partition that the history processor of the previous build had not
// yet read from the verdicts topic.
func passOlderChanges(ctx context.Context, h *service, partition int32, fn func(stream.Record) error) error {
	topic := h.config.Topic(schemas.Verdicts())
	from, err := h.cluster.Committed(ctx, h.historyGroup(), topic, partition)
	if err != nil {
		return err
	}
	var fault error
	_, err = h.cluster.Extent(ctx, topic, partition, from, false, func(r stream.Record) bool {
		fault = fn(r)
		return fault == nil
	})
	return errors.Join(err, fault)
}

func (h *service) historyGroup() string { return h.config.TopicPrefix + history.Group }

// passValues calls fn with every committed value of a partition since an instant.
func (h *service) passValues(ctx context.Context, topic string, partition int32, since time.Time, fn func([]byte) error) error {
	spans, err := h.cluster.Spans(ctx, topic, since, time.Time{})
	if err != nil {
		return err
	}
	for _, s := range spans {
		if s.Partition == partition {
			return h.cluster.Range(ctx, topic, s, func(r stream.Record) error { return fn(r.Value) })
		}
	}
	return fmt.Errorf("read %s: it has no partition %d", topic, partition)
}

// registerHistoryMetrics registers the metrics of the history processor.
func registerHistoryMetrics(m *metrics.Registry, s *stream.Stats) {
	m.Gauge("svc_history_lag_records", "Snapshots on the owned partitions that the models do not include yet.", s.Lag.Load)
	m.Gauge("svc_history_last_commit_timestamp_ms",
		"Time of the last transaction that the history processor committed, Unix ms.", s.LastCommit.Load)
	m.Counter("svc_history_rejected_total", "Snapshots that could not be decoded.", s.Rejected.Load)
	m.Counter("svc_history_restores_total", "Partitions of forecast models restored.", s.Restores.Load)
}
