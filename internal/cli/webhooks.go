package cli

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	webhooksPath = "/api/admin/webhooks"
	webhookPath  = webhooksPath + "/{id}"
)

// WebhooksCommand returns the command svc webhooks, which manages a hospital's webhooks through the API.
func WebhooksCommand(w Env) *cobra.Command {
	c := &cobra.Command{
		Use: "webhooks", Short: "administer webhooks and their deliveries",
		Long: `add and rotate print only the secret, which cannot be shown again. test and retry
exit with code 1 unless the endpoint accepted. replay prints a COMMAND; progress
shows how far it is, and stop ends it.`,
	}
	c.AddCommand(
		verb(w, "list", "list the webhooks", list(webhooksPath, "webhooks", printWebhooks)),
		verb(w, "add URL", "add an https endpoint, and print its secret",
			request(http.MethodPost, webhooksPath, func(c *client, w *webhookData) error {
				return c.printSecret(w, w.ID+" gets "+strings.Join(w.Events, ","))
			}), idField("url"), webhookFields, secretFile),
		verb(w, "show WEBHOOK", "show a webhook", request(http.MethodGet, webhookPath, printWebhook)),
		verb(w, "set WEBHOOK", "change a webhook; omitted values are unchanged",
			request(http.MethodPatch, webhookPath, func(c *client, w *webhookData) error {
				c.warn(w.Warnings)
				return printWebhook(c, w)
			}),
			fields(
				field{"url", "url", "https `URL` of the endpoint", textField},
				field{"enabled", "enabled", "true, or false to pause", truthField},
			), webhookFields, ifVersion),
		verb(w, "remove WEBHOOK", "remove a webhook", request(http.MethodDelete, webhookPath, printID("removed %s")), ifVersion),
		verb(w, "rotate WEBHOOK", "change the signing secret, and print the new one",
			request(http.MethodPost, webhookPath+"/rotate", func(c *client, w *webhookData) error {
				return c.printSecret(w, fmt.Sprintf("%s: X-Svc-Signature uses the new secret from %s; the old secret is valid until %s",
					w.ID, w.PromoteAt, w.RetireAt))
			}),
			fields(field{"overlap", "overlapHours", "how long the old secret is used to sign: 0, 1h, 24h or 7d", overlapField}),
			secretFile, ifVersion),
		verb(w, "test WEBHOOK", "send a test event, and wait for the outcome", order(webhookPath+"/test"),
			fields(field{"event", "event", "`event` to send (default: ping)", filledField}), waitFor(30*time.Second)),
		verb(w, "deliveries [WEBHOOK|DELIVERY]", "list deliveries, or show one delivery", showWebhookDeliveries, deliveryFilters,
			func(_ *client, cmd *cobra.Command) {
				cmd.Flags().String("event", "", "only deliveries of this `event`")
			}),
		verb(w, "retry DELIVERY", "send a delivery again, and wait for the outcome", order(deliveryPath+"/retry"), waitFor(30*time.Second)),
		verb(w, "replay WEBHOOK", "replay the events of a time window", replayEvents,
			fields(
				field{"since", "since", "from this `time`: RFC 3339, or a duration such as 2h for 2 hours ago", agoField},
				field{"until", "until", "before this `time` (default: now)", agoField},
				field{"events", "events", "only these `events`, separated by commas", listField},
				field{"only", "only", "deliveries to send: failed, missing or all (default: missing)", wordField("failed", "missing", "all")},
			), required("since"),
			func(_ *client, cmd *cobra.Command) {
				cmd.Flags().Bool("dry-run", false, "count the events without sending them")
			},
			waitFor(0)),
		verb(w, "progress COMMAND", "show the progress of a replay", request(http.MethodGet, commandPath, printProgress(false))),
		verb(w, "stop COMMAND", "stop a replay", request(http.MethodPost, commandPath+"/stop", printProgress(true))),
	)
	return c
}

var webhookFields = fields(
	field{"events", "events", "`events`, separated by commas (default: surge.level_changed,room.rescored)", listField},
	field{"rooms", "rooms", "`ids` of rooms whose room.rescored events are sent, separated by commas, or all (default: all)", roomsField},
	field{"rate", "ratePerSecond", "maximum `deliveries` per second (default: 50)", decimalField},
	field{"timeout", "timeoutSeconds", "timeout of one attempt in `seconds` (default: 10)", wholeField},
	field{"reader-keys", "readerKeyIds", "`ids` of keys that may list the deliveries, separated by commas", listField},
)

var secretFile = fields(
	field{"secret-file", "secret", "`file` with a secret chosen by the partner (default: a generated secret)", secretField},
)

// overlapField is the overlap of a rotation, such as 24h; the request contains the number of hours.
var overlapField = fieldKind{
	words: []string{"0", "1h", "24h", "7d"}, preset: "24h", filled: true,
	value: func(_ *client, text string) (any, error) {
		return map[string]int{"0": 0, "1h": 1, "24h": 24, "7d": 168}[text], nil
	},
}

// webhookData is a webhook as the API represents it.
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
	Warnings            []warningData
}

// warningData is a warning about a webhook's settings.
type warningData struct{ Code, Path string }

func printWebhooks(c *client, all []webhookData) error {
	return printTable(c, all, func(w *webhookData) []any {
		return []any{w.ID, w.status(), shownOr(w.Waiting), strings.Join(w.Events, ","), w.rooms(), w.URL}
	}, "ID", "STATUS", "WAITING", "EVENTS", "ROOMS", "URL")
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

// printWebhook prints a webhook, one property per line.
func printWebhook(c *client, w *webhookData) error {
	table := NewTable(c.Stdout)
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

// printSecret prints only the secret on standard output, so that a script can capture it.
// Everything else goes to standard error.
func (c *client) printSecret(w *webhookData, said string) error {
	fmt.Fprintf(c.Stderr, "%s; this is the only time its secret is shown\n", said)
	c.warn(w.Warnings)
	return c.Printf("%s\n", w.Secret)
}

// warn prints warnings to standard error. It reports whether one of them says that nothing was changed.
func (c *client) warn(warnings []warningData) (unchanged bool) {
	for _, w := range warnings {
		if w.Code == "unchanged" {
			fmt.Fprintln(c.Stderr, "nothing changed: the resource already has these values")
			unchanged = true
			continue
		}
		fmt.Fprintf(c.Stderr, "warning: %s %s\n", w.Path, w.Code)
	}
	return unchanged
}

func showWebhookDeliveries(ctx context.Context, c *client) error {
	if c.id != "" && !strings.HasPrefix(c.id, "dlv_") {
		return listDeliveries(ctx, c, webhookPath+"/deliveries")
	}
	return showDeliveries(ctx, c)
}

// replayEvents sends a replay command. With --dry-run, it only prints how many deliveries the replay would create.
func replayEvents(ctx context.Context, c *client) error {
	if c.text("dry-run") != "true" {
		return c.order(ctx, webhookPath+"/replay")
	}
	type counted struct {
		CommandID string
		Count     *int
	}
	return request(http.MethodPost, webhookPath+"/replay?dryRun=true", func(c *client, said *counted) error {
		if said.Count == nil {
			return fmt.Errorf("the events have not been counted yet; see svc webhooks progress %s", said.CommandID)
		}
		return c.Printf("%d\n", *said.Count)
	})(ctx, c)
}
