// Package people turns what happened to a unit into letters to those on duty: it
// keeps the memory that package policy decides from, routes what was decided,
// seals the words, and hears what became of them.
//
// What it decides follows from memory and instant alone, and everything it sends
// has an id derived of the number of the decision: a step that a crash cut off is
// taken again and sends the same.
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
	"svc/notifier/event"
	"svc/notifier/policy"
)

// Settings is who is told, and how a hospital is called.
type Settings interface {
	Tiers(hospital string) []outbound.Tier
	Recipient(hospital, id string) (outbound.Recipient, bool)
	Webhook(hospital, id string) (*outbound.Webhook, bool)
	// Unit is the hospital's name and its time zone.
	Unit(hospital string) (name string, zone *time.Location)
}

// Seals keeps words that are not to lie about in the clear.
type Seals interface {
	Seal(name string, clear []byte) []byte
	Open(name string, sealed []byte) ([]byte, error)
}

// AlertRunList is where the episodes are listed and where the page of the link finds its
// own. What it is told it notes at once; what it cannot write it may lose until the
// next step.
type AlertRunList interface {
	AlertRun(e outbound.AlertRun)
	// Link says of which episode a token is.
	Link(token string, l outbound.AckLink)
	// Written returns once what it noted is to be read, or ctx has ended.
	Written(ctx context.Context)
}

// Config is what the desk needs.
type Config struct {
	Settings Settings
	Seals    Seals // nil: no messages, only surge.alert
	Lists    AlertRunList
	// Rooms looks up how the rooms stand at a version of the verdict or a later one,
	// and waits for that; nil, an error or slowness: alerts do without.
	Rooms func(ctx context.Context, hospital string, version int64) (*alert.Rooms, error)
	// TokenKey makes the tokens of links; PublicURL is before "/a/". Without
	// either there are no links.
	TokenKey  []byte
	PublicURL string
}

// roomsWithin bounds the look-up of the rooms: an alert does not wait.
const roomsWithin = 200 * time.Millisecond

// listedWithin bounds the wait for the page that the link in an alert leads to: a
// board that is away holds up no alert.
const listedWithin = 500 * time.Millisecond

// The reasons for which a letter is not sent, or a command not done.
const (
	reasonRecipient = "no_recipient"
	reasonAddress   = policy.NoAddress
	reasonKey       = "no_key"
	reasonSealed    = "unreadable"
	reasonEpisode   = "no_episode"
	reasonNewer     = "newer_alert" // the answer is one to the raise before
	reasonReceipt   = "receipt"
)

// Alerting is the [notifier.People] of the service.
type Alerting struct{ config Config }

// New returns a desk.
func New(c Config) *Alerting { return &Alerting{c} }

var _ notifier.People = (*Alerting)(nil)

// retries are the waits after a failed attempt; the last one goes on until the
// letter expires.
var retries = []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}

// Retry implements [notifier.People]: what the other side asks for, and no less
// than our own waits.
func (*Alerting) Retry(_ outbound.Channel, attempts int, last outbound.Result) (time.Duration, bool) {
	if last.Final {
		return 0, false
	}
	return max(retries[min(max(attempts, 1), len(retries))-1], last.RetryAfter), true
}

// Open implements [notifier.People]. The address is the one of now: one that was
// put right counts for the next attempt.
func (d *Alerting) Open(e *outbound.Entry) (m outbound.Message, reason string, later bool) {
	to, known := d.config.Settings.Recipient(e.Delivery.Hospital, e.Delivery.EndpointID)
	if !known {
		return m, reasonRecipient, false
	}
	var shown string
	if m.To, shown = address(&to, e.Delivery.Channel); m.To == "" {
		if shown == "" {
			return m, reasonAddress, false
		}
		return m, reasonSealed, true
	}
	if d.config.Seals == nil {
		return m, reasonKey, true
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

// address is where a recipient is reached by a channel, and as lists show it: shown
// alone, it does not open.
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

// opens tells of whom a message could be sent now.
func (d *Alerting) opens(hospital string) func(*sent) bool {
	return func(one *sent) bool {
		to, known := d.config.Settings.Recipient(hospital, one.Recipient)
		open, _ := address(&to, one.Channel)
		return known && open != "" && d.config.Seals != nil
	}
}

// sealedName is the name under which the words of a delivery are sealed: the key
// of its record.
func sealedName(d *outbound.Delivery) string {
	return d.Hospital + "/" + d.EndpointID + "/" + d.ID
}

// message seals words for one recipient, or says why not.
func (d *Alerting) message(hospital, eventID, name, recipient string, channel outbound.Channel, words alert.Message, now time.Time, expires time.Duration) (notifier.Message, error) {
	l := notifier.Message{
		Delivery: outbound.Delivery{
			ID: event.DeliveryID(eventID, recipient, channel), Hospital: hospital, EventID: eventID, Event: name,
			Channel: channel, EndpointID: recipient, State: outbound.Pending, OccurredAt: now,
		},
		Expires: now.Add(expires),
	}
	if d.config.Seals == nil {
		// Words cannot lie in the ledger in the clear, so there is nothing to try again.
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

// testFor is how long the letter of a test is tried: somebody waits for it.
const testFor = 5 * time.Minute

// Test implements [notifier.People].
func (d *Alerting) Test(now time.Time, c *outbound.Command) (l notifier.Message, reason string) {
	to, known := d.config.Settings.Recipient(c.Hospital, c.Endpoint)
	open, shown := address(&to, c.Channel)
	switch {
	case !known:
		return l, reasonRecipient
	case open == "" && shown != "":
		return l, reasonSealed
	case open == "":
		return l, reasonAddress
	case d.config.Seals == nil:
		return l, reasonKey
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

// noticeFor is how long the letter about an endpoint is tried.
const noticeFor = 2 * time.Hour

var noticeStates = map[notifier.NoticeKind]string{
	notifier.NoticeFailing1h: "failing for 1 hour", notifier.NoticeFailing24h: "failing for 24 hours",
	notifier.NoticeDisabled: "disabled", notifier.NoticeRecovered: "recovered",
}

// notice writes the letters to the recipients of T1 about an endpoint.
func (d *Alerting) notice(now time.Time, hospital string, p *policy.Policy, n *notifier.Notice) ([]notifier.Message, error) {
	name, zone := d.config.Settings.Unit(hospital)
	said := alert.Notice{Unit: name, Endpoint: n.Endpoint, Host: n.Host, State: noticeStates[n.Kind], Since: local(n.Since, zone), At: local(n.At, zone)}
	words, err := said.Mail()
	if err != nil {
		return nil, err
	}
	id := event.ID(hospital, hospital+"/"+n.Endpoint+"/lane", n.At.UnixMilli(), "notice", string(n.Kind))
	var all []notifier.Message
	for _, recipient := range p.Tier(1).Recipients {
		to, known := d.config.Settings.Recipient(hospital, recipient)
		if open, shown := address(&to, outbound.ChannelMail); !known || open+shown == "" {
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

// stamp cuts an instant as the ledger keeps it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// rooms looks the rooms up, or does without.
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

// expires is how long the letters of a tier are of use.
func expires(tier *outbound.Tier) time.Duration {
	preset := outbound.DefaultTier(tier.Hospital, tier.ID)
	return time.Duration(cmp.Or(tier.ExpireMinutes, preset.ExpireMinutes, 30)) * time.Minute
}

// effect is what the alert tells of the level, if no change of it was seen.
func effect(level acuity.Level) acuity.Effect {
	return acuity.Effect{Kind: acuity.LevelChanged, Level: level, Prior: level, Ratio: -1}
}
