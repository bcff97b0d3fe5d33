package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"svc/ingest/engines"
	"svc/internal/admin/audit"
	"svc/internal/admin/users"
	"svc/internal/config"
	"svc/internal/devserver"
	"svc/internal/lifecycle"
	"svc/notifier/sms"
	"svc/readapi/web/signin"
)

const (
	devPartitions  = 3
	devConnections = 100 // over MLLP
)

// devCommand is svc dev.
func devCommand(w env) *cobra.Command {
	o := &devserver.Options{}
	cmd := devserver.Command(o)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runDev(cmd.Context(), o, w) }
	return cmd
}

// runDev runs every role in one process on the servers of the development server.
func runDev(ctx context.Context, o *devserver.Options, w env) error {
	lifecycle.CollectLess()
	log := newLog(w.Stderr, o.LogLevel)
	d, err := devserver.Open(ctx, o, w, log)
	if err != nil {
		return err
	}
	defer d.Close()
	h := newService(devConfig(d, o), log, w.Now)
	defer h.close()
	h.Health.Add("disk", func(context.Context) error { return d.Kafka.Full() })
	private := h.Private(h.config.PrivateListen, h.metrics.Handler())
	private.Listener = d.Metrics
	return h.Live(ctx, private, func(ctx context.Context) ([]func(context.Context) error, error) {
		if err := h.build(ctx, []string{"ingest", "notify", "process", "read"}); err != nil {
			return nil, err
		}
		d.Mount(h.router, h.settings.Subscribers.Webhooks)
		public, front := h.public(), h.mllpFronts[0]
		public.Listener, front.Listener = d.API, d.HL7
		front.After = append(front.After, d.Greeted)
		h.Run("greeting", func(ctx context.Context) error { return d.Greet(ctx, devRoles(h, front)) })
		demo, err := d.Demo()
		if err != nil {
			return nil, err
		}
		if demo != nil {
			h.Run("demo", demo)
		}
		return []func(context.Context) error{public.Run, front.Run}, nil
	})
}

// devConfig returns the configuration of the roles in svc dev.
func devConfig(d *devserver.Server, o *devserver.Options) *config.Config {
	return &config.Config{
		PublicURL: d.URL(), Senders: d.Senders(), SMS: config.SMS{Driver: sms.DriverHTTP, URL: d.OutboxURL(), Token: devserver.SMSToken},
		Instance: "dev", Kafka: []string{d.Kafka.Addr()}, KafkaFull: d.Kafka.Full, Partitions: devPartitions,
		Redis: d.RedisURL, Listen: d.API.Addr().String(), PrivateListen: d.Metrics.Addr().String(),
		PseudonymKey: d.PseudonymKey, SecretsKey: d.SecretsKey, KeysFixed: true,
		EgressLoopback: true, LogLevel: o.LogLevel, ShutdownWithin: time.Second,
		MLLP: config.MLLP{
			Senders:     []config.MLLPSender{{Address: d.HL7.Addr().String()}}, // uses the key that the greeting makes
			Connections: devConnections, PerPeer: devConnections, Idle: time.Hour,
		},
	}
}

// devRoles returns what the greeting needs of the roles.
func devRoles(h *service, front *engines.Front) *devserver.Roles {
	models := h.models().Watermark()
	return &devserver.Roles{
		Ready:       h.Ready,
		Register:    h.settings.Register,
		PutHospital: h.settings.PutHospital,
		PutKeys:     h.settings.PutKeys,
		SetMLLPKey:  front.UseKey,
		Readable: func(ctx context.Context) error {
			err := h.current(ctx)
			for partition := range h.partitions {
				err = errors.Join(err, models.Wait(ctx, partition, -1))
			}
			return err
		},
		MakeLink: func(ctx context.Context, hospital, label string) (string, error) {
			_, token, err := h.office().MakeLink(ctx, audit.CommandLine, hospital, label, users.Charge, users.MostTTL)
			return signin.LinkPath + token, err
		},
	}
}
