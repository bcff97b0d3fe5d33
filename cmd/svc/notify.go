package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc/internal/config"
	"svc/internal/outbound"
	"svc/internal/stream"
	"svc/notifier"
	"svc/notifier/egress"
	"svc/notifier/webhook"
	"svc/schemas"
)

// notifyGroup is the consumer group of the notifiers.
const notifyGroup = "svc-notifier"

// wireNotify is svc notify. It reads verdicts, and sends requests to partners and messages to
// people. The ledger records both.
func wireNotify(ctx context.Context, h *service) error {
	ledger, err := h.openLedger(ctx)
	if err != nil {
		return err
	}
	h.keyCheck.NeedSecrets()
	hooks := webhook.New(webhook.Config{Guard: guard(h.config), Roots: h.config.EgressRoots, Now: h.now})

	lists := h.redis.Deliveries()
	desk, err := h.people(listing{lists, h.log})
	if err != nil {
		return err
	}
	senders, err := channels(h.config, h.now)
	if err != nil {
		return err
	}
	senders[outbound.ChannelWebhook] = hooks
	n := notifier.New(notifier.Config{
		Settings: h.settings.Subscribers, Ledger: ledger, LedgerID: ledger.id,
		Partition: func(hospital string) int32 { return schemas.Partition([]byte(hospital), h.partitions) },
		Lists:     listing{lists, h.log}, Metrics: h.metrics.Notifier(),
		Senders: senders, People: desk,
		Log: h.log, Now: h.now, Drain: min(5*time.Second, h.config.ShutdownWithin/2), //nolint:mnd // half for the drain, half for the rest
	})
	h.settings.Subscribers.OnChange(n.SettingsChanged)
	share := stream.ShareConfig{
		Group: h.config.TopicPrefix + notifyGroup, Instance: h.config.Instance, Claim: h.claim,
		Topic: h.config.Topic(schemas.Verdicts()), Beside: h.config.Topic(schemas.Deliveries()),
		Leave: func() bool { return h.leaves() || h.keyCheck.Healthy(ctx) != nil },
	}
	work := member{n, h, make(chan struct{}, 1)}
	h.Run("notify", func(ctx context.Context) error {
		defer ledger.appender.Close()
		defer hooks.Close()
		// The notifier starts before its member and ends after it, because calls of the member
		// wait for it.
		life, stop := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan error, 1)
		go func() { done <- n.Run(life) }()
		// Without the key that opens the endpoints this process cannot deliver. It then leaves
		// the group, and other notifiers own the partitions.
		err := h.keyCheck.While(ctx, func(ctx context.Context) error { return h.cluster.Share(ctx, share, work) })
		stop()
		return errors.Join(err, <-done)
	})
	h.Run("deliveries", lists.Run)
	h.Run("lists", func(ctx context.Context) error { return relist(ctx, h, n, lists) })
	h.Run("pulse of lists", func(ctx context.Context) error { return pulseLists(ctx, h, work, lists) })
	h.Health.Add("lists", func(context.Context) error { return lists.Fault(h.now()) })
	h.Health.Add("notify", func(context.Context) error {
		if _, ever := n.Owned(); ever == 0 {
			return errors.New("no partition was taken up yet")
		}
		return nil
	})
	h.metrics.Gauge("svc_notify_partitions", "Partitions owned and restored.", func() int64 { now, _ := n.Owned(); return now })
	return nil
}

// member implements [stream.Sharer]. It decodes records of Kafka for the notifier.
type member struct {
	*notifier.Notifier
	service *service
	took    chan struct{} // holds a token after a partition was assigned
}

// Assign implements [stream.Sharer].
func (m member) Assign(ctx context.Context, partition int32, committed int64, note string) (next, side int64, err error) {
	next, side, err = m.Notifier.Assign(ctx, partition, committed, note)
	select {
	case m.took <- struct{}{}:
	default:
	}
	return next, side, err
}

// Records implements [stream.Sharer].
func (m member) Records(partition int32, records []stream.Record, through int64, behind bool) {
	var changes []notifier.Change
	for _, r := range records {
		if r.Value == nil || !schemas.IsChange(r.Key) {
			continue
		}
		head, err := schemas.PeekChange(r.Value)
		if err == nil && !head.Effects {
			continue
		}
		change, err := schemas.DecodeChange(r.Value)
		if err != nil {
			// A newer release wrote it. A notifier of that release reads it, once it owns the
			// partition.
			m.Fail(fmt.Errorf("change at %d:%d: %w", r.Partition, r.Offset, err))
			return
		}
		changes = append(changes, notifier.Change{Offset: r.Offset, Change: change})
	}
	if err := m.Changes(partition, changes, through, behind); err != nil {
		m.Fail(err)
	}
}

// Side implements [stream.Sharer]. It passes on the commands in the ledger, which other processes
// write.
func (m member) Side(r stream.Record) {
	key, err := schemas.ParseKey(r.Key)
	if err != nil || key.Kind != schemas.KindCommand || r.Value == nil {
		return
	}
	order, err := schemas.DecodeOrder(r.Value)
	if err != nil {
		m.service.log.Error("command not understood", "partition", r.Partition, "offset", r.Offset, "error", err)
		return
	}
	m.Order(r.Partition, r.Offset, order)
}

// Positions implements [stream.Sharer].
func (m member) Positions() map[int32]stream.Mark {
	all := map[int32]stream.Mark{}
	for p, mark := range m.Notifier.Positions() {
		all[p] = stream.Mark(mark)
	}
	return all
}

// ledger implements [notifier.Ledger] on the deliveries topic.
type ledger struct {
	cluster  *stream.Cluster
	appender *stream.Appender
	topic    string
	id       string // id of the topic
}

func (h *service) openLedger(ctx context.Context) (*ledger, error) {
	l := &ledger{cluster: h.cluster, topic: h.config.Topic(schemas.Deliveries())}
	var err error
	if l.id, err = h.cluster.Generation(ctx, l.topic); err != nil {
		return nil, err
	}
	if l.appender, err = h.cluster.Appender(l.topic); err != nil {
		return nil, err
	}
	return l, nil
}

// Append implements [notifier.Ledger].
func (l *ledger) Append(ctx context.Context, partition int32, entry any, stored func(int64, error)) {
	key, value, err := schemas.EncodeLedger(nil, entry)
	if err != nil {
		stored(-1, err)
		return
	}
	l.appender.Append(ctx, []byte(key.String()), value, partition, stored)
}

// Read implements [notifier.Ledger].
func (l *ledger) Read(ctx context.Context, partition int32, from int64, prefix string, each func(int64, any) bool) (int64, error) {
	return l.read(ctx, partition, from, prefix, false, each)
}

// Restore implements [notifier.Ledger].
func (l *ledger) Restore(ctx context.Context, partition int32, from int64, each func(int64, any) bool) (int64, error) {
	return l.read(ctx, partition, from, "", true, each)
}

func (l *ledger) read(ctx context.Context, partition int32, from int64, prefix string, barrier bool, each func(int64, any) bool) (int64, error) {
	var fault error
	end, err := l.cluster.Extent(ctx, l.topic, partition, from, barrier, func(r stream.Record) bool {
		if !strings.HasPrefix(string(r.Key), prefix) {
			return each(r.Offset, nil)
		}
		entry, err := schemas.DecodeLedger(r.Key, r.Value)
		if err != nil {
			fault = fmt.Errorf("ledger at %d:%d: %w", r.Partition, r.Offset, err)
			return false
		}
		return entry == nil || each(r.Offset, entry)
	})
	return end, errors.Join(err, fault)
}

// At implements [notifier.Ledger].
func (l *ledger) At(ctx context.Context, partition int32, instant time.Time) (int64, error) {
	return l.cluster.At(ctx, l.topic, partition, instant)
}

// guard returns the rule that decides which addresses a hospital may call.
func guard(c *config.Config) *egress.Guard {
	return egress.New(egress.Config{Allow: c.EgressAllow, Loopback: c.EgressLoopback})
}
