package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const alertsPath = "/api/admin/alerts"

// alertsCommand is one run of a command of svc alerts.
type alertsCommand struct {
	client

	enabled, recipients, channels, escalateTo, action string
	ack, repeat, expire                               int
	label, email, phone, webhook, channel, by         string
	wait                                              time.Duration
	filter                                            deliveryFilter
}

// AlertsCommand is svc alerts: it administers the alerts of a hospital through its
// API.
func AlertsCommand(w Env) *cobra.Command {
	c := &cobra.Command{
		Use: "alerts", Short: "administer who is alerted, by which channel",
		Long: `add prints the id alone. test and retry end with exit code 1 unless it was
delivered.`,
	}
	tier := verb(w, "set-tier TIER", "change the tier T1, T2 or T3; what is not given stays", (*alertsCommand).setTier, (*alertsCommand).tierFlags, (*alertsCommand).versionFlag)
	tier.ValidArgs = []string{"T1", "T2", "T3"}
	c.AddCommand(
		verb(w, "tiers", "list the tiers", (*alertsCommand).tiers),
		tier,
		verb(w, "recipients", "list the recipients", (*alertsCommand).listRecipients),
		verb(w, "add", "add a recipient, and print its id", (*alertsCommand).add, (*alertsCommand).recipientFlags),
		verb(w, "set RECIPIENT", "change a recipient; what is not given stays, what is given empty is taken away", (*alertsCommand).set, (*alertsCommand).recipientFlags, (*alertsCommand).versionFlag),
		verb(w, "remove RECIPIENT", "remove a recipient", (*alertsCommand).remove, (*alertsCommand).versionFlag),
		verb(w, "test RECIPIENT", "send a message, and wait for the outcome", (*alertsCommand).test, (*alertsCommand).testFlags, (*alertsCommand).waitFlag),
		verb(w, "deliveries [DELIVERY]", "list what was sent, to webhooks too, or show one delivery", (*alertsCommand).deliveries, (*alertsCommand).filterFlags),
		verb(w, "retry DELIVERY", "send again, and wait for the outcome", (*alertsCommand).retry, (*alertsCommand).waitFlag),
		verb(w, "episodes", "list when people were told, and who has taken it", (*alertsCommand).episodes),
		verb(w, "ack EPISODE", "say that somebody has taken it", (*alertsCommand).acknowledge, (*alertsCommand).byFlag),
	)
	return c
}

func (o *alertsCommand) tierFlags(c *cobra.Command) {
	OneOf(c, &o.enabled, "enabled", "", "true or false", "true", "false")
	f := c.Flags()
	f.StringVar(&o.recipients, "recipients", "", "`ids` of those who are told, separated by commas, in this order")
	f.StringVar(&o.channels, "channels", "", "`channels`: email, sms, webhook, separated by commas")
	f.IntVar(&o.ack, "ack", 0, "`minutes` until an alert that nobody has taken escalates; 0: none has to be taken")
	f.StringVar(&o.escalateTo, "escalate-to", "", "`ids` of those who are told then (default: those of the next tier)")
	f.IntVar(&o.repeat, "repeat", 0, "`minutes` after which it is told again if nobody has taken it; 0: never")
	f.IntVar(&o.expire, "expire", 0, "`minutes` after which a message that could not be sent is not sent any more")
	f.StringVar(&o.action, "action", "", "what is to be done, in the `words` of the hospital")
}

func (o *alertsCommand) recipientFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.label, "label", "", "the `role`, never a person by name")
	f.StringVar(&o.email, "email", "", "e-mail `address`")
	f.StringVar(&o.phone, "phone", "", "`number` for SMS, as +15555550100")
	f.StringVar(&o.webhook, "webhook", "", "`id` of a webhook that gets surge.alert for this role")
}

func (o *alertsCommand) testFlags(c *cobra.Command) {
	OneOf(c, &o.channel, "channel", "", "email, sms or webhook", "email", "sms", "webhook")
	Require(c.Flags(), "channel")
}

func (o *alertsCommand) byFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.by, "by", "", "the `role` that has taken it (default: the key)")
}

func (o *alertsCommand) filterFlags(c *cobra.Command) { o.filter.flags(c) }

func (o *alertsCommand) waitFlag(c *cobra.Command) { waitFlag(c, &o.wait, time.Minute) }

// waitFlag adds the flag of the time to wait for an outcome.
func waitFlag(c *cobra.Command, wait *time.Duration, preset time.Duration) {
	c.Flags().DurationVar(wait, "wait", preset, "how long to wait for the outcome; 0: not at all")
}

// tierData is a tier in the form of the API, for answers and requests.
type tierData struct {
	ID            string   `json:"id"`
	Enabled       bool     `json:"enabled"`
	Recipients    []string `json:"recipients"`
	Channels      []string `json:"channels"`
	AckMinutes    int      `json:"ackMinutes"`
	EscalateTo    []string `json:"escalateTo"`
	RepeatMinutes int      `json:"repeatMinutes"`
	ExpireMinutes int      `json:"expireMinutes"`
	Action        string   `json:"action"`
	Version       int64    `json:"version"`

	Warnings []struct{ Code, Path string } `json:"warnings,omitempty"`
}

func (o *alertsCommand) tiers(ctx context.Context) error {
	var all []tierData
	return o.list(ctx, alertsPath+"/tiers", "tiers", &all, func() error { return o.printTiers(all) })
}

func (o *alertsCommand) printTiers(all []tierData) error {
	table := NewTable(o.Stdout, "TIER", "ENABLED", "CHANNELS", "RECIPIENTS", "ACK", "ESCALATES TO", "REPEATS", "EXPIRES", "VERSION", "ACTION")
	minutes := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n) + " min"
	}
	for i := range all {
		t := &all[i]
		table.Row(t.ID, t.Enabled, strings.Join(t.Channels, ","), cmp.Or(strings.Join(t.Recipients, ","), "-"),
			minutes(t.AckMinutes), cmp.Or(strings.Join(t.EscalateTo, ","), "-"), minutes(t.RepeatMinutes), minutes(t.ExpireMinutes), t.Version, t.Action)
	}
	return table.Flush()
}

// setTier sets a whole tier. Values without a flag stay. If the tier changes between the read and
// the write, nothing is set.
func (o *alertsCommand) setTier(ctx context.Context) error {
	var all struct{ Tiers []tierData }
	if err := o.into(ctx, http.MethodGet, alertsPath+"/tiers", nil, &all); err != nil {
		return err
	}
	i := slices.IndexFunc(all.Tiers, func(t tierData) bool { return t.ID == o.id })
	if i < 0 {
		return Usage(fmt.Errorf("no tier %q; there are T1, T2 and T3", o.id))
	}
	t := &all.Tiers[i]
	if o.version == "" {
		o.version = strconv.FormatInt(t.Version, 10)
	}
	body := map[string]any{
		"enabled": t.Enabled, "recipients": t.Recipients, "channels": t.Channels, "ackMinutes": t.AckMinutes, "escalateTo": t.EscalateTo,
		"repeatMinutes": t.RepeatMinutes, "expireMinutes": t.ExpireMinutes, "action": t.Action,
	}
	o.put(body, "enabled", "enabled", o.enabled == "true")
	o.put(body, "recipients", "recipients", commas(o.recipients))
	o.put(body, "channels", "channels", commas(o.channels))
	o.put(body, "ackMinutes", "ack", o.ack)
	o.put(body, "escalateTo", "escalate-to", commas(o.escalateTo))
	o.put(body, "repeatMinutes", "repeat", o.repeat)
	o.put(body, "expireMinutes", "expire", o.expire)
	o.put(body, "action", "action", o.action)
	var set tierData
	return o.show(ctx, http.MethodPut, alertsPath+"/tiers/"+url.PathEscape(o.id), body, &set, func() error {
		for _, w := range set.Warnings {
			fmt.Fprintf(o.Stderr, "warning: %s %s\n", w.Path, w.Code)
		}
		return o.printTiers([]tierData{set})
	})
}

// recipientData is a recipient as the API has it.
type recipientData struct {
	ID, Label               string
	Email, Phone, WebhookID *string
	Version                 int64
	CreatedAt               string
}

func (o *alertsCommand) listRecipients(ctx context.Context) error {
	var all []recipientData
	return o.list(ctx, alertsPath+"/recipients", "recipients", &all, func() error { return o.printRecipients(all) })
}

func (o *alertsCommand) printRecipients(all []recipientData) error {
	table := NewTable(o.Stdout, "ID", "ROLE", "E-MAIL", "PHONE", "WEBHOOK", "VERSION")
	for i := range all {
		r := &all[i]
		table.Row(r.ID, r.Label, orDash(r.Email), orDash(r.Phone), orDash(r.WebhookID), r.Version)
	}
	return table.Flush()
}

// addresses returns the flags of add and set as a body; an empty address is removed.
func (o *alertsCommand) addresses() map[string]any {
	body := map[string]any{}
	for name, one := range map[string]struct{ path, value string }{
		"label": {"label", o.label}, "email": {"email", o.email}, "phone": {"phone", o.phone}, "webhook": {"webhookId", o.webhook},
	} {
		switch {
		case o.flags.Changed(name) && one.value == "":
			body[one.path] = nil
		case o.flags.Changed(name):
			body[one.path] = one.value
		}
	}
	return body
}

func (o *alertsCommand) add(ctx context.Context) error {
	var r recipientData
	return o.show(ctx, http.MethodPost, alertsPath+"/recipients", o.addresses(), &r, func() error { return o.Printf("%s\n", r.ID) })
}

func (o *alertsCommand) path() string { return alertsPath + "/recipients/" + url.PathEscape(o.id) }

func (o *alertsCommand) set(ctx context.Context) error {
	var r recipientData
	return o.show(ctx, http.MethodPatch, o.path(), o.addresses(), &r, func() error {
		return o.printRecipients([]recipientData{r})
	})
}

func (o *alertsCommand) remove(ctx context.Context) error {
	var r recipientData
	return o.show(ctx, http.MethodDelete, o.path(), nil, &r, func() error { return o.Printf("removed %s\n", r.ID) })
}

func (o *alertsCommand) test(ctx context.Context) error {
	return o.runTest(ctx, alertsPath+"/test", map[string]any{"recipientId": o.id, "channel": o.channel}, o.wait)
}

func (o *alertsCommand) deliveries(ctx context.Context) error {
	return o.deliveriesOr(ctx, o.id, &o.filter)
}

func (o *alertsCommand) retry(ctx context.Context) error {
	return o.runTest(ctx, "/api/admin/deliveries/"+url.PathEscape(o.id)+"/retry", nil, o.wait)
}

func (o *alertsCommand) episodes(ctx context.Context) error {
	var all []struct {
		ID, Tier, Level, Reason                   string
		OpenedAt                                  string
		ClosedAt, ToldAt, AckBy, AckedAt, AckedBy *string
		Round                                     int
		Unreached                                 bool
	}
	return o.list(ctx, alertsPath+"/episodes", "items", &all, func() error {
		table := NewTable(o.Stdout, "ID", "TIER", "LEVEL", "OPENED", "CLOSED", "LAST TOLD", "TAKEN")
		for i := range all {
			e := &all[i]
			taken := "-"
			switch {
			case e.AckedAt != nil:
				taken = *e.AckedAt + " by " + shownOr(e.AckedBy)
			case e.AckBy != nil && e.ClosedAt == nil:
				taken = "wanted by " + *e.AckBy
			}
			if e.Unreached && e.AckedAt == nil {
				taken += ", nobody was reached"
			}
			closed := "open"
			if e.ClosedAt != nil {
				closed = *e.ClosedAt
			}
			table.Row(e.ID, e.Tier, e.Level, e.OpenedAt, closed, shownOr(e.ToldAt)+" "+e.Reason, taken)
		}
		return table.Flush()
	})
}

func (o *alertsCommand) acknowledge(ctx context.Context) error {
	body := map[string]any{}
	if o.by != "" {
		body["by"] = o.by
	}
	var done struct {
		CommandID string
		Done      bool
	}
	return o.show(ctx, http.MethodPost, alertsPath+"/episodes/"+url.PathEscape(o.id)+"/ack", body, &done, func() error {
		if !done.Done {
			return fmt.Errorf("the answer is kept, but the notifier has not taken it up yet; svc alerts episodes shows when it has (command %s)", done.CommandID)
		}
		return o.Printf("acknowledged %s\n", o.id)
	})
}
