// Package people turns the changes of a unit into messages to staff on duty. It keeps the state on which package
// policy bases its decisions, routes the decisions to recipients, seals the texts, and tracks whether messages
// arrive.
//
// A step depends only on its state and the instant, and message ids are derived from the number of the decision.
// Therefore a step that is repeated after a crash sends the same messages.
package people

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier"
	"svc/notifier/alert"
	"svc/notifier/event"
	"svc/notifier/policy"
)

// Settings provides the tiers, recipients and webhooks of the hospitals.
type Settings interface {
	Tiers(hospital string) []subscriber.Tier
	Recipient(hospital, id string) (subscriber.Recipient, bool)
	Webhook(hospital, id string) (*subscriber.Webhook, bool)
	// Unit returns the hospital's name and its time zone.
	Unit(hospital string) (name string, zone *time.Location)
}

// Seals encrypts texts that must not be stored in plaintext.
type Seals interface {
	Seal(name string, clear []byte) []byte
	Open(name string, sealed []byte) ([]byte, error)
}

// AlertRunList stores the alert runs for the lists and for the page behind the acknowledgment link. Only Written
// blocks. If the store is unavailable, a run may be missing until the next step.
type AlertRunList interface {
	AlertRun(e outbound.AlertRun)
	// Link records which alert run a token belongs to.
	Link(token string, l outbound.AckLink)
	// Written returns once everything recorded so far can be read, or ctx has ended.
	Written(ctx context.Context)
}

// Config holds the dependencies of [Alerting].
type Config struct {
	Settings Settings
	Seals    Seals // nil: no messages, only surge.alert
	Lists    AlertRunList
	// Rooms waits until the verdict has reached the given version, and then returns the state of the rooms. If Rooms
	// is nil, fails or is slow, alerts omit the rooms.
	Rooms func(ctx context.Context, hospital string, version int64) (*alert.Rooms, error)
	// TokenKey is the key from which the tokens of links are derived. PublicURL is the part of a link before "/a/".
	// If either is missing, alerts have no links.
	TokenKey  []byte
	PublicURL string
}

// roomsWithin is the timeout for Rooms. It is short because an alert must not wait.
const roomsWithin = 200 * time.Millisecond

// listedWithin is the timeout for storing the data of the page behind the acknowledgment link. It is short so that an
// unavailable store does not delay alerts.
const listedWithin = 500 * time.Millisecond

// The reasons why a message is not sent or a command fails.
const (
	reasonRecipient = "no_recipient"
	reasonAddress   = policy.NoAddress
	reasonKey       = "no_key"
	reasonSealed    = "unreadable"
	reasonAlertRun  = "no_episode"
	reasonNewer     = "newer_alert" // the acknowledgment refers to an earlier raise
	reasonReceipt   = "receipt"
)

// Alerting implements [notifier.People].
type Alerting struct{ config Config }

// New returns an Alerting.
func New(c Config) *Alerting { return &Alerting{c} }

var _ notifier.People = (*Alerting)(nil)

// Open implements [notifier.People]. It reads the recipient's current address, so a corrected address takes effect
// with the next attempt.
func (d *Alerting) Open(e *outbound.Entry) (m sending.Message, reason string, later bool) {
	if m.To, reason, later = d.currentAddress(e.Delivery.Hospital, e.Delivery.EndpointID, e.Delivery.Channel); reason != "" {
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

// address returns the recipient's address for a channel, and its masked form. If the address cannot be decrypted,
// only shown is set.
func address(to *subscriber.Recipient, channel subscriber.Channel) (open, shown string) {
	switch channel {
	case subscriber.ChannelMail:
		return to.Email, to.EmailShown
	case subscriber.ChannelSMS:
		return to.Phone, to.PhoneShown
	case subscriber.ChannelWebhook:
	}
	return "", ""
}

// currentAddress returns the address of a recipient for a channel, or the reason why there is none. If later is true,
// the address may become available.
func (d *Alerting) currentAddress(hospital, recipient string, channel subscriber.Channel) (to, reason string, later bool) {
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

// language returns the language of messages to a recipient, or "" if the recipient is unknown.
func (d *Alerting) language(hospital, recipient string) string {
	r, _ := d.config.Settings.Recipient(hospital, recipient)
	return r.Language
}

// sealedName returns the name under which the text of a delivery is sealed: the key of its record.
func sealedName(d *outbound.Delivery) string {
	return d.Hospital + "/" + d.EndpointID + "/" + d.ID
}

// message returns a sealed message for one recipient. Without a sealing key, the message is returned as failed.
func (d *Alerting) message(
	hospital, eventID, name, recipient string, channel subscriber.Channel, words alert.Message, now time.Time, expires time.Duration,
) (outbound.Entry, error) {
	l := outbound.Entry{
		Delivery: outbound.Delivery{
			ID: event.DeliveryID(eventID, recipient, channel), Hospital: hospital, EventID: eventID, Event: name,
			Channel: channel, EndpointID: recipient, State: outbound.Pending, OccurredAt: now,
		},
		Expires: now.Add(expires),
	}
	if d.config.Seals == nil {
		// The ledger must not contain the text in plaintext, so the message cannot be stored for a retry.
		l.Delivery.State, l.Delivery.Reason, l.Expires = outbound.Failed, reasonKey, time.Time{}
		return l, nil
	}
	clear, err := json.Marshal(words)
	if err != nil {
		return l, fmt.Errorf("encode message: %w", err)
	}
	l.Sealed = d.config.Seals.Seal(sealedName(&l.Delivery), clear)
	return l, nil
}

// testFor is how long a test message is retried. It is short because an administrator is waiting for the result.
const testFor = 5 * time.Minute

// Test implements [notifier.People].
func (d *Alerting) Test(now time.Time, c *outbound.Command) (l outbound.Entry, reason string) {
	if _, reason, _ = d.currentAddress(c.Hospital, c.Endpoint, c.Channel); reason != "" {
		return l, reason
	}
	name, zone := d.config.Settings.Unit(c.Hospital)
	language := d.language(c.Hospital, c.Endpoint)
	words := alert.Message{Text: alert.TestSMS(language, name, now.In(zone))}
	if c.Channel == subscriber.ChannelMail {
		var err error
		if words, err = alert.TestMail(language, name, now.In(zone)); err != nil {
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

// noticeFor is how long a message about an endpoint is retried.
const noticeFor = 2 * time.Hour

// notice returns the e-mails about an endpoint to the recipients of tier T1.
func (d *Alerting) notice(now time.Time, hospital string, p *policy.Policy, n *notifier.Notice) ([]outbound.Entry, error) {
	name, zone := d.config.Settings.Unit(hospital)
	content := alert.Notice{
		Unit: name, Endpoint: n.Endpoint, Host: n.Host, State: n.Kind.String(), Since: local(n.Since, zone), At: local(n.At, zone),
	}
	id := event.ID(hospital, hospital+"/"+n.Endpoint+"/lane", n.At.UnixMilli(), "notice", n.Kind.String())
	var all []outbound.Entry
	for _, recipient := range p.Tier(1).Recipients {
		if _, reason, later := d.currentAddress(hospital, recipient, subscriber.ChannelMail); reason != "" && !later {
			continue
		}
		words, err := content.Mail(d.language(hospital, recipient))
		if err != nil {
			return nil, err
		}
		l, err := d.message(hospital, id, "notice", recipient, subscriber.ChannelMail, words, stamp(now), noticeFor)
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

// stamp truncates an instant to milliseconds, the precision of the ledger.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// rooms returns the state of the rooms, or nil if it is not available.
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

// expires returns how long after an alert the messages of a tier are still sent.
func expires(tier *subscriber.Tier) time.Duration {
	preset := subscriber.DefaultTier(tier.Hospital, tier.ID)
	return time.Duration(cmp.Or(tier.ExpireMinutes, preset.ExpireMinutes, 30)) * time.Minute
}

// effect returns the effect to put into an alert if no level change was observed.
func effect(level acuity.Level) acuity.Effect {
	return acuity.Effect{Kind: acuity.LevelChanged, Level: level, Prior: level, Ratio: -1}
}
