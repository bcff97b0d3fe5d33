package main

import (
	"context"
	"encoding/json"
	"fmt"

	"svc/internal/admin/subscribers"
	"svc/internal/outbound"
	"svc/notifier/event"
	"svc/readapi"
	"svc/readapi/sources"
	"svc/schemas"
)

// subscribers returns the configuration of the routes that administer webhooks, recipients and
// tiers.
func (h *service) subscribers() subscribers.Config {
	return subscribers.Config{
		Shell: h.shell, Register: h.settings.Subscribers, Lists: sources.Deliveries{Lists: h.redis.Lists()}, Key: h.settings.Register.Key,
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
