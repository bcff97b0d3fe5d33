package main

import (
	"context"
	"errors"
	"fmt"

	"svc/acuity"
	"svc/ingest"
	"svc/ingest/engines"
	"svc/ingest/hl7"
	"svc/ingest/mllp"
	"svc/ingest/outcomes"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/settings"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/internal/metrics"
	"svc/internal/stream"
	"svc/internal/tracing"
	"svc/internal/view"
	"svc/processors/verdict"
	"svc/schemas"
)

// wireIngest wires svc ingest, which turns requests into observations and builds its responses from the tail of the
// verdicts topic.
func wireIngest(_ context.Context, h *service) error {
	applied := stream.NewApplied(answered)
	share := h.wireShares()
	counts := outcomes.New(func(p ingest.Position) ([]byte, bool) { return applied.Known(stream.Position(p)) }, h.now)
	h.Run("counts", func(ctx context.Context) error { return counts.Run(ctx, h.redis.Feeds(), h.log) })
	ages := h.watchAges()
	tail := h.cluster.Tail(h.config.Topic(schemas.Verdicts()), func(r stream.Record) {
		applied.Add(r)
		if change, input, ok := answered(r); ok {
			counts.Applied(ingest.Position{Partition: r.Partition, Offset: input}, change)
			share.Applied(r.Partition, input)
			ages.Applied(r.Partition, input)
		}
	})
	h.Run("tail", tail.Run)
	h.Ready = append(h.Ready, tail.Ready())

	h.Run("follow", h.watermark.Run)

	answers := h.metrics.Counts("svc_ingest_answers_total",
		"Responses for durable observations whose senders waited for the effect, by progress; any progress except applied means applied:false.",
		"progress", string(ingest.ProgressApplied), string(ingest.ProgressVerdict), string(ingest.ProgressView))
	letters := h.deadLetters()
	config := ingest.Config{
		Shell:      h.shell,
		Log:        h.observationLog(),
		Applied:    changes{applied},
		Repeated:   repeated(verdict.Log{Cluster: h.cluster, Topic: h.config.Topic(schemas.Verdicts()), Partitions: h.partitions}),
		View:       watermarkView{h.watermark},
		DeadLetter: readAgain(letters), DeadLetterRetried: letters.Retried,
		Zone:       h.settings.Register.Zone,
		Pseudonyms: h.pseudonyms,
		Sender:     senderOf(h.settings),
		Settings:   hospitals{h.settings},
		Audit:      h.audit.Record,
		Share:      share,
		Received:   counts.Received,
		Answered:   func(p ingest.Progress) { answers(string(p)) },
	}
	writeSettings(h)
	ingest.Mount(h.router, config)
	keys.MountWrites(h.router, h.keys())
	walls.MountWrites(h.router, wallsConfig(h))
	layout.MountWrites(h.router, layoutConfig(h))
	users.MountWrites(h.router, usersConfig(h))
	subscribers.MountWrites(h.router, h.subscribers())
	return h.addMLLP(ingest.NewMessages(config))
}

// answered returns, for the record of a change that an input caused, the record's value and the offset of that input.
// For any other record, ok is false.
func answered(r stream.Record) (value []byte, input int64, ok bool) {
	if !schemas.IsChange(r.Key) {
		return nil, 0, false
	}
	head, err := schemas.PeekChange(r.Value)
	if err != nil || head.Cause != acuity.CauseIngest {
		return nil, 0, false
	}
	return r.Value, head.Offset, true
}

// factsAtMost is the maximum size of an observation in bytes. It is half of the topic's maximum record size, so that a
// later release may add fields to each record.
const factsAtMost = 4 << 20

// observationLog implements [ingest.Log] on the observations topic.
type observationLog struct {
	publisher  *stream.Publisher
	partitions int32
	topic      string
	tracer     *tracing.Tracer
}

func (h *service) observationLog() observationLog {
	topic := h.config.Topic(schemas.Observations())
	return observationLog{h.cluster.Publisher(topic), h.partitions, topic, h.tracer}
}

// Append implements [ingest.Log].
func (l observationLog) Append(ctx context.Context, o *acuity.Observation) (ingest.Position, error) {
	value, err := schemas.EncodeObservation(nil, o)
	switch {
	case err != nil:
		return ingest.Position{}, fmt.Errorf("encode observation: %w", err)
	case len(value) > factsAtMost:
		return ingest.Position{}, ingest.ErrTooLarge
	}
	key := []byte(schemas.ObservationKey(o).String())
	span := l.tracer.Send(ctx, l.topic, o.Hospital)
	parent := span.Traceparent() //nolint:contextcheck // the span has its own context
	at, err := l.publisher.AppendTraced(ctx, key, value, schemas.Partition(key, l.partitions), parent)
	span.Sent(at.Partition, at.Offset, err)
	if err != nil {
		return ingest.Position{}, fmt.Errorf("%w: %w", ingest.ErrAway, err)
	}
	return ingest.Position(at), nil
}

// repeated returns a function that, for a repeated request, finds the change that the original request caused.
func repeated(log verdict.Log) ingest.Repeated {
	return func(ctx context.Context, hospital string, version int64, at acuity.Instant) (acuity.Change, error) {
		change, err := log.Change(ctx, hospital, version, at)
		switch {
		case errors.Is(err, verdict.ErrNoChange):
			return acuity.Change{}, ingest.ErrPending
		case errors.Is(err, verdict.ErrAway):
			return acuity.Change{}, fmt.Errorf("%w: %w", ingest.ErrAway, err)
		case err != nil:
			return acuity.Change{}, err
		}
		return *change, nil
	}
}

// changes implements [ingest.Applied] on the tail of the verdicts topic.
type changes struct{ applied *stream.Applied[[]byte] }

// Wait implements [ingest.Applied].
func (c changes) Wait(ctx context.Context, _ string, p ingest.Position) (acuity.Change, error) {
	value, known, err := c.applied.Wait(ctx, stream.Position(p))
	if err != nil || !known {
		return acuity.Change{}, ingest.ErrPending
	}
	change, err := schemas.ChangeCodec.Decode(value)
	if err != nil {
		return acuity.Change{}, fmt.Errorf("decode change: %w", err)
	}
	return *change, nil
}

// watermarkView implements [ingest.View].
type watermarkView struct{ follow *view.Watermark }

// Wait implements [ingest.View].
func (s watermarkView) Wait(ctx context.Context, _ string, p ingest.Position) (shown bool) {
	return s.follow.Wait(ctx, p.Partition, p.Offset) == nil
}

// hospitals implements [ingest.Settings] on the settings topic.
type hospitals struct{ settings *settings.Store }

// Hospital implements [ingest.Settings].
func (h hospitals) Hospital(id string) (access.Hospital, bool) {
	return h.settings.Register.Hospital(id)
}

// Set implements [ingest.Settings]. It does not change the other settings of the hospital.
func (h hospitals) Set(ctx context.Context, id string, version int64, zone string, senders []access.Sender) error {
	for {
		seen := h.settings.Seen()
		hospital, known := h.settings.Register.Hospital(id)
		if !known || hospital.Version > version {
			return access.ErrOvertaken
		}
		hospital.Version, hospital.Zone, hospital.Senders = version, zone, senders
		err := h.settings.PutHospital(ctx, seen, &hospital)
		if !errors.Is(err, access.ErrOvertaken) || ctx.Err() != nil {
			return err
		}
	}
}

// Key implements [ingest.Settings].
func (h hospitals) Key(id string) (access.Key, bool) { return h.settings.Register.Key(id) }

// senderOf returns a function that returns the rules for interpreting the messages sent with a key.
func senderOf(s *settings.Store) func(access.Key) hl7.Sender {
	return func(key access.Key) hl7.Sender {
		sender := s.Register.Sender(&key)
		return hl7.Sender{OriginalMode: sender.OriginalMode, ProductionOnly: sender.ProductionOnly}
	}
}

// addMLLP adds a front for each address in --mllp.
func (h *service) addMLLP(messages *ingest.Messages) (err error) {
	counts := &mllp.Counts{}
	registerMLLPMetrics(h.metrics, counts)
	c := &engines.Config{
		MLLP: h.config.MLLP, Shell: h.shell, Register: h.settings.Register, Messages: messages, Counts: counts,
		Now: h.now, Log: h.log, Drain: h.config.Drain, Stop: h.config.ShutdownWithin,
	}
	if h.tracer != nil {
		c.Trace = h.tracer.Message
	}
	h.mllpFronts, err = engines.New(c)
	for _, front := range h.mllpFronts {
		front.After = h.Ready
		h.Ports = append(h.Ports, front.Opened)
	}
	return err
}

// registerMLLPMetrics registers the metrics of the listeners.
func registerMLLPMetrics(m *metrics.Registry, c *mllp.Counts) {
	m.Gauge("svc_mllp_connections", "Open MLLP connections.", c.Open.Load)
	m.Counter("svc_mllp_connections_total", "MLLP connections accepted.", c.Connections.Load)
	m.Counter("svc_mllp_turned_away_total", "MLLP connections closed at once because the limit was reached.", c.TurnedAway.Load)
	m.Counter("svc_mllp_messages_total", "Complete MLLP frames received.", c.Messages.Load)
	m.Counter("svc_mllp_answered_total", "MLLP frames processed, whatever the acknowledgment code.", c.Answered.Load)
	m.Counter("svc_mllp_unacknowledged_total", "MLLP frames without an acknowledgment; the sender retries them.", c.NotAccepted.Load)
	for _, f := range mllp.Faults() {
		m.Counter("svc_mllp_fault_"+f.String()+"_total", "MLLP frames that depart from the standard: "+f.String()+".", c.Faults[f].Load)
	}
}
