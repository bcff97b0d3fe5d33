package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"svc/internal/admin/subscribers"
	"svc/internal/outbound"
	"svc/internal/view"
	"svc/notifier/event"
	"svc/readapi"
	"svc/schemas"
)

// subscribers returns the configuration of the routes that administer webhooks, recipients and
// tiers.
func (h *service) subscribers() subscribers.Config {
	return subscribers.Config{
		Shell: h.shell, Register: h.settings.Subscribers, Lists: deliveries{h.redis.Lists()}, Key: h.settings.Register.Key,
		Store: h.settings, Audit: h.audit.Record, Order: h.order, Test: testDelivery, Reason: readapi.Reason,
		Check: guard(h.config).Explain, Zone: h.settings.Register.Zone,
	}
}

// order appends a command to the ledger of the notifier.
func (h *service) order(ctx context.Context, c *outbound.Command) error {
	begun := outbound.Progress{ID: c.ID, Hospital: c.Hospital, Verb: c.Verb, UpdatedAt: c.At}
	key, value, err := schemas.EncodeLedger(nil, &outbound.Order{Command: *c, Progress: begun, Position: -1})
	if err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	// Best effort. It comes before the notifier can read the order, so it is never newer than the
	// notifier's note.
	if text, fault := json.Marshal(begun); fault == nil {
		h.redis.NoteCommand(ctx, c.Hospital, c.ID, text) //nolint:errcheck // the lists are derived
	}
	name := []byte(key.String())
	_, err = h.cluster.Publisher(h.config.Topic(schemas.Deliveries())).Append(ctx, name, value, schemas.Partition(name, h.partitions))
	return err
}

// testDelivery returns the id of the delivery that a test of a webhook makes.
func testDelivery(c *outbound.Command) string {
	if c.Channel != outbound.ChannelWebhook {
		return ""
	}
	e, err := event.Test(c, 0) // the level is in the body of the event, not in its id
	if err != nil {
		return ""
	}
	return event.DeliveryID(e.ID, c.Endpoint, c.Channel)
}

// deliveries are the lists that the notifier writes, as administrators see them.
type deliveries struct{ lists *view.Lists }

// scannedMost bounds how many entries one page reads when a filter leaves nearly all out.
const scannedMost = 20_000

// Deliveries implements [subscribers.View].
func (l deliveries) Deliveries(ctx context.Context, q outbound.Query) (page outbound.Page, err error) {
	behind, ok := view.ParseMark(q.Cursor)
	if q.Cursor != "" && !ok {
		return page, subscribers.ErrCursor
	}
	var fault error
	var last view.Mark
	scanned := 0
	err = l.lists.ScanDeliveries(ctx, q.Hospital, q.Endpoint, q.Since, q.Until, behind, func(m view.Mark, value []byte) bool {
		scanned++
		e, wrong := schemas.DecodeDelivery(value)
		if wrong != nil {
			fault = fmt.Errorf("decode delivery: %w", wrong)
			return false
		}
		d := &e.Delivery
		wanted := (q.Channel == "" || d.Channel == q.Channel) && (q.State == "" || d.State == q.State) && (q.Event == "" || d.Event == q.Event)
		if full := len(page.Items) == q.Limit; full && wanted || scanned > scannedMost {
			page.Next = last.String()
			return false
		}
		if last = m; wanted {
			page.Items = append(page.Items, *d)
		}
		return true
	})
	return page, errors.Join(away(err), fault)
}

// Delivery implements [subscribers.View].
func (l deliveries) Delivery(ctx context.Context, hospital, id string) (outbound.Delivery, bool, error) {
	value, err := l.lists.Delivery(ctx, hospital, id)
	if value == nil {
		return outbound.Delivery{}, false, away(err)
	}
	e, fault := schemas.DecodeDelivery(value)
	if fault != nil {
		return outbound.Delivery{}, false, fmt.Errorf("decode delivery: %w", fault)
	}
	return e.Delivery, true, away(err)
}

// Health implements [subscribers.View].
func (l deliveries) Health(ctx context.Context, hospital, endpoint string) (h outbound.Health, ok bool, err error) {
	value, err := l.lists.Health(ctx, hospital, endpoint)
	ok, err = decodeNote(value, err, &h)
	return h, ok, err
}

// Progress implements [subscribers.View].
func (l deliveries) Progress(ctx context.Context, hospital, command string) (p outbound.Progress, ok bool, err error) {
	value, err := l.lists.Command(ctx, hospital, command)
	ok, err = decodeNote(value, err, &p)
	return p, ok, err
}

// Episodes implements [subscribers.View].
func (l deliveries) Episodes(ctx context.Context, hospital string) ([]outbound.AlertRun, error) {
	values, err := l.lists.Episodes(ctx, hospital)
	err = away(err)
	all := make([]outbound.AlertRun, 0, len(values))
	for _, value := range values {
		var e outbound.AlertRun
		if _, fault := decodeNote([]byte(value), nil, &e); fault != nil {
			return nil, fault
		}
		all = append(all, e)
	}
	return all, err
}

// decodeNote decodes a note of the notifier. ok is false if there is none. The error may be that
// the lists are behind.
func decodeNote(value []byte, err error, into any) (ok bool, _ error) {
	if value == nil {
		return false, away(err)
	}
	if fault := json.Unmarshal(value, into); fault != nil {
		return false, fmt.Errorf("decode note: %w", fault)
	}
	return true, away(err)
}
