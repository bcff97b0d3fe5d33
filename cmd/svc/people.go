package main

import (
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/acuity/score"
	"svc/internal/admin/subscribers"
	"svc/internal/outbound"
	"svc/notifier/alert"
	"svc/notifier/people"
	"svc/notifier/sms"
	"svc/readapi"
)

// people returns the alerting of people, with its look-ups.
func (h *service) people(lists listing) (*people.Alerting, error) {
	c := people.Config{
		Settings: alertSettings{h.settings.Subscribers, h}, Lists: lists, PublicURL: h.config.PublicURL, Rooms: h.rooms,
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
		if err = pause(ctx, viewPause); err != nil {
			return nil, err
		}
	}
	read, err := view.Read(ctx, hospital)
	if err != nil {
		return nil, err
	}
	chart := acuity.Chart{Hospital: hospital, Rooms: make([]acuity.RoomChart, len(read.Rooms))}
	var decode charts
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
	s := summary(rooms)
	s.Peak = expected(ctx, forecasts{h.models(), h.settings.Register.Zone}, &chart, readapi.PredictAt(h.now()))
	return s, nil
}

// expected returns the peak of the forecast that GET /api/v1/predict answers. nil: there is too
// little history, or the model does not arrive in time.
func expected(ctx context.Context, learned readapi.Forecasts, chart *acuity.Chart, at acuity.Instant) *alert.Peak {
	model, err := learned.Model(ctx, chart.Hospital)
	if err != nil {
		return nil
	}
	f, err := forecast.Predict(model, forecast.UnitOf(chart, at, learned.Zone(chart.Hospital)))
	if err != nil {
		return nil
	}
	return &alert.Peak{At: f.Peak.At.Time(), Nurses: f.Peak.P90}
}

// summary counts the open rooms and picks those with the highest score.
func summary(rooms []score.RoomVerdict) *alert.Rooms {
	s := &alert.Rooms{}
	slices.SortStableFunc(rooms, func(a, b score.RoomVerdict) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	for i := range rooms {
		r := &rooms[i]
		if r.Status == acuity.RoomEmpty {
			s.Open++
		}
		if r.Color != acuity.ColorGray && len(s.Top) < alert.MaxTop {
			s.Top = append(s.Top, alert.Room{ID: r.ID, Label: r.Label, Color: r.Color, Nursing: r.Demand.Nursing()})
		}
	}
	return s
}

// linkID returns the key of a token in Redis. It is a hash, so the data in Redis is not enough to
// answer an alert.
func linkID(token string) string {
	sum := sha256.Sum256([]byte("svc.v1 link " + token))
	return hex.EncodeToString(sum[:16])
}

// Link writes where the link in an alert leads.
func (s listing) Link(token string, l outbound.AckLink) {
	s.note(l, func(value []byte) { s.lists.PutLink(linkID(token), value) })
}

// Written waits until the page of a link can find its alert run.
func (s listing) Written(ctx context.Context) { s.lists.Written(ctx) }

// links implements [readapi.Alerts] for the page of links.
type links struct{ service *service }

// Link implements [readapi.Alerts].
func (l links) Link(ctx context.Context, token string) (link outbound.AckLink, ok bool, err error) {
	value, err := l.service.redis.Lists().Link(ctx, linkID(token))
	if ok, err = decodeNote(value, err, &link); ok || err != nil {
		return link, ok, err
	}
	// The hospital of the link is unknown. So a link is known to be absent only if the lists of
	// all partitions are complete.
	faults, err := l.service.redis.Lists().Faults(ctx, l.service.partitions)
	return link, false, away(errors.Join(err, partitionFaults(faults, int(l.service.partitions))))
}

// Episode implements [readapi.Alerts].
func (l links) Episode(ctx context.Context, hospital, id string) (e outbound.AlertRun, ok bool, err error) {
	all, err := l.service.redis.Lists().Episodes(ctx, hospital)
	if all[id] == "" {
		return e, false, away(err)
	}
	ok, err = decodeNote([]byte(all[id]), err, &e)
	return e, ok, err
}

// Unit implements [readapi.Alerts].
func (l links) Unit(hospital string) (name string, zone *time.Location) {
	return l.service.unit(hospital)
}

// Order implements [readapi.Alerts].
func (l links) Order(ctx context.Context, c *outbound.Command) error { return l.service.order(ctx, c) }

// Done implements [readapi.Alerts].
func (l links) Done(ctx context.Context, c *outbound.Command) (outbound.Progress, bool) {
	return subscribers.Await(ctx, deliveries{l.service.redis.Lists()}, c, func(p *outbound.Progress) bool { return p.Done })
}

// mountAlerts adds the routes that people and SMS providers use without a key.
func (h *service) mountAlerts() error {
	readapi.MountAcknowledge(h.router, h.shell, links{h})
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
