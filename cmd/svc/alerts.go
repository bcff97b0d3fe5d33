package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

const alertsUsage = `usage: svc alerts tiers [flags]
       svc alerts set-tier T1|T2|T3 [--enabled true|false] [--recipients a,b] [--channels email,sms] [--ack MINUTES] [--escalate-to a,b]
                                    [--repeat MINUTES] [--expire MINUTES] [--action TEXT] [flags]
       svc alerts recipients [flags]
       svc alerts add --label ROLE [--email A] [--phone +N] [--webhook WEBHOOK] [flags]
       svc alerts set RECIPIENT [--label ROLE] [--email A] [--phone +N] [--webhook WEBHOOK] [flags]
       svc alerts remove RECIPIENT [flags]
       svc alerts test RECIPIENT --channel email|sms|webhook [--wait 60s] [flags]
       svc alerts deliveries [DELIVERY] [--channel email|sms|webhook] [--state S] [--since TIME] [--until TIME] [--limit N] [flags]
       svc alerts retry DELIVERY [--wait 60s] [flags]
       svc alerts episodes [flags]
       svc alerts ack EPISODE [--by ROLE] [flags]

set-tier keeps what is not given. An empty --email, --phone or --webhook takes it
away. add prints the id alone. test and retry end with exit code 1 unless it was
delivered. deliveries without --channel lists what went to webhooks, too. A TIME is
RFC 3339, or a duration such as 2h: so long ago.

`

const alertsPath = "/api/admin/alerts"

// alertsCommand is one run of svc alerts.
type alertsCommand struct {
	*client
	given map[string]bool
	id    string

	enabled, recipients, channels, escalateTo, action string
	ack, repeat, expire                               int
	label, email, phone, webhook, channel, by         string
	wait                                              time.Duration
	version                                           string
	filter                                            deliveryFilter
}

var alertVerbs = map[string]clientVerb[*alertsCommand]{
	"tiers":      {"", nil, (*alertsCommand).tiers},
	"set-tier":   {"a tier: T1, T2 or T3", []string{"enabled", "recipients", "channels", "ack", "escalate-to", "repeat", "expire", "action", "if-version"}, (*alertsCommand).setTier},
	"recipients": {"", nil, (*alertsCommand).listRecipients},
	"add":        {"", []string{"label", "email", "phone", "webhook"}, (*alertsCommand).add},
	"set":        {"a recipient by its id", []string{"label", "email", "phone", "webhook", "if-version"}, (*alertsCommand).set},
	"remove":     {"a recipient by its id", []string{"if-version"}, (*alertsCommand).remove},
	"test":       {"a recipient by its id", []string{"channel", "wait"}, (*alertsCommand).test},
	"deliveries": {"?", []string{"channel", "state", "since", "until", "limit"}, (*alertsCommand).deliveries},
	"retry":      {"a delivery by its id", []string{"wait"}, (*alertsCommand).retry},
	"episodes":   {"", nil, (*alertsCommand).episodes},
	"ack":        {"an episode by its id", []string{"by"}, (*alertsCommand).acknowledge},
}

// runAlerts administers the alerts of a hospital through its API.
func runAlerts(ctx context.Context, args []string, w world) error {
	o := &alertsCommand{client: newClient("alerts", alertsUsage, w)}
	f := o.flags
	f.StringVar(&o.enabled, "enabled", "", "true or false")
	f.StringVar(&o.recipients, "recipients", "", "`ids` of those who are told, separated by commas, in this order")
	f.StringVar(&o.channels, "channels", "", "email, sms, webhook, separated by commas")
	f.IntVar(&o.ack, "ack", 0, "`minutes` until an alert that nobody has taken escalates; 0: none has to be taken")
	f.StringVar(&o.escalateTo, "escalate-to", "", "`ids` of those who are told then (default: those of the next tier)")
	f.IntVar(&o.repeat, "repeat", 0, "`minutes` after which it is told again if nobody has taken it; 0: never")
	f.IntVar(&o.expire, "expire", 0, "`minutes` after which a message that could not be sent is not sent any more")
	f.StringVar(&o.action, "action", "", "what is to be done, in the `words` of the hospital")
	f.StringVar(&o.label, "label", "", "the `role`, never a person by name")
	f.StringVar(&o.email, "email", "", "e-mail `address`")
	f.StringVar(&o.phone, "phone", "", "`number` for SMS, as +15555550100")
	f.StringVar(&o.webhook, "webhook", "", "`id` of a webhook that gets surge.alert for this role")
	f.StringVar(&o.channel, "channel", "", "email, sms or webhook")
	f.StringVar(&o.by, "by", "", "the `role` that has taken it (default: the key)")
	o.filter.flags(f)
	f.DurationVar(&o.wait, "wait", time.Minute, "how long to wait for the outcome")
	f.StringVar(&o.version, "if-version", "", "do it only if it has this `version`")
	verb, id, err := choose(o.client, args, alertVerbs, "tiers, set-tier, recipients, add, set, remove, test, deliveries, retry, episodes or ack")
	if err != nil {
		return err
	}
	o.id, o.given = id, given(f)
	return verb.run(o, ctx)
}

func (o *alertsCommand) precondition() []string { return precondition(o.version) }

// precondition is If-Match of --if-version.
func precondition(version string) []string {
	if version == "" {
		return nil
	}
	return []string{"If-Match", `"` + version + `"`}
}

// tierData is a tier as the API has it, and takes it.
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
	var all struct{ Tiers []tierData }
	return o.show(ctx, http.MethodGet, alertsPath+"/tiers", nil, &all, func() error { return o.printTiers(all.Tiers) })
}

func (o *alertsCommand) printTiers(all []tierData) error {
	table := tabwriter.NewWriter(o.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "TIER\tENABLED\tCHANNELS\tRECIPIENTS\tACK\tESCALATES TO\tREPEATS\tEXPIRES\tVERSION\tACTION")
	minutes := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n) + " min"
	}
	for i := range all {
		t := &all[i]
		fmt.Fprintf(table, "%s\t%t\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", t.ID, t.Enabled, strings.Join(t.Channels, ","), dashed(strings.Join(t.Recipients, ",")),
			minutes(t.AckMinutes), dashed(strings.Join(t.EscalateTo, ",")), minutes(t.RepeatMinutes), minutes(t.ExpireMinutes), t.Version, t.Action)
	}
	return table.Flush()
}

func dashed(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// setTier sets a tier whole, with what is not given as it is; if it changes in
// between nothing is done.
func (o *alertsCommand) setTier(ctx context.Context) error {
	var all struct{ Tiers []tierData }
	if err := o.into(ctx, http.MethodGet, alertsPath+"/tiers", nil, &all); err != nil {
		return err
	}
	var t *tierData
	for i := range all.Tiers {
		if all.Tiers[i].ID == o.id {
			t = &all.Tiers[i]
		}
	}
	if t == nil {
		return usageError(fmt.Errorf("no tier %q; there are T1, T2 and T3", o.id))
	}
	if o.version == "" {
		o.version = strconv.FormatInt(t.Version, 10)
	}
	if o.given["enabled"] {
		enabled, err := strconv.ParseBool(o.enabled)
		if err != nil {
			return usageError(errors.New("--enabled: must be true or false"))
		}
		t.Enabled = enabled
	}
	for name, list := range map[string]struct {
		text string
		into *[]string
	}{"recipients": {o.recipients, &t.Recipients}, "channels": {o.channels, &t.Channels}, "escalate-to": {o.escalateTo, &t.EscalateTo}} {
		if o.given[name] {
			*list.into = commas(list.text)
		}
	}
	for name, number := range map[string]struct{ given, into *int }{
		"ack": {&o.ack, &t.AckMinutes}, "repeat": {&o.repeat, &t.RepeatMinutes}, "expire": {&o.expire, &t.ExpireMinutes},
	} {
		if o.given[name] {
			*number.into = *number.given
		}
	}
	if o.given["action"] {
		t.Action = o.action
	}
	body := map[string]any{
		"enabled": t.Enabled, "recipients": t.Recipients, "channels": t.Channels, "ackMinutes": t.AckMinutes, "escalateTo": t.EscalateTo,
		"repeatMinutes": t.RepeatMinutes, "expireMinutes": t.ExpireMinutes, "action": t.Action,
	}
	var set tierData
	return o.show(ctx, http.MethodPut, alertsPath+"/tiers/"+url.PathEscape(o.id), body, &set, func() error {
		for _, w := range set.Warnings {
			fmt.Fprintf(o.Stderr, "warning: %s %s\n", w.Path, w.Code)
		}
		return o.printTiers([]tierData{set})
	}, o.precondition()...)
}

// recipientData is a recipient as the API has it.
type recipientData struct {
	ID, Label               string
	Email, Phone, WebhookID *string
	Version                 int64
	CreatedAt               string
}

func (o *alertsCommand) listRecipients(ctx context.Context) error {
	var all struct{ Recipients []recipientData }
	return o.show(ctx, http.MethodGet, alertsPath+"/recipients", nil, &all, func() error { return o.printRecipients(all.Recipients) })
}

func (o *alertsCommand) printRecipients(all []recipientData) error {
	table := tabwriter.NewWriter(o.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tROLE\tE-MAIL\tPHONE\tWEBHOOK\tVERSION")
	shown := func(v *string) string {
		if v == nil {
			return "-"
		}
		return *v
	}
	for i := range all {
		r := &all[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\n", r.ID, r.Label, shown(r.Email), shown(r.Phone), shown(r.WebhookID), r.Version)
	}
	return table.Flush()
}

// addresses are the flags of add and set as a body; an empty one is taken away.
func (o *alertsCommand) addresses() map[string]any {
	body := map[string]any{}
	for name, one := range map[string]struct{ path, value string }{
		"label": {"label", o.label}, "email": {"email", o.email}, "phone": {"phone", o.phone}, "webhook": {"webhookId", o.webhook},
	} {
		switch {
		case o.given[name] && one.value == "":
			body[one.path] = nil
		case o.given[name]:
			body[one.path] = one.value
		}
	}
	return body
}

func (o *alertsCommand) add(ctx context.Context) error {
	var r recipientData
	return o.show(ctx, http.MethodPost, alertsPath+"/recipients", o.addresses(), &r, func() error {
		_, err := fmt.Fprintln(o.Stdout, r.ID)
		return err
	})
}

func (o *alertsCommand) path() string { return alertsPath + "/recipients/" + url.PathEscape(o.id) }

func (o *alertsCommand) set(ctx context.Context) error {
	var r recipientData
	return o.show(ctx, http.MethodPatch, o.path(), o.addresses(), &r, func() error {
		return o.printRecipients([]recipientData{r})
	}, o.precondition()...)
}

func (o *alertsCommand) remove(ctx context.Context) error {
	var r recipientData
	return o.show(ctx, http.MethodDelete, o.path(), nil, &r, func() error {
		_, err := fmt.Fprintf(o.Stdout, "removed %s\n", r.ID)
		return err
	}, o.precondition()...)
}

func (o *alertsCommand) test(ctx context.Context) error {
	if o.channel == "" {
		return usageError(errors.New("--channel: must be email, sms or webhook"))
	}
	return o.tested(ctx, alertsPath+"/test", map[string]any{"recipientId": o.id, "channel": o.channel}, o.wait)
}

func (o *alertsCommand) deliveries(ctx context.Context) error {
	o.filter.channel = o.channel
	return o.deliveriesOr(ctx, o.id, &o.filter)
}

func (o *alertsCommand) retry(ctx context.Context) error {
	return o.tested(ctx, "/api/admin/deliveries/"+url.PathEscape(o.id)+"/retry", nil, o.wait)
}

func (o *alertsCommand) episodes(ctx context.Context) error {
	var all struct {
		Items []struct {
			ID, Tier, Level, Reason                   string
			OpenedAt                                  string
			ClosedAt, ToldAt, AckBy, AckedAt, AckedBy *string
			Round                                     int
			Unreached                                 bool
		}
	}
	return o.show(ctx, http.MethodGet, alertsPath+"/episodes", nil, &all, func() error {
		table := tabwriter.NewWriter(o.Stdout, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tTIER\tLEVEL\tOPENED\tCLOSED\tLAST TOLD\tTAKEN")
		for i := range all.Items {
			e := &all.Items[i]
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
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s %s\t%s\n", e.ID, e.Tier, e.Level, e.OpenedAt, closed, shownOr(e.ToldAt), e.Reason, taken)
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
		_, err := fmt.Fprintf(o.Stdout, "acknowledged %s\n", o.id)
		return err
	})
}
