package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"svc/acuity"
	"svc/ingest"
	"svc/ingest/engines"
	"svc/internal/admin/audit"
	"svc/internal/admin/users"
	"svc/internal/config"
	"svc/internal/devserver"
	"svc/internal/devserver/pastalerts"
	"svc/internal/lifecycle"
	"svc/internal/stream"
	"svc/notifier"
	"svc/notifier/people"
	"svc/notifier/sms"
	"svc/readapi/web/signin"
	"svc/schemas"
)

const (
	devPartitions  = 3
	devConnections = 100 // over MLLP
)

// devCommand returns the command svc dev.
func devCommand(w env) *cobra.Command {
	o := &devserver.Options{}
	cmd := devserver.Command(o)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runDev(cmd.Context(), o, w) }
	return cmd
}

// runDev runs every role in one process, on the embedded servers of svc dev.
func runDev(ctx context.Context, o *devserver.Options, w env) error {
	lifecycle.CollectLess()
	log := newLog(w.Stderr, o.LogLevel)
	d, err := devserver.Open(ctx, o, w, log)
	if err != nil {
		return err
	}
	defer d.Close()
	h := newService(devConfig(d, o), log, w.Now)
	defer h.close() //nolint:contextcheck // the last spans are exported after ctx has ended
	h.Health.Add("disk", func(context.Context) error { return d.Kafka.Full() })
	private := h.Private(h.config.PrivateListen, h.metrics.Handler())
	private.Listener = d.Metrics
	var began time.Time
	return h.Live(ctx, private, func(ctx context.Context) ([]func(context.Context) error, error) {
		demo, err := d.Demo()
		if err != nil {
			return nil, err
		}
		if demo != nil {
			h.rehearse = func(c people.Config) notifier.People { return pastalerts.New(c, demo.Hospital(), demo.AlertsReady()) }
		}
		if err := h.build(ctx, []string{"ingest", "notify", "process", "read"}); err != nil {
			return nil, err
		}
		d.Mount(h.router, h.settings.Subscribers.Webhooks, h.settings.Register.Zone)
		public, front := h.public(), h.mllpFronts[0]
		public.Listener, front.Listener = d.API, d.HL7
		front.After = append(front.After, d.Greeted)
		h.Run("greeting", func(ctx context.Context) error { return d.Greet(ctx, devRoles(h, front, began)) })
		if demo != nil {
			if err := seedDemo(ctx, h, demo); err != nil {
				return nil, err
			}
			h.Run("demo", func(ctx context.Context) error { return demo.Run(ctx, h.notified) })
		}
		began = w.Now() // before any request is received; the demo's history ends here
		return []func(context.Context) error{public.Run, front.Run}, nil
	})
}

// seedDemo appends the history of the demo to the log, with the original times of receipt. No loop of h reads the log
// yet.
func seedDemo(ctx context.Context, h *service, demo *devserver.Demo) error {
	loader, err := h.cluster.Loader(ctx, h.config.Topic(schemas.Observations()))
	if err != nil {
		return err
	}
	key := []byte(h.config.PseudonymKey) // svc dev never rotates the key, so the pseudonyms match those of later requests
	err = demo.Seed(appendReceived(loader, h.partitions, ingest.NewPseudonyms(key)))
	if err = errors.Join(err, loader.Close()); err != nil {
		return err
	}
	demo.MarkSeeded()
	return nil
}

// appendReceived returns a function that appends a request as if it had been received earlier.
func appendReceived(loader *stream.Loader, partitions int32, pseudonyms ingest.Pseudonyms) devserver.Append {
	return func(feed, hospital string, zone *time.Location, at time.Time, body []byte) error {
		o := &acuity.Observation{Hospital: hospital, ReceivedAt: acuity.At(at), Channel: acuity.Channel(feed), Source: devserver.DemoSource}
		if _, err := ingest.Decode(o, body, zone, pseudonyms); err != nil {
			return err
		}
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			return fmt.Errorf("encode observation: %w", err)
		}
		key := []byte(schemas.ObservationKey(o).String())
		return loader.Put(&stream.Record{Partition: schemas.Partition(key, partitions), Key: key, Value: value, Timestamp: at})
	}
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
			Senders:     []config.MLLPSender{{Address: d.HL7.Addr().String()}}, // front.UseKey sets the key later
			Connections: devConnections, PerPeer: devConnections, Idle: time.Hour,
		},
	}
}

// devRoles returns what svc dev needs from the roles of this process to print its greeting. began is the time at
// which the process started.
func devRoles(h *service, front *engines.Front, began time.Time) *devserver.Roles {
	models := h.models().Watermark()
	return &devserver.Roles{
		Ready:       h.Ready,
		Register:    h.settings.Register,
		PutHospital: h.settings.PutHospital,
		PutKeys:     h.settings.PutKeys,
		SetMLLPKey:  front.UseKey,
		Readable: func(ctx context.Context) error {
			err := h.awaitCurrent(ctx)
			for partition := range h.partitions {
				err = errors.Join(err, models.Wait(ctx, partition, -1))
			}
			return err
		},
		RestoreFeeds: func(ctx context.Context, key string) error { return restoreFeeds(ctx, h, key, began) },
		MakeLink: func(ctx context.Context, hospital, label string) (string, error) {
			_, token, err := h.office().MakeLink(ctx, audit.CommandLine, hospital, label, users.Charge, users.MostTTL)
			return signin.LinkPath + token, err
		},
	}
}
