package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"svc/acuity"
	"svc/ingest"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/config"
	"svc/internal/httpapi/access"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/internal/stream"
	"svc/notifier/egress"
	"svc/notifier/event"
	"svc/processors/deadletter"
	"svc/readapi"
	"svc/readapi/sources"
	"svc/readapi/web"
	"svc/readapi/web/signin"
	"svc/schemas"
	"svc/schemas/ledger"
)

// office returns the [users.Office] that administers users and links. The office records each change in the audit
// log.
func (h *service) office() *users.Office {
	office := h.settings.Office(h.audit.Record, h.now)
	office.Refusals = h.refusals
	return office
}

// usersConfig returns the configuration of the routes that administer users.
func usersConfig(h *service) users.Config {
	url := func(token string) string { return h.config.PublicURL + signin.LinkPath + token }
	return users.Config{Shell: h.shell, Office: h.office(), URL: url}
}

// directory stores the users that an identity provider signs in.
type directory struct {
	*users.Office
	register *access.Register
}

// Hospitals implements [signin.Directory].
func (d directory) Hospitals() (ids []string) {
	for _, h := range d.register.Hospitals() {
		ids = append(ids, h.ID)
	}
	return ids
}

// wallOffice returns the [walls.Office] that administers walls. The office records each change in the audit log.
func (h *service) wallOffice() *walls.Office {
	return &walls.Office{Register: h.settings.Walls, Seen: h.settings.Seen, Put: h.settings.PutWall, Audit: h.audit.Record, Now: h.now}
}

// screens gives the pages access to walls.
type screens struct {
	*walls.Office
	*walls.Register
}

// wallsConfig returns the configuration of the routes that administer walls.
func wallsConfig(h *service) walls.Config {
	url := func(token string) string { return h.config.PublicURL + web.WallPath + token }
	return walls.Config{Shell: h.shell, Office: h.wallOffice(), URL: url}
}

// layoutConfig returns the configuration of the routes that administer layouts.
func layoutConfig(h *service) layout.Config {
	s := h.settings
	office := &layout.Office{Register: s.Layouts, Seen: s.Seen, Put: s.PutLayout, Audit: h.audit.Record, Now: h.now}
	return layout.Config{Shell: h.shell, Office: office}
}

// subscribers returns the configuration of the routes that administer webhooks, recipients and
// tiers.
func (h *service) subscribers() subscribers.Config {
	return subscribers.Config{
		Shell: h.shell, Register: h.settings.Subscribers, Lists: sources.Deliveries{Lists: h.redis.Lists()}, Key: h.settings.Register.Key,
		Store: h.settings, Audit: h.audit.Record, Order: h.order, Test: testDelivery, Reason: readapi.Reason,
		Check: guard(h.config).Explain, Zone: h.settings.Register.Zone,
	}
}

// guard returns the egress guard, which decides which addresses svc may call for a hospital.
func guard(c *config.Config) *egress.Guard {
	return egress.New(egress.Config{Allow: c.EgressAllow, Loopback: c.EgressLoopback})
}

// order appends a command to the notifier's ledger.
func (h *service) order(ctx context.Context, c *outbound.Command) error {
	begun := outbound.Progress{ID: c.ID, Hospital: c.Hospital, Verb: c.Verb, UpdatedAt: c.At}
	key, value, err := ledger.Encode(nil, &outbound.Order{Command: *c, Progress: begun, Position: -1})
	if err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	// Writing the progress is best effort. It is written before the order, so it never replaces progress that the
	// notifier has written.
	if text, fault := json.Marshal(begun); fault == nil {
		h.redis.WriteCommand(ctx, c.Hospital, c.ID, text) //nolint:errcheck // the lists are derived data
	}
	name := []byte(key.String())
	_, err = h.cluster.Publisher(h.config.Topic(schemas.Deliveries())).Append(ctx, name, value, schemas.Partition(name, h.partitions))
	return err
}

// testDelivery returns the id of the delivery that a webhook test creates, or "" for a test of another channel.
func testDelivery(c *outbound.Command) string {
	if c.Channel != subscriber.ChannelWebhook {
		return ""
	}
	e, err := event.Test(c, 0) // the level affects only the body of the event, not its id
	if err != nil {
		return ""
	}
	return event.DeliveryID(e.ID, c.Endpoint, c.Channel)
}

// keys returns the configuration of the routes that administer keys.
func (h *service) keys() keys.Config {
	return keys.Config{Shell: h.shell, Ring: h.settings.Ring(h.audit.Record, h.now), Used: h.redis.Used}
}

// deadLetters returns the dead letters. All roles of the process share them.
func (h *service) deadLetters() *deadletter.Letters {
	if h.letters == nil {
		h.letters = deadletter.Follow(h.cluster, h.config.TopicPrefix, h.partitions, h.now, h.log)
		h.Run("dead letters", h.letters.Run)
		h.Ready = append(h.Ready, h.letters.Ready())
	}
	return h.letters
}

// listed returns the function that lists the dead letters of a hospital.
func listed(letters *deadletter.Letters) func(hospital string) []readapi.DeadLetter {
	return func(hospital string) []readapi.DeadLetter {
		all := letters.OfHospital(hospital)
		shown := make([]readapi.DeadLetter, len(all))
		for i := range all {
			l := &all[i]
			shown[i] = readapi.DeadLetter{
				ID: l.ID(), Topic: l.Topic, Partition: l.Partition, Offset: l.Offset,
				Reason: l.Reason, SchemaID: int32(l.Schema), Version: l.Version, At: l.At.Time(), RetriedAt: l.RetriedAt.Time(),
			}
		}
		return shown
	}
}

// readAgain returns the function that decodes the observation in a dead letter again, so that ingest can retry it.
func readAgain(letters *deadletter.Letters) func(ctx context.Context, hospital, id string) (*acuity.Observation, error) {
	return func(ctx context.Context, hospital, id string) (*acuity.Observation, error) {
		o, err := letters.Observation(ctx, hospital, id)
		if errors.Is(err, deadletter.ErrNone) {
			return nil, ingest.ErrNoDeadLetter
		}
		if poison := (*stream.PoisonError)(nil); errors.As(err, &poison) {
			return nil, &ingest.UnreadableError{Reason: poison.Reason}
		}
		return o, err
	}
}
