package main

import (
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/admin/subscribers"
	"svc/internal/cli"
	"svc/internal/outbound"
	"svc/notifier/alert"
	"svc/notifier/lists"
	"svc/notifier/people"
	"svc/notifier/sms"
	"svc/readapi"
	"svc/readapi/sources"
)

// people returns the alerting of people, with its look-ups.
func (h *service) people(told lists.Writer) (*people.Alerting, error) {
	c := people.Config{
		Settings: alertSettings{h.settings.Subscribers, h}, Lists: told, PublicURL: h.config.PublicURL, Rooms: h.rooms,
	}
	if h.settings.Seals != nil {
		c.Seals = h.settings.Seals
		key, err := hkdf.Key(sha256.New, []byte(h.config.SecretsKey), nil, "svc.v1 acknowledge", sha256.Size)
		if err != nil {
			return nil, fmt.Errorf("derive the key of links: %w", err)
		}
		c.TokenKey = key
	}
	return people.New(c), nil
}

// alertSettings implements [people.Settings].
type alertSettings struct {
	*subscribers.Register
	service *service
}

// Recipient implements [people.Settings].
func (t alertSettings) Recipient(hospital, id string) (outbound.Recipient, bool) {
	r, ok := t.Register.Recipient(hospital, id)
	if !ok {
		return outbound.Recipient{}, false
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

// viewPause is the pause before a view that is behind is read again.
const viewPause = 20 * time.Millisecond

// rooms returns the present rooms of a unit and the peak of its forecast. It waits until the view
// has this version of the verdict. An older view may have another level than the alert.
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

// links implements [readapi.Alerts] for the page of links.
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
		return outbound.Command{Hospital: receipt.Hospital, Delivery: receipt.DeliveryID, Receipt: receipt.State}, errors.Is(err, sms.ErrForged), err
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
