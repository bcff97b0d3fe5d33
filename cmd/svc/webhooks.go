package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

const webhooksUsage = `usage: svc webhooks list [flags]
       svc webhooks add URL [--events a,b] [--rooms 1,4] [--rate N] [--timeout SECONDS] [--reader-keys a,b] [--secret-file FILE] [flags]
       svc webhooks show|remove WEBHOOK [flags]
       svc webhooks set WEBHOOK [--url URL] [--events a,b] [--rooms 1,4|all] [--enabled true|false] [--rate N] [--timeout SECONDS] [--reader-keys a,b] [flags]
       svc webhooks rotate WEBHOOK [--overlap 0|1h|24h|7d] [--secret-file FILE] [flags]
       svc webhooks test WEBHOOK [--event ping] [--wait 30s] [flags]
       svc webhooks deliveries [WEBHOOK|DELIVERY] [--channel C] [--state S] [--event E] [--since TIME] [--until TIME] [--limit N] [flags]
       svc webhooks retry DELIVERY [--wait 30s] [flags]
       svc webhooks replay WEBHOOK --since TIME [--until TIME] [--events a,b] [--only failed|missing|all] [--wait 0] [flags]
       svc webhooks progress|stop COMMAND [flags]

add and rotate print the secret alone; it is shown only then. test and retry end
with exit code 1 unless the endpoint accepted. replay prints the COMMAND, by which
progress tells how far it is and stop ends it. A TIME is RFC 3339, or a duration
such as 2h: so long ago.

`

const webhooksPath = "/api/admin/webhooks"

// webhooksCommand is one run of svc webhooks.
type webhooksCommand struct {
	*client
	given map[string]bool // flags that were given
	id    string          // what the verb is about: a webhook, a delivery, the URL of a new one

	url, events, rooms, readers, secretFile, overlap string
	enabled                                          string
	rate                                             float64
	timeout                                          int
	event, only                                      string
	wait                                             time.Duration
	filter                                           deliveryFilter
	version                                          string
}

var webhookVerbs = map[string]clientVerb[*webhooksCommand]{
	"list":       {"", nil, (*webhooksCommand).list},
	"add":        {"?", []string{"url", "events", "rooms", "rate", "timeout", "reader-keys", "secret-file"}, (*webhooksCommand).add},
	"show":       {"a webhook by its id", nil, (*webhooksCommand).one},
	"set":        {"a webhook by its id", []string{"url", "events", "rooms", "enabled", "rate", "timeout", "reader-keys", "if-version"}, (*webhooksCommand).set},
	"remove":     {"a webhook by its id", []string{"if-version"}, (*webhooksCommand).remove},
	"rotate":     {"a webhook by its id", []string{"overlap", "secret-file", "if-version"}, (*webhooksCommand).rotate},
	"test":       {"a webhook by its id", []string{"event", "wait"}, (*webhooksCommand).test},
	"deliveries": {"?", []string{"channel", "state", "event", "since", "until", "limit"}, (*webhooksCommand).deliveries},
	"retry":      {"a delivery by its id", []string{"wait"}, (*webhooksCommand).retry},
	"replay":     {"a webhook by its id", []string{"since", "until", "events", "only", "wait"}, (*webhooksCommand).replay},
	"progress":   {"a command by its id", nil, func(o *webhooksCommand, ctx context.Context) error { return o.command(ctx, o.id, false) }},
	"stop":       {"a command by its id", nil, func(o *webhooksCommand, ctx context.Context) error { return o.command(ctx, o.id, true) }},
}

// runWebhooks administers the webhooks of a hospital through its API.
func runWebhooks(ctx context.Context, args []string, w world) error {
	o := &webhooksCommand{client: newClient("webhooks", webhooksUsage, w)}
	f := o.flags
	f.StringVar(&o.url, "url", "", "`address` of the endpoint, https")
	f.StringVar(&o.events, "events", "", "`events`, separated by commas (default: surge.level_changed,room.rescored)")
	f.StringVar(&o.rooms, "rooms", "", "`ids` of rooms whose room.rescored is sent, separated by commas (default: all)")
	f.StringVar(&o.enabled, "enabled", "", "true or false: paused")
	f.Float64Var(&o.rate, "rate", 0, "deliveries per second at most (default 50)")
	f.IntVar(&o.timeout, "timeout", 0, "`seconds` for all of one attempt (default 10)")
	f.StringVar(&o.readers, "reader-keys", "", "`ids` of keys that may list the deliveries, separated by commas")
	f.StringVar(&o.secretFile, "secret-file", "", "`file` that holds a secret of the partner's own (default: one is made)")
	f.StringVar(&o.overlap, "overlap", "24h", "how long the old secret goes on to sign: 0, 1h, 24h or 7d")
	f.StringVar(&o.version, "if-version", "", "do it only if the webhook has this `version`")
	f.StringVar(&o.event, "event", "", "test: what to send, deliveries: only these")
	f.StringVar(&o.filter.channel, "channel", "", "deliveries: webhook, email or sms")
	o.filter.flags(f)
	f.StringVar(&o.only, "only", "", "failed, missing or all (default missing)")
	f.DurationVar(&o.wait, "wait", 30*time.Second, "how long to wait for the outcome; a replay: 0")
	verb, id, err := choose(o.client, args, webhookVerbs, "list, add, show, set, remove, rotate, test, deliveries, retry, replay, progress or stop")
	if err != nil {
		return err
	}
	o.id, o.given = id, given(f)
	return verb.run(o, ctx)
}

// webhookData is a webhook as the API has it.
type webhookData struct {
	ID, URL        string
	Events         []string
	Rooms          []int32
	Enabled        bool
	RatePerSecond  float64
	TimeoutSeconds int
	ReaderKeyIDs   []string
	Secrets        []struct {
		ID, State string
		Until     *string
	}
	Status, Reason      *string
	FailingSince        *string
	Waiting             *int
	Version             int64
	CreatedAt           string
	Secret              string
	PromoteAt, RetireAt string
	Warnings            []struct{ Code, Path string }
}

func (o *webhooksCommand) path() string { return webhooksPath + "/" + url.PathEscape(o.id) }

func (o *webhooksCommand) list(ctx context.Context) error {
	var all struct{ Webhooks []webhookData }
	return o.show(ctx, http.MethodGet, webhooksPath, nil, &all, func() error {
		table := tabwriter.NewWriter(o.Stdout, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tSTATUS\tWAITING\tEVENTS\tROOMS\tURL")
		for i := range all.Webhooks {
			w := &all.Webhooks[i]
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", w.ID, w.status(), shownOr(w.Waiting), strings.Join(w.Events, ","), w.rooms(), w.URL)
		}
		return table.Flush()
	})
}

func (w *webhookData) status() string {
	if w.Reason != nil {
		return shownOr(w.Status) + " (" + *w.Reason + ")"
	}
	return shownOr(w.Status)
}

func (w *webhookData) rooms() string {
	if len(w.Rooms) == 0 {
		return "all"
	}
	return joined(w.Rooms)
}

func joined[T any](list []T) string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = fmt.Sprint(v)
	}
	return strings.Join(all, ",")
}

func (o *webhooksCommand) one(ctx context.Context) error {
	var w webhookData
	return o.show(ctx, http.MethodGet, o.path(), nil, &w, func() error { return o.print(&w) })
}

// print shows a webhook, a line for each thing.
func (o *webhooksCommand) print(w *webhookData) error {
	table := tabwriter.NewWriter(o.Stdout, 0, 4, 2, ' ', 0)
	line := func(name, value string) { fmt.Fprintf(table, "%s\t%s\n", name, value) }
	line("id", w.ID)
	line("url", w.URL)
	line("status", w.status())
	if w.FailingSince != nil {
		line("failing since", *w.FailingSince)
	}
	line("waiting", shownOr(w.Waiting))
	line("events", strings.Join(w.Events, ","))
	line("rooms", w.rooms())
	line("rate", strconv.FormatFloat(w.RatePerSecond, 'f', -1, 64)+" per second")
	line("timeout", strconv.Itoa(w.TimeoutSeconds)+" s")
	for _, s := range w.Secrets {
		until := ""
		if s.Until != nil {
			until = " until " + *s.Until
		}
		line("secret", s.ID+" "+s.State+until)
	}
	if len(w.ReaderKeyIDs) > 0 {
		line("reader keys", strings.Join(w.ReaderKeyIDs, ","))
	}
	line("version", strconv.FormatInt(w.Version, 10))
	line("created", w.CreatedAt)
	return table.Flush()
}

// settings are the flags of add and set as a body.
func (o *webhooksCommand) settings() (map[string]any, error) {
	body := map[string]any{}
	if o.given["url"] {
		body["url"] = o.url
	}
	if o.given["events"] {
		body["events"] = commas(o.events)
	}
	if o.given["reader-keys"] {
		body["readerKeyIds"] = commas(o.readers)
	}
	if o.given["rate"] {
		body["ratePerSecond"] = o.rate
	}
	if o.given["timeout"] {
		body["timeoutSeconds"] = o.timeout
	}
	if o.given["enabled"] {
		enabled, err := strconv.ParseBool(o.enabled)
		if err != nil {
			return nil, usageError(errors.New("--enabled: must be true or false"))
		}
		body["enabled"] = enabled
	}
	if o.given["rooms"] {
		var rooms []int32
		for _, text := range commas(o.rooms) {
			if o.rooms == "all" {
				break
			}
			id, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return nil, usageError(errors.New("--rooms: must be ids of rooms, or all"))
			}
			rooms = append(rooms, int32(id))
		}
		body["rooms"] = rooms
	}
	return body, o.ownSecret(body)
}

func (o *webhooksCommand) ownSecret(body map[string]any) error {
	if o.secretFile == "" {
		return nil
	}
	secret, err := readSecret(o.secretFile)
	if err != nil {
		return fmt.Errorf("--secret-file: %w", err)
	}
	body["secret"] = secret
	return nil
}

func (o *webhooksCommand) add(ctx context.Context) error {
	body, err := o.settings()
	if err != nil {
		return err
	}
	switch {
	case (o.id == "") == (o.url == ""):
		return usageError(errors.New("name the URL of the endpoint, as --url or without"))
	case o.id != "":
		body["url"] = o.id
	}
	var w webhookData
	return o.show(ctx, http.MethodPost, webhooksPath, body, &w, func() error {
		return o.printSecret(&w, w.ID+" gets "+strings.Join(w.Events, ","))
	})
}

// printSecret prints the secret alone on standard output, so that it can be
// captured; what else there is to say goes to standard error.
func (o *webhooksCommand) printSecret(w *webhookData, said string) error {
	fmt.Fprintf(o.Stderr, "%s; this is the only time its secret is shown\n", said)
	o.warn(w)
	_, err := fmt.Fprintln(o.Stdout, w.Secret)
	return err
}

func (o *webhooksCommand) warn(w *webhookData) {
	for _, warning := range w.Warnings {
		fmt.Fprintf(o.Stderr, "warning: %s %s\n", warning.Path, warning.Code)
	}
}

func (o *webhooksCommand) precondition() []string { return precondition(o.version) }

func (o *webhooksCommand) set(ctx context.Context) error {
	body, err := o.settings()
	if err != nil {
		return err
	}
	var w webhookData
	return o.show(ctx, http.MethodPatch, o.path(), body, &w, func() error {
		o.warn(&w)
		return o.print(&w)
	}, o.precondition()...)
}

func (o *webhooksCommand) remove(ctx context.Context) error {
	var w webhookData
	return o.show(ctx, http.MethodDelete, o.path(), nil, &w, func() error {
		_, err := fmt.Fprintf(o.Stdout, "removed %s\n", w.ID)
		return err
	}, o.precondition()...)
}

func (o *webhooksCommand) rotate(ctx context.Context) error {
	hours, known := map[string]int{"0": 0, "1h": 1, "24h": 24, "7d": 168}[o.overlap]
	if !known {
		return usageError(errors.New("--overlap: must be 0, 1h, 24h or 7d"))
	}
	body := map[string]any{"overlapHours": hours}
	if err := o.ownSecret(body); err != nil {
		return err
	}
	var w webhookData
	return o.show(ctx, http.MethodPost, o.path()+"/rotate", body, &w, func() error {
		return o.printSecret(&w, fmt.Sprintf("%s: X-Svc-Signature is of the new secret from %s, the old one ends at %s", w.ID, w.PromoteAt, w.RetireAt))
	}, o.precondition()...)
}

func (o *webhooksCommand) test(ctx context.Context) error {
	body := map[string]any{}
	if o.event != "" {
		body["event"] = o.event
	}
	return o.tested(ctx, o.path()+"/test", body, o.wait)
}

func (o *webhooksCommand) retry(ctx context.Context) error {
	return o.tested(ctx, "/api/admin/deliveries/"+url.PathEscape(o.id)+"/retry", nil, o.wait)
}

func (o *webhooksCommand) deliveries(ctx context.Context) error {
	o.filter.event = o.event
	if o.id != "" && !strings.HasPrefix(o.id, "dlv_") {
		return o.listDeliveries(ctx, o.path()+"/deliveries", &o.filter)
	}
	return o.deliveriesOr(ctx, o.id, &o.filter)
}

func (o *webhooksCommand) replay(ctx context.Context) error {
	if o.filter.since == "" {
		return usageError(errors.New("--since: must be given"))
	}
	body := map[string]any{"since": o.ago(o.filter.since)}
	if o.filter.until != "" {
		body["until"] = o.ago(o.filter.until)
	}
	if o.given["events"] {
		body["events"] = commas(o.events)
	}
	if o.only != "" {
		body["only"] = o.only
	}
	if !o.given["wait"] {
		o.wait = 0
	}
	return o.tested(ctx, o.path()+"/replay", body, o.wait)
}

func commas(list string) []string {
	all := []string{}
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one != "" && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}
