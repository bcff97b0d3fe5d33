package main

import (
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/admin/subscribers"
	"svc/internal/cli"
	"svc/internal/config"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/stream"
	"svc/notifier"
	"svc/notifier/alert"
	"svc/notifier/kafka"
	"svc/notifier/lists"
	letters "svc/notifier/mail"
	"svc/notifier/people"
	"svc/notifier/sms"
	"svc/notifier/webhook"
	"svc/readapi"
	"svc/readapi/sources"
	"svc/schemas"
)

// wireNotify wires svc notify, which reads verdicts, and sends requests to partners and messages to people. The ledger
// records the requests and the messages.
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
	senders[subscriber.ChannelWebhook] = hooks
	n := notifier.New(notifier.Config{
		Settings: h.settings.Subscribers, Ledger: ledger, LedgerID: ledger.ID(),
		Partition: func(hospital string) int32 { return schemas.Partition([]byte(hospital), h.partitions) },
		Lists:     told, Metrics: h.metrics.Notifier(),
		Senders: h.tracedSenders(senders), People: people,
		Log: h.log, Now: h.now, Drain: min(5*time.Second, h.config.ShutdownWithin/2), //nolint:mnd // at most half of the time for shutdown
	})
	h.settings.Subscribers.OnChange(n.SettingsChanged)
	share := stream.ShareConfig{
		Group: h.config.TopicPrefix + notifyGroup, Instance: h.config.Instance, Claim: h.claim,
		Topic: h.config.Topic(schemas.Verdicts()), SideTopic: h.config.Topic(schemas.Deliveries()),
		Leave: func() bool { return h.leaves() || h.keyCheck.Healthy(ctx) != nil },
	}
	work := kafka.NewMember(n, h.log)
	h.Run("notify", func(ctx context.Context) error {
		defer ledger.Close()
		defer hooks.Close()
		// The notifier starts before its group member and ends after it, because the member's calls wait for the
		// notifier.
		life, stop := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan error, 1)
		go func() { done <- n.Run(life) }()
		// Without the key that decrypts the endpoints, this process cannot deliver. It then leaves the group, so that
		// other notifiers own the partitions.
		err := h.keyCheck.While(ctx, func(ctx context.Context) error { return h.cluster.Share(ctx, share, work) })
		stop()
		return errors.Join(err, <-done)
	})
	ends := func(ctx context.Context, partitions []int32) (map[int32]int64, error) {
		return h.cluster.Ends(ctx, share.Topic, partitions)
	}
	h.notified = func(ctx context.Context) error { return awaitNotified(ctx, n, ends, h.partitions) }
	h.Run("deliveries", deliveries.Run)
	h.Run("lists", func(ctx context.Context) error { return told.Relist(ctx, n, h.redis.Lists()) })
	h.Run("pulse of lists", func(ctx context.Context) error { return told.Pulse(ctx, n, ends, work.Took, h.now) })
	h.Health.Add("lists", func(context.Context) error { return deliveries.Fault(h.now()) })
	h.Health.Add("notify", func(context.Context) error {
		if _, ever := n.Owned(); ever == 0 {
			return errors.New("no partition acquired yet")
		}
		return nil
	})
	h.metrics.Each("svc_notify_oldest_seconds",
		"Age of the oldest undelivered event, by kind of recipient; events for disabled endpoints do not count.",
		[]string{"to"}, func(_ context.Context, add func(float64, ...string)) {
			for to, at := range map[string]time.Time{"webhooks": n.Oldest(true), "people": n.Oldest(false)} {
				age := 0.0
				if !at.IsZero() {
					age = h.now().Sub(at).Seconds()
				}
				add(age, to)
			}
		})
	h.metrics.Gauge("svc_notify_partitions", "Partitions owned and restored.", func() int64 { now, _ := n.Owned(); return now })
	return nil
}

// awaitNotified returns once the notifier n owns all partitions and has read the verdicts that are in the log at the
// time of the call.
func awaitNotified(ctx context.Context, n *notifier.Notifier, ends lists.Log, partitions int32) error {
	all := make([]int32, partitions)
	for i := range all {
		all[i] = int32(i)
	}
	for {
		end, err := ends(ctx, all)
		marks := n.Positions()
		behind := slices.ContainsFunc(all, func(p int32) bool {
			mark, owned := marks[p]
			at, known := end[p]
			return !owned || !known || mark.Offset < at
		})
		if err == nil && !behind {
			return nil
		}
		if err = cli.Pause(ctx, viewPause); err != nil {
			return err
		}
	}
}

// mailer returns the sender of e-mail, or nil if none is configured.
func mailer(c *config.Config, now func() time.Time) (sending.Sender, error) { //nolint:ireturn // nil is a valid result
	if c.SMTP.Host == "" {
		return nil, nil //nolint:nilnil // e-mail is off
	}
	port, err := strconv.Atoi(c.SMTP.Port)
	if err != nil {
		return nil, fmt.Errorf("SMTP port: %w", err)
	}
	s, err := letters.New(letters.Config{
		Host: c.SMTP.Host, Port: port, Implicit: c.SMTP.TLS == "tls", User: c.SMTP.User, Password: c.SMTP.Password, From: c.SMTP.From,
		Roots: c.SMTP.Roots, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("e-mail: %w", err)
	}
	return s, nil
}

// gateway returns the SMS gateway, or nil if none is configured.
func gateway(c *config.Config, now func() time.Time) (sms.Gateway, error) { //nolint:ireturn // nil is a valid result
	if c.SMS.Driver == "" {
		return nil, nil //nolint:nilnil // SMS is off
	}
	g, err := sms.New(sms.Config{
		Driver: c.SMS.Driver, URL: c.SMS.URL, Account: c.SMS.Account, Token: c.SMS.Token, From: c.SMS.From, Callback: c.PublicURL, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("SMS: %w", err)
	}
	return g, nil
}

// channels returns the senders of messages to people, by channel. A channel that is not configured fails immediately
// with a reason, so that the notifier uses a different channel.
func channels(c *config.Config, now func() time.Time) (map[subscriber.Channel]sending.Sender, error) {
	all := map[subscriber.Channel]sending.Sender{subscriber.ChannelMail: off{}, subscriber.ChannelSMS: off{}}
	if c.Senders != nil {
		return c.Senders, nil
	}
	post, err := mailer(c, now)
	if err != nil {
		return nil, err
	}
	texts, err := gateway(c, now)
	if err != nil {
		return nil, err
	}
	if post != nil {
		all[subscriber.ChannelMail] = post
	}
	if texts != nil {
		all[subscriber.ChannelSMS] = texts
	}
	return all, nil
}

// off is a channel that is not configured.
type off struct{}

// Send implements [sending.Sender].
func (off) Send(context.Context, sending.Message) sending.Result {
	return sending.Result{Class: sending.ClassBlocked, Final: true, Took: 1, Response: "the channel is not configured"}
}

// people returns the component that alerts people, with its dependencies.
func (h *service) people(told lists.Writer) (notifier.People, error) { //nolint:ireturn // the demo has a different implementation
	c := people.Config{
		Settings: alertSettings{h.settings.Subscribers, h}, Lists: told, PublicURL: h.config.PublicURL, Rooms: h.rooms,
	}
	if h.settings.Seals != nil {
		c.Seals = h.settings.Seals
		key, err := hkdf.Key(sha256.New, []byte(h.config.SecretsKey), nil, "svc.v1 acknowledge", sha256.Size)
		if err != nil {
			return nil, fmt.Errorf("derive the link key: %w", err)
		}
		c.TokenKey = key
	}
	if h.rehearse != nil {
		return h.rehearse(c), nil
	}
	return people.New(c), nil
}

// alertSettings implements [people.Settings].
type alertSettings struct {
	*subscribers.Register
	service *service
}

// Recipient implements [people.Settings].
func (t alertSettings) Recipient(hospital, id string) (subscriber.Recipient, bool) {
	r, ok := t.Register.Recipient(hospital, id)
	if !ok {
		return subscriber.Recipient{}, false
	}
	return *r, true
}

// Unit implements [people.Settings].
func (t alertSettings) Unit(hospital string) (name string, zone *time.Location) {
	return t.service.unit(hospital)
}

func (h *service) unit(hospital string) (name string, zone *time.Location) {
	known, ok := h.settings.Register.Hospital(hospital)
	if !ok {
		return hospital, time.UTC
	}
	return cmp.Or(known.Name, hospital), h.settings.Register.Zone(hospital)
}

// viewPause is the time between two reads of a view that is behind.
const viewPause = 20 * time.Millisecond

// rooms returns the current rooms of a unit and the peak of its forecast. It waits until the view has at least the
// given version of the verdict, because the level in an older view may differ from the level in the alert.
func (h *service) rooms(ctx context.Context, hospital string, version int64) (*alert.Rooms, error) {
	view := h.redis.Dated()
	for {
		token, err := view.Token(ctx, hospital)
		if err == nil && token.Generation == h.generation && token.Version >= version {
			break
		}
		if err = cli.Pause(ctx, viewPause); err != nil {
			return nil, err
		}
	}
	read, err := view.Read(ctx, hospital)
	if err != nil {
		return nil, err
	}
	chart := acuity.Chart{Hospital: hospital, Rooms: make([]acuity.RoomChart, len(read.Rooms))}
	var decode sources.Charts
	if err := decode.DecodeUnit(read.Chart, &chart.Unit); err != nil {
		return nil, err
	}
	now := max(acuity.At(h.now()), chart.Unit.Clock)
	rules := chart.Unit.Catalogue()
	rooms := make([]score.RoomVerdict, len(read.Rooms))
	for i, r := range read.Rooms {
		if err := decode.DecodeRoom(r.Chart, &chart.Rooms[i]); err != nil {
			return nil, err
		}
		rooms[i] = score.JudgeRoom(rules, &chart.Rooms[i], now)
	}
	s := alert.SumRooms(rooms)
	s.Peak = alert.ExpectPeak(ctx, sources.Forecasts{View: h.models(), Zones: h.settings.Register.Zone}, &chart, readapi.PredictAt(h.now()))
	return s, nil
}

// links implements [readapi.Alerts] for the page of acknowledgment links.
type links struct {
	sources.Links
	service *service
}

// Unit implements [readapi.Alerts].
func (l links) Unit(hospital string) (name string, zone *time.Location) {
	return l.service.unit(hospital)
}

// Order implements [readapi.Alerts].
func (l links) Order(ctx context.Context, c *outbound.Command) error { return l.service.order(ctx, c) }

// Done implements [readapi.Alerts].
func (l links) Done(ctx context.Context, c *outbound.Command) (outbound.Progress, bool) {
	return subscribers.Await(ctx, sources.Deliveries{Lists: l.service.redis.Lists()}, c, func(p *outbound.Progress) bool { return p.Done })
}

// mountAlerts adds the routes that people and SMS providers use without a key.
func (h *service) mountAlerts() error {
	readapi.MountAcknowledge(h.router, h.shell, links{sources.Links{Lists: h.redis.Lists(), Partitions: h.partitions}, h})
	texts, err := gateway(h.config, h.now)
	if err != nil {
		return err
	}
	receipts := readapi.Receipts{Shell: h.shell, Order: h.order}
	read := func(r *http.Request, body []byte) (outbound.Command, bool, error) {
		receipt, err := texts.Receipt(r.URL, r.Header, body)
		c := outbound.Command{Hospital: receipt.Hospital, Delivery: receipt.DeliveryID, Receipt: receipt.State}
		return c, errors.Is(err, sms.ErrForged), err
	}
	switch {
	case texts == nil:
	case h.config.SMS.Driver == sms.DriverTwilio:
		receipts.Twilio = read
	default:
		receipts.HTTP = read
	}
	readapi.MountReceipts(h.router, receipts)
	return nil
}
