package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// deliveryPath is the path of a delivery, whose id is the first argument.
const deliveryPath = "/api/admin/deliveries/{id}"

// deliveryData is a delivery as the API represents it.
type deliveryData struct {
	ID, EventID, Event, Channel, EndpointID, State string
	Reason                                         *string
	OccurredAt                                     string
	NextAttemptAt                                  *string
	Attempts                                       []attemptData
}

// attemptData is one attempt at a delivery.
type attemptData struct {
	N         int
	At, Class string
	MS        int64
	Status    *int
	Response  *string
}

// status returns the state of the delivery and, in parentheses, the reason for it. The reason is omitted if it equals
// the class of the last attempt.
func (d *deliveryData) status() string {
	if last := d.last(); d.Reason == nil || last != nil && *d.Reason == last.Class {
		return d.State
	}
	return d.State + " (" + *d.Reason + ")"
}

// last returns the last attempt, or nil if there was no attempt.
func (d *deliveryData) last() *attemptData {
	if len(d.Attempts) == 0 {
		return nil
	}
	return &d.Attempts[len(d.Attempts)-1]
}

// outcome returns the result of an attempt as text.
func (a *attemptData) outcome() string {
	if a == nil {
		return "-"
	}
	if a.Status != nil {
		return fmt.Sprintf("%s %d", a.Class, *a.Status)
	}
	return a.Class
}

// deliveryFilters adds the flags that select deliveries.
func deliveryFilters(_ *client, cmd *cobra.Command) {
	OneOf(cmd, new(string), "channel", "", "only deliveries by this channel: webhook, email or sms", "webhook", "email", "sms")
	flags := cmd.Flags()
	flags.String("state", "", "only deliveries in this `state`")
	flags.String("since", "", "only at or after this `time`: RFC 3339, or a duration such as 2h for 2 hours ago")
	flags.String("until", "", "only before this `time` (default: now)")
	flags.Int("limit", 50, "`number` of deliveries") //nolint:mnd // the page size of the API
}

// showDeliveries shows one delivery with its attempts. Without an id it shows the list.
func showDeliveries(ctx context.Context, c *client) error {
	if c.id == "" {
		return listDeliveries(ctx, c, "/api/admin/deliveries")
	}
	return show(ctx, c, http.MethodGet, deliveryPath, nil, printDelivery)
}

// ago converts a time to the format of the API. A duration such as 2h means 2 hours ago; ago returns any other text
// unchanged.
func (c *client) ago(text string) string {
	if lapse, err := ParseLifetime(text); err == nil && lapse > 0 {
		return Stamp(c.Now().Add(-lapse))
	}
	return text
}

// listDeliveries shows the newest deliveries, at most --limit.
func listDeliveries(ctx context.Context, c *client, path string) error {
	most, err := strconv.Atoi(c.text("limit"))
	if err != nil || most < 0 {
		return Usage(errors.New("--limit: must not be negative"))
	}
	query := url.Values{"limit": {strconv.Itoa(min(most, 200))}} //nolint:mnd // the maximum of the API
	for name, value := range map[string]string{
		"channel": c.text("channel"), "state": c.text("state"), "event": c.text("event"),
		"since": c.ago(c.text("since")), "until": c.ago(c.text("until")),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	all, err := pages[json.RawMessage](ctx, c, path, query, most)
	if err != nil {
		return err
	}
	if c.json {
		return PrintItems(c.Stdout, all)
	}
	rows := make([]deliveryData, len(all))
	for i, raw := range all {
		if err := decode(raw, &rows[i]); err != nil {
			return err
		}
	}
	return printTable(c, rows, func(d *deliveryData) []any {
		return []any{
			d.ID, d.OccurredAt, d.Event, d.Channel, d.EndpointID, d.status(), len(d.Attempts), d.last().outcome(), orDash(d.NextAttemptAt),
		}
	}, "ID", "OCCURRED", "EVENT", "CHANNEL", "ENDPOINT", "STATE", "ATTEMPTS", "LAST", "NEXT")
}

// printDelivery shows a delivery with its attempts.
func printDelivery(c *client, d *deliveryData) error {
	fmt.Fprintf(c.Stdout, "%s %s\n%s %s by %s to %s, occurred %s\n",
		d.ID, d.status(), d.Event, d.EventID, d.Channel, d.EndpointID, d.OccurredAt)
	if d.NextAttemptAt != nil {
		fmt.Fprintf(c.Stdout, "next attempt %s\n", *d.NextAttemptAt)
	}
	return printTable(c, d.Attempts, func(a *attemptData) []any {
		said := ""
		if a.Response != nil {
			said = fmt.Sprintf("%q", *a.Response)
		}
		return []any{a.N, a.At, a.MS, a.Class, shownOr(a.Status), said}
	}, "ATTEMPT", "AT", "MS", "CLASS", "STATUS", "ANSWER")
}

// progressData is the progress of a command as the API represents it.
type progressData struct {
	CommandID         string  `json:"commandId"`
	Verb              string  `json:"verb"`
	Done              bool    `json:"done"`
	Stopped           bool    `json:"stopped"`
	Reason            *string `json:"reason"`
	Count             int     `json:"count"`
	Delivered, Failed int
	DeliveryID        *string `json:"deliveryId"`
	UpdatedAt         *string `json:"updatedAt"`
}

// askEvery is the interval between requests for the progress of a command. Polling is necessary, because the API does
// not push the progress.
const askEvery = 100 * time.Millisecond

// waitFor adds the flag that sets how long to wait for an outcome.
func waitFor(preset time.Duration) option {
	return func(c *client, cmd *cobra.Command) {
		cmd.Flags().DurationVar(&c.wait, "wait", preset, "time to wait for the outcome; 0: do not wait")
	}
}

// order returns the run function of a command that the server forwards to the notifier. The fields of the command
// become the body.
func order(path string) func(context.Context, *client) error {
	return func(ctx context.Context, c *client) error { return c.order(ctx, path) }
}

// order sends a command and waits for its outcome. It returns an error if a delivery failed, if the command was not
// completed, or if there is no outcome within c.wait. If c.wait is 0, order does not wait, and prints the id of the
// command.
func (c *client) order(ctx context.Context, path string) error {
	body := map[string]any{}
	if err := c.addFields(body); err != nil {
		return err
	}
	var given struct {
		CommandID string
		Count     *int
	}
	raw, err := c.ask(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	if err = decode(raw, &given); err != nil {
		return err
	}
	if c.wait <= 0 {
		if c.json {
			return PrintJSON(c.Stdout, raw)
		}
		if _, err = fmt.Fprintln(c.Stdout, given.CommandID); err == nil {
			_, err = fmt.Fprintf(c.Stderr, "%s deliveries; see the progress with svc webhooks progress %s\n", shownOr(given.Count), given.CommandID)
		}
		return err
	}
	p, raw, err := c.awaitProgress(ctx, given.CommandID)
	if err != nil {
		return err
	}
	if c.json {
		if err = PrintJSON(c.Stdout, raw); err != nil {
			return err
		}
	}
	said := fmt.Sprintf("%d of %d delivered", p.Delivered, p.Count)
	if p.DeliveryID != nil {
		said = c.outcome(ctx, *p.DeliveryID, said)
	}
	switch {
	case !p.Done:
		return fmt.Errorf("%s: no outcome after %v", given.CommandID, c.wait)
	case p.Reason != nil:
		return fmt.Errorf("not completed: %s", *p.Reason)
	case p.Failed > 0 || p.Delivered == 0 && p.Count > 0 || p.Delivered == 0 && p.Verb != "replay":
		return fmt.Errorf("not delivered: %s", said)
	case c.json:
		return nil
	}
	return c.Printf("%s\n", said)
}

// commandPath is the path of a command, whose id is the first argument.
const commandPath = "/api/admin/commands/{id}"

// printProgress returns a function that prints the progress of a command. asked reports whether the user has
// requested to stop the command.
func printProgress(asked bool) func(*client, *progressData) error {
	return func(c *client, p *progressData) error {
		state := "in progress"
		switch {
		case p.Stopped:
			state = "stopped"
		case asked && !p.Done:
			state = "stopping"
		case p.Done && p.Reason != nil:
			state = "not completed: " + *p.Reason
		case p.Done:
			state = "done"
		}
		return c.Printf("%s %s: %s, %d of %d delivered, %d failed\n", p.CommandID, p.Verb, state, p.Delivered, p.Count, p.Failed)
	}
}

// awaitProgress requests the progress of a command until the command is done or the time to wait has passed. In the
// second case, p.Done is false and err is nil.
func (c *client) awaitProgress(ctx context.Context, id string) (p progressData, raw json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	for {
		var no *refusal
		raw, err = c.ask(ctx, http.MethodGet, "/api/admin/commands/"+url.PathEscape(id), nil)
		switch {
		case errors.As(err, &no) && no.Code == "not_found": // the notifier has not read the command yet
		case errors.As(err, &no) && no.status == http.StatusServiceUnavailable: // the command was accepted, but its progress is not available
		case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return p, raw, nil
		case err != nil:
			return p, nil, err
		default:
			if err := json.Unmarshal(raw, &p); err != nil || p.Done {
				return p, raw, err
			}
		}
		if Pause(ctx, askEvery) != nil {
			return p, raw, nil
		}
	}
}

// outcome describes a delivery and its last attempt. If the delivery cannot be read, outcome returns the given
// default text.
func (c *client) outcome(ctx context.Context, id, otherwise string) string {
	var d deliveryData
	if c.askInto(ctx, http.MethodGet, "/api/admin/deliveries/"+url.PathEscape(id), nil, &d) != nil {
		return otherwise
	}
	said := d.ID + " " + d.status()
	if a := d.last(); a != nil {
		said += fmt.Sprintf(": %s in %d ms", a.outcome(), a.MS)
	}
	return said
}

// readSecret reads a secret from a file and removes the line breaks at the end.
func readSecret(path string) (string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", WithoutPath(err)
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}
