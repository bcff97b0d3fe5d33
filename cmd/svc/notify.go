package main

import (
	"context"
	"errors"
	"time"

	"svc/internal/config"
	"svc/internal/outbound"
	"svc/internal/stream"
	"svc/notifier"
	"svc/notifier/egress"
	"svc/notifier/kafka"
	"svc/notifier/lists"
	"svc/notifier/webhook"
	"svc/schemas"
)

// notifyGroup is the consumer group of the notifiers.
const notifyGroup = "svc-notifier"

// wireNotify is svc notify. It reads verdicts, and sends requests to partners and messages to
// people. The ledger records both.
func wireNotify(ctx context.Context, h *service) error {
	ledger, err := kafka.OpenLedger(ctx, h.cluster, h.config.Topic(schemas.Deliveries()))
	if err != nil {
		return err
	}
	h.keyCheck.NeedSecrets()
	hooks := webhook.New(webhook.Config{Guard: guard(h.config), Roots: h.config.EgressRoots, Now: h.now})

	deliveries := h.redis.Deliveries()
	told := lists.New(deliveries, h.log)
	people, err := h.people(told)
	if err != nil {
		return err
	}
	senders, err := channels(h.config, h.now)
	if err != nil {
		return err
	}
	senders[outbound.ChannelWebhook] = hooks
	n := notifier.New(notifier.Config{
		Settings: h.settings.Subscribers, Ledger: ledger, LedgerID: ledger.ID(),
		Partition: func(hospital string) int32 { return schemas.Partition([]byte(hospital), h.partitions) },
		Lists:     told, Metrics: h.metrics.Notifier(),
		Senders: senders, People: people,
		Log: h.log, Now: h.now, Drain: min(5*time.Second, h.config.ShutdownWithin/2), //nolint:mnd // half for the drain, half for the rest
	})
	h.settings.Subscribers.OnChange(n.SettingsChanged)
	share := stream.ShareConfig{
		Group: h.config.TopicPrefix + notifyGroup, Instance: h.config.Instance, Claim: h.claim,
		Topic: h.config.Topic(schemas.Verdicts()), Beside: h.config.Topic(schemas.Deliveries()),
		Leave: func() bool { return h.leaves() || h.keyCheck.Healthy(ctx) != nil },
	}
	work := kafka.NewMember(n, h.log)
	h.Run("notify", func(ctx context.Context) error {
		defer ledger.Close()
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
	ends := func(ctx context.Context, partitions []int32) (map[int32]int64, error) {
		return h.cluster.Ends(ctx, share.Topic, partitions)
	}
	h.Run("deliveries", deliveries.Run)
	h.Run("lists", func(ctx context.Context) error { return told.Relist(ctx, n, h.redis.Lists()) })
	h.Run("pulse of lists", func(ctx context.Context) error { return told.Pulse(ctx, n, ends, work.Took, h.now) })
	h.Health.Add("lists", func(context.Context) error { return deliveries.Fault(h.now()) })
	h.Health.Add("notify", func(context.Context) error {
		if _, ever := n.Owned(); ever == 0 {
			return errors.New("no partition was taken up yet")
		}
		return nil
	})
	h.metrics.Gauge("svc_notify_partitions", "Partitions owned and restored.", func() int64 { now, _ := n.Owned(); return now })
	return nil
}

// guard returns the rule that decides which addresses a hospital may call.
func guard(c *config.Config) *egress.Guard {
	return egress.New(egress.Config{Allow: c.EgressAllow, Loopback: c.EgressLoopback})
}
