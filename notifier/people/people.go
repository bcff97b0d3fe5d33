// Package people turns what happened to a unit into messages to those on duty. It
// keeps the memory from which package policy decides, routes the decisions, seals the
// texts, and records whether the messages arrived.
//
// A step depends only on memory and instant, and the id of each message is derived
// from the number of the decision. A step that a crash interrupted is repeated and
// sends the same messages.
package people

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier"
	"svc/notifier/alert"
	"svc/notifier/endpointqueue"
	"svc/notifier/event"
	"svc/notifier/policy"
)

// Settings are the tiers, recipients and webhooks of the hospitals.
type Settings interface {
	Tiers(hospital string) []outbound.Tier
	Recipient(hospital, id string) (outbound.Recipient, bool)
	Webhook(hospital, id string) (*outbound.Webhook, bool)
	// Unit returns the hospital's name and its time zone.
	Unit(hospital string) (name string, zone *time.Location)
}

// Seals encrypts texts that must not be stored in the clear.
type Seals interface {
	Seal(name string, clear []byte) []byte
	Open(name string, sealed []byte) ([]byte, error)
}

// AlertRunList stores the alert runs for lists and for the page of the
// acknowledgement link. Its methods record at once. Until the next step it may lose
// what it cannot write.
type AlertRunList interface {
	AlertRun(e outbound.AlertRun)
	// Link records the alert run of a token.
	Link(token string, l outbound.AckLink)
	// Written returns once all that was recorded can be read, or ctx has ended.
	Written(ctx context.Context)
}

// Config holds the dependencies of [Alerting].
type Config struct {
	Settings Settings
	Seals    Seals // nil: no messages, only surge.alert
	Lists    AlertRunList
	// Rooms returns the state of the rooms at a version of the verdict or a later
	// one, and waits for that version. If it is nil, fails or is slow, alerts go
	// without rooms.
	Rooms func(ctx context.Context, hospital string, version int64) (*alert.Rooms, error)
	// TokenKey makes the tokens of links. PublicURL is the address before "/a/".
	// Without both there are no links.
	TokenKey  []byte
	PublicURL string
}

// roomsWithin bounds the look-up of the rooms, because an alert must not wait.
const roomsWithin = 200 * time.Millisecond

// listedWithin bounds the wait until the page of the link can be read: lists that are
// away delay no alert.
const listedWithin = 500 * time.Millisecond

// The reasons why a message is not sent, or a command not done.
const (
	reasonRecipient = "no_recipient"
	reasonAddress   = policy.NoAddress
	reasonKey       = "no_key"
	reasonSealed    = "unreadable"
	reasonAlertRun  = "no_episode"
	reasonNewer     = "newer_alert" // the acknowledgement is of the raise before
	reasonReceipt   = "receipt"
)

// Alerting is the [notifier.People] of the service.
type Alerting struct{ config Config }

// New returns an Alerting.
func New(c Config) *Alerting { return &Alerting{c} }

var _ notifier.People = (*Alerting)(nil)

// Open implements [notifier.People]. It takes the present address, so a corrected one
// counts for the next attempt.
func (d *Alerting) Open(e *outbound.Entry) (m outbound.Message, reason string, later bool) {
	if m.To, reason, later = d.reach(e.Delivery.Hospital, e.Delivery.EndpointID, e.Delivery.Channel); reason != "" {
		return m, reason, later
	}
	clear, err := d.config.Seals.Open(sealedName(&e.Delivery), e.Sealed)
	if err != nil {
		return m, reasonSealed, true
	}
	var words alert.Message
	if err := json.Unmarshal(clear, &words); err != nil {
		return m, reasonSealed, false
	}
	m.Subject, m.Text, m.HTML = words.Subject, words.Text, words.HTML
	return m, "", false
}

// address returns the recipient's address for a channel, and its masked form. If only
// shown is set, the address does not decrypt.
func address(to *outbound.Recipient, channel outbound.Channel) (open, shown string) {
	switch channel {
	case outbound.ChannelMail:
		return to.Email, to.EmailShown
	case outbound.ChannelSMS:
		return to.Phone, to.PhoneShown
	case outbound.ChannelWebhook:
	}
	return "", ""
}

// reach returns the address at which a recipient is reached by a channel now, or the
// reason why that is not possible. With later it may become possible.
func (d *Alerting) reach(hospital, recipient string, channel outbound.Channel) (to, reason string, later bool) {
	r, known := d.config.Settings.Recipient(hospital, recipient)
	open, shown := address(&r, channel)
	switch {
	case !known:
		return "", reasonRecipient, false
	case open == "" && shown == "":
		return "", reasonAddress, false
	case open == "":
		return "", reasonSealed, true
	case d.config.Seals == nil:
		return "", reasonKey, true
	}
	return open, "", false
}

// sealedName returns the name under which the text of a delivery is sealed: the key
// of its record.
func sealedName(d *outbound.Delivery) string {
	return d.Hospital + "/" + d.EndpointID + "/" + d.ID
}

// message returns a sealed message for one recipient. Without a key to seal it has
// failed.
func (d *Alerting) message(
	hospital, eventID, name, recipient string, channel outbound.Channel, words alert.Message, now time.Time, expires time.Duration,
) (outbound.Entry, error) {
	l := outbound.Entry{
		Delivery: outbound.Delivery{
			ID: event.DeliveryID(eventID, recipient, channel), Hospital: hospital, EventID: eventID, Event: name,
			Channel: channel, EndpointID: recipient, State: outbound.Pending, OccurredAt: now,
		},
		Expires: now.Add(expires),
	}
	if d.config.Seals == nil {
		// The ledger must not hold the text in the clear, so there is nothing to try
		// again.
		l.Delivery.State, l.Delivery.Reason, l.Expires = outbound.Failed, reasonKey, time.Time{}
		return l, nil
	}
	clear, err := json.Marshal(words)
	if err != nil {
		return l, fmt.Errorf("encode letter: %w", err)
	}
	l.Sealed = d.config.Seals.Seal(sealedName(&l.Delivery), clear)
	return l, nil
}

// testFor is how long a test message is tried: somebody waits for it.
const testFor = 5 * time.Minute

// Test implements [notifier.People].
func (d *Alerting) Test(now time.Time, c *outbound.Command) (l outbound.Entry, reason string) {
	if _, reason, _ = d.reach(c.Hospital, c.Endpoint, c.Channel); reason != "" {
		return l, reason
	}
	name, zone := d.config.Settings.Unit(c.Hospital)
	words := alert.Message{Text: alert.TestSMS(name, now.In(zone))}
	if c.Channel == outbound.ChannelMail {
		var err error
		if words, err = alert.TestMail(name, now.In(zone)); err != nil {
			return l, reasonSealed
		}
	}
	id := event.ID(c.Hospital, c.Hospital+"/command/"+c.ID, 0, outbound.Ping, "")
	l, err := d.message(c.Hospital, id, outbound.Ping, c.Endpoint, c.Channel, words, stamp(now), testFor)
	if err != nil {
		return l, reasonSealed
	}
	return l, ""
}

// noticeFor is how long the message about an endpoint is tried.
const noticeFor = 2 * time.Hour

var noticeStates = map[endpointqueue.Notice]string{
	endpointqueue.FailingHour: "failing for 1 hour", endpointqueue.FailingDay: "failing for 24 hours",
	endpointqueue.Disabled: "disabled", endpointqueue.Recovered: "recovered",
}

// notice returns the messages about an endpoint to the recipients of T1.
func (d *Alerting) notice(now time.Time, hospital string, p *policy.Policy, n *notifier.Notice) ([]outbound.Entry, error) {
	name, zone := d.config.Settings.Unit(hospital)
	words, err := (&alert.Notice{
		Unit: name, Endpoint: n.Endpoint, Host: n.Host, State: noticeStates[n.Kind], Since: local(n.Since, zone), At: local(n.At, zone),
	}).Mail()
	if err != nil {
		return nil, err
	}
	id := event.ID(hospital, hospital+"/"+n.Endpoint+"/lane", n.At.UnixMilli(), "notice", n.Kind.String())
	var all []outbound.Entry
	for _, recipient := range p.Tier(1).Recipients {
		if _, reason, later := d.reach(hospital, recipient, outbound.ChannelMail); reason != "" && !later {
			continue
		}
		l, err := d.message(hospital, id, "notice", recipient, outbound.ChannelMail, words, stamp(now), noticeFor)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func local(t time.Time, zone *time.Location) time.Time {
	if t.IsZero() {
		return t
	}
	return t.In(zone)
}

// stamp truncates an instant to the milliseconds of the ledger.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// rooms looks up the rooms; nil if that fails.
func (d *Alerting) rooms(ctx context.Context, hospital string, version int64) *alert.Rooms {
	if d.config.Rooms == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, roomsWithin)
	defer cancel()
	rooms, err := d.config.Rooms(ctx, hospital, version)
	if err != nil {
		return nil
	}
	return rooms
}

// expires returns how long the messages of a tier are useful.
func expires(tier *outbound.Tier) time.Duration {
	preset := outbound.DefaultTier(tier.Hospital, tier.ID)
	return time.Duration(cmp.Or(tier.ExpireMinutes, preset.ExpireMinutes, 30)) * time.Minute
}

// effect returns the effect in an alert if no change of the level was seen.
func effect(level acuity.Level) acuity.Effect {
	return acuity.Effect{Kind: acuity.LevelChanged, Level: level, Prior: level, Ratio: -1}
}
