package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const webhooksPath = "/api/admin/webhooks"

// webhooksCommand is one run of a command of svc webhooks.
type webhooksCommand struct {
	client

	url, events, rooms, readers, secretFile, overlap string
	enabled                                          string
	rate                                             float64
	timeout                                          int
	event, only                                      string
	wait                                             time.Duration
	dryRun                                           bool
	filter                                           deliveryFilter
}

// WebhooksCommand is svc webhooks: it administers the webhooks of a hospital through
// its API.
func WebhooksCommand(w Env) *cobra.Command {
	c := &cobra.Command{
		Use: "webhooks", Short: "administer webhooks and what was delivered to them",
		Long: `add and rotate print the secret alone; it is shown only then. test and retry end
with exit code 1 unless the endpoint accepted. replay prints the COMMAND, by which
progress tells how far it is and stop ends it.`,
	}
	c.AddCommand(
		verb(w, "list", "list the webhooks", (*webhooksCommand).listWebhooks),
		verb(w, "add URL", "add an endpoint, https, and print its secret", (*webhooksCommand).add, (*webhooksCommand).settingFlags, (*webhooksCommand).secretFlag),
		verb(w, "show WEBHOOK", "show a webhook", (*webhooksCommand).one),
		verb(w, "set WEBHOOK", "change a webhook; what is not given stays", (*webhooksCommand).set, (*webhooksCommand).changeFlags, (*webhooksCommand).settingFlags, (*webhooksCommand).versionFlag),
		verb(w, "remove WEBHOOK", "remove a webhook", (*webhooksCommand).remove, (*webhooksCommand).versionFlag),
		verb(w, "rotate WEBHOOK", "change the signing secret, and print the new one", (*webhooksCommand).rotate, (*webhooksCommand).overlapFlag, (*webhooksCommand).secretFlag, (*webhooksCommand).versionFlag),
		verb(w, "test WEBHOOK", "send something, and wait for the outcome", (*webhooksCommand).test, (*webhooksCommand).testFlags, waitFor(30*time.Second)),
		verb(w, "deliveries [WEBHOOK|DELIVERY]", "list what was delivered, or show one delivery", (*webhooksCommand).deliveries, (*webhooksCommand).filterFlags),
		verb(w, "retry DELIVERY", "deliver again, and wait for the outcome", (*webhooksCommand).retry, waitFor(30*time.Second)),
		verb(w, "replay WEBHOOK", "send the events of a time again", (*webhooksCommand).replay, (*webhooksCommand).replayFlags, waitFor(0)),
		verb(w, "progress COMMAND", "tell how far a replay is", func(o *webhooksCommand, ctx context.Context) error { return o.showCommand(ctx, o.id, false) }),
		verb(w, "stop COMMAND", "stop a replay", func(o *webhooksCommand, ctx context.Context) error { return o.showCommand(ctx, o.id, true) }),
	)
	return c
}

func (o *webhooksCommand) settingFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.events, "events", "", "`events`, separated by commas (default: surge.level_changed,room.rescored)")
	f.StringVar(&o.rooms, "rooms", "", "`ids` of rooms whose room.rescored is sent, separated by commas, or all (default: all)")
	f.Float64Var(&o.rate, "rate", 0, "`deliveries` per second at most (default: 50)")
	f.IntVar(&o.timeout, "timeout", 0, "`seconds` for all of one attempt (default: 10)")
	f.StringVar(&o.readers, "reader-keys", "", "`ids` of keys that may list the deliveries, separated by commas")
}

func (o *webhooksCommand) changeFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.url, "url", "", "`address` of the endpoint, https")
	OneOf(c, &o.enabled, "enabled", "", "true, or false: paused", "true", "false")
}

func (o *webhooksCommand) secretFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.secretFile, "secret-file", "", "`file` that holds a secret of the partner's own (default: one is made)")
}

func (o *webhooksCommand) overlapFlag(c *cobra.Command) {
	OneOf(c, &o.overlap, "overlap", "24h", "how long the old secret goes on to sign: 0, 1h, 24h or 7d", "0", "1h", "24h", "7d")
}

func (o *webhooksCommand) testFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.event, "event", "", "`event` to send (default: ping)")
}

func (o *webhooksCommand) filterFlags(c *cobra.Command) {
	o.filter.flags(c)
	c.Flags().StringVar(&o.event, "event", "", "only deliveries of this `event`")
}

func (o *webhooksCommand) replayFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.filter.since, "since", "", "from this `time`: RFC 3339, or a duration such as 2h for so long ago")
	Require(f, "since")
	f.StringVar(&o.filter.until, "until", "", "before this `time` (default: now)")
	f.StringVar(&o.events, "events", "", "only these `events`, separated by commas")
	OneOf(c, &o.only, "only", "", "which of them: failed, missing or all (default: missing)", "failed", "missing", "all")
	f.BoolVar(&o.dryRun, "dry-run", false, "count what would be sent, and send nothing")
}

// waitFor adds the flag of the time to wait.
func waitFor(preset time.Duration) func(*webhooksCommand, *cobra.Command) {
	return func(o *webhooksCommand, c *cobra.Command) { waitFlag(c, &o.wait, preset) }
}

// webhookData is a webhook in the form of the API.
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

func (o *webhooksCommand) listWebhooks(ctx context.Context) error {
	var all []webhookData
	return o.list(ctx, webhooksPath, "webhooks", &all, func() error {
		table := NewTable(o.Stdout, "ID", "STATUS", "WAITING", "EVENTS", "ROOMS", "URL")
		for i := range all {
			w := &all[i]
			table.Row(w.ID, w.status(), shownOr(w.Waiting), strings.Join(w.Events, ","), w.rooms(), w.URL)
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
	var ids []string
	for _, id := range w.Rooms {
		ids = append(ids, strconv.Itoa(int(id)))
	}
	return strings.Join(ids, ",")
}

func (o *webhooksCommand) one(ctx context.Context) error {
	var w webhookData
	return o.show(ctx, http.MethodGet, o.path(), nil, &w, func() error { return o.print(&w) })
}

// print shows a webhook, one property a line.
func (o *webhooksCommand) print(w *webhookData) error {
	table := NewTable(o.Stdout)
	table.Row("id", w.ID)
	table.Row("url", w.URL)
	table.Row("status", w.status())
	if w.FailingSince != nil {
		table.Row("failing since", *w.FailingSince)
	}
	table.Row("waiting", shownOr(w.Waiting))
	table.Row("events", strings.Join(w.Events, ","))
	table.Row("rooms", w.rooms())
	table.Row("rate", strconv.FormatFloat(w.RatePerSecond, 'f', -1, 64)+" per second")
	table.Row("timeout", strconv.Itoa(w.TimeoutSeconds)+" s")
	for _, s := range w.Secrets {
		until := ""
		if s.Until != nil {
			until = " until " + *s.Until
		}
		table.Row("secret", s.ID+" "+s.State+until)
	}
	if len(w.ReaderKeyIDs) > 0 {
		table.Row("reader keys", strings.Join(w.ReaderKeyIDs, ","))
	}
	table.Row("version", w.Version)
	table.Row("created", w.CreatedAt)
	return table.Flush()
}

// settings returns the flags of add and set as a body.
func (o *webhooksCommand) settings() (map[string]any, error) {
	body := map[string]any{}
	o.put(body, "url", "url", o.url)
	o.put(body, "events", "events", commas(o.events))
	o.put(body, "readerKeyIds", "reader-keys", commas(o.readers))
	o.put(body, "ratePerSecond", "rate", o.rate)
	o.put(body, "timeoutSeconds", "timeout", o.timeout)
	o.put(body, "enabled", "enabled", o.enabled == "true")
	if o.flags.Changed("rooms") {
		var rooms []int32
		for _, text := range commas(o.rooms) {
			if o.rooms == "all" {
				break
			}
			id, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return nil, Usage(errors.New("--rooms: must be ids of rooms, or all"))
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
	body["url"] = o.id
	var w webhookData
	return o.show(ctx, http.MethodPost, webhooksPath, body, &w, func() error {
		return o.printSecret(&w, w.ID+" gets "+strings.Join(w.Events, ","))
	})
}

// printSecret prints only the secret on standard output, so that a script can capture it.
// Everything else goes to standard error.
func (o *webhooksCommand) printSecret(w *webhookData, said string) error {
	fmt.Fprintf(o.Stderr, "%s; this is the only time its secret is shown\n", said)
	o.warn(w)
	return o.Printf("%s\n", w.Secret)
}

func (o *webhooksCommand) warn(w *webhookData) {
	for _, warning := range w.Warnings {
		fmt.Fprintf(o.Stderr, "warning: %s %s\n", warning.Path, warning.Code)
	}
}

func (o *webhooksCommand) set(ctx context.Context) error {
	body, err := o.settings()
	if err != nil {
		return err
	}
	var w webhookData
	return o.show(ctx, http.MethodPatch, o.path(), body, &w, func() error {
		o.warn(&w)
		return o.print(&w)
	})
}

func (o *webhooksCommand) remove(ctx context.Context) error {
	var w webhookData
	return o.show(ctx, http.MethodDelete, o.path(), nil, &w, func() error { return o.Printf("removed %s\n", w.ID) })
}

func (o *webhooksCommand) rotate(ctx context.Context) error {
	body := map[string]any{"overlapHours": map[string]int{"0": 0, "1h": 1, "24h": 24, "7d": 168}[o.overlap]}
	if err := o.ownSecret(body); err != nil {
		return err
	}
	var w webhookData
	return o.show(ctx, http.MethodPost, o.path()+"/rotate", body, &w, func() error {
		return o.printSecret(&w, fmt.Sprintf("%s: X-Svc-Signature is of the new secret from %s, the old one ends at %s", w.ID, w.PromoteAt, w.RetireAt))
	})
}

func (o *webhooksCommand) test(ctx context.Context) error {
	body := map[string]any{}
	if o.event != "" {
		body["event"] = o.event
	}
	return o.runTest(ctx, o.path()+"/test", body, o.wait)
}

func (o *webhooksCommand) retry(ctx context.Context) error {
	return o.runTest(ctx, "/api/admin/deliveries/"+url.PathEscape(o.id)+"/retry", nil, o.wait)
}

func (o *webhooksCommand) deliveries(ctx context.Context) error {
	o.filter.event = o.event
	if o.id != "" && !strings.HasPrefix(o.id, "dlv_") {
		return o.listDeliveries(ctx, o.path()+"/deliveries", &o.filter)
	}
	return o.deliveriesOr(ctx, o.id, &o.filter)
}

func (o *webhooksCommand) replay(ctx context.Context) error {
	body := map[string]any{"since": o.ago(o.filter.since)}
	if o.filter.until != "" {
		body["until"] = o.ago(o.filter.until)
	}
	o.put(body, "events", "events", commas(o.events))
	if o.only != "" {
		body["only"] = o.only
	}
	if o.dryRun {
		return o.countReplay(ctx, body)
	}
	return o.runTest(ctx, o.path()+"/replay", body, o.wait)
}

// countReplay prints how many deliveries a replay would make.
func (o *webhooksCommand) countReplay(ctx context.Context, body any) error {
	var said struct {
		CommandID string
		Count     *int
	}
	return o.show(ctx, http.MethodPost, o.path()+"/replay?dryRun=true", body, &said, func() error {
		if said.Count == nil {
			return fmt.Errorf("it is not counted yet; svc webhooks progress %s tells it later", said.CommandID)
		}
		return o.Printf("%d\n", *said.Count)
	})
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
