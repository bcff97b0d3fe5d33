package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// What svc webhooks and svc alerts ask of the notifier: a command, and then how far
// it is.

// progressData is a command as the API has it.
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

// deliveryData is a delivery as the API has it.
type deliveryData struct {
	ID, EventID, Event, Channel, EndpointID, State string
	Reason                                         *string
	OccurredAt                                     string
	NextAttemptAt                                  *string
	Attempts                                       []struct {
		N         int
		At, Class string
		MS        int64
		Status    *int
		Response  *string
	}
}

// askEvery is how often a command is asked after: the API tells it no other way.
const askEvery = 100 * time.Millisecond

// tested gives a command and waits for its outcome. It is an error unless all that
// was asked for was delivered. With no time to wait it says that it was given.
func (c *client) tested(ctx context.Context, path string, body any, wait time.Duration) error {
	if body == nil {
		body = struct{}{}
	}
	var given struct {
		CommandID string
		Count     *int
	}
	raw, err := c.ask(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	if err = json.Unmarshal(raw, &given); err != nil {
		return fmt.Errorf("the answer is not one of svc: %w", err)
	}
	if wait <= 0 {
		if c.json {
			return printJSON(c.stdout, raw)
		}
		_, err = fmt.Fprintf(c.stdout, "%s: %s deliveries\n", given.CommandID, shownOr(given.Count))
		return err
	}
	p, raw, err := c.progress(ctx, given.CommandID, wait)
	if err != nil {
		return err
	}
	if c.json {
		if err = printJSON(c.stdout, raw); err != nil {
			return err
		}
	}
	said := fmt.Sprintf("%d of %d delivered", p.Delivered, p.Count)
	if p.DeliveryID != nil {
		said = c.outcome(ctx, *p.DeliveryID, said)
	}
	switch {
	case !p.Done:
		return fmt.Errorf("%s: no outcome after %v", given.CommandID, wait)
	case p.Reason != nil:
		return fmt.Errorf("not done: %s", *p.Reason)
	case p.Failed > 0 || p.Delivered == 0 && p.Count > 0 || p.Delivered == 0 && p.Verb != "replay":
		return fmt.Errorf("not delivered: %s", said)
	case c.json:
		return nil
	}
	_, err = fmt.Fprintln(c.stdout, said)
	return err
}

// progress asks until a command is done or the time is over.
func (c *client) progress(ctx context.Context, id string, wait time.Duration) (p progressData, raw json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		var no *refusal
		raw, err = c.ask(ctx, http.MethodGet, "/api/admin/commands/"+url.PathEscape(id), nil)
		switch {
		case errors.As(err, &no) && no.Code == "not_found": // nobody has seen it yet
		case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return p, raw, nil
		case err != nil:
			return p, nil, err
		default:
			if err := json.Unmarshal(raw, &p); err != nil || p.Done {
				return p, raw, err
			}
		}
		if pause(ctx, askEvery) != nil {
			return p, raw, nil
		}
	}
}

// outcome says how a delivery ended, by its last attempt.
func (c *client) outcome(ctx context.Context, id, otherwise string) string {
	var d deliveryData
	if c.into(ctx, http.MethodGet, "/api/admin/deliveries/"+url.PathEscape(id), nil, &d) != nil || len(d.Attempts) == 0 {
		return otherwise
	}
	a := &d.Attempts[len(d.Attempts)-1]
	said := d.ID + " " + d.State + ": " + a.Class
	if a.Status != nil {
		said += fmt.Sprintf(" %d", *a.Status)
	}
	return said + fmt.Sprintf(" in %d ms", a.MS)
}

// listDeliveries shows the newest deliveries, as many as asked for.
func (c *client) listDeliveries(ctx context.Context, path string, query url.Values, most int) error {
	all, rows := []json.RawMessage{}, []deliveryData{}
	for len(all) < most {
		var page struct {
			Items []json.RawMessage
			Next  *string
		}
		if err := c.into(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		all = append(all, page.Items...)
		if page.Next == nil {
			break
		}
		query.Set("cursor", *page.Next)
	}
	all = all[:min(len(all), most)]
	if c.json {
		return printJSON(c.stdout, all)
	}
	for _, raw := range all {
		var d deliveryData
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("the answer is not one of svc: %w", err)
		}
		rows = append(rows, d)
	}
	table := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tOCCURRED\tEVENT\tCHANNEL\tENDPOINT\tSTATE\tATTEMPTS\tLAST\tNEXT")
	for i := range rows {
		d := &rows[i]
		last := "-"
		if n := len(d.Attempts); n > 0 {
			if last = d.Attempts[n-1].Class; d.Attempts[n-1].Status != nil {
				last += fmt.Sprintf(" %d", *d.Attempts[n-1].Status)
			}
		}
		state, next := d.State, "-"
		if d.Reason != nil {
			state += " (" + *d.Reason + ")"
		}
		if d.NextAttemptAt != nil {
			next = *d.NextAttemptAt
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", d.ID, d.OccurredAt, d.Event, d.Channel, d.EndpointID, state, len(d.Attempts), last, next)
	}
	return table.Flush()
}

// printDelivery shows a delivery with its attempts.
func (c *client) printDelivery(d *deliveryData) error {
	fmt.Fprintf(c.stdout, "%s %s\n%s %s by %s to %s, occurred %s\n", d.ID, d.State, d.Event, d.EventID, d.Channel, d.EndpointID, d.OccurredAt)
	if d.Reason != nil {
		fmt.Fprintf(c.stdout, "reason %s\n", *d.Reason)
	}
	if d.NextAttemptAt != nil {
		fmt.Fprintf(c.stdout, "next attempt %s\n", *d.NextAttemptAt)
	}
	table := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ATTEMPT\tAT\tMS\tCLASS\tSTATUS\tANSWER")
	for i := range d.Attempts {
		a := &d.Attempts[i]
		said := ""
		if a.Response != nil {
			said = fmt.Sprintf("%q", *a.Response)
		}
		fmt.Fprintf(table, "%d\t%s\t%d\t%s\t%s\t%s\n", a.N, a.At, a.MS, a.Class, shownOr(a.Status), said)
	}
	return table.Flush()
}

// given are the flags that were given, on the command line or by a variable.
func given(flags *flag.FlagSet) map[string]bool {
	all := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { all[f.Name] = true })
	return all
}

// clientFlags are those that every verb has.
var clientFlags = []string{"api", "to", "key", "key-file", "data", "json"}

// strangers names the flags that a verb does not have: one that does nothing would
// be taken for done.
func strangers(given map[string]bool, known []string) (faults []error) {
	for name := range given {
		if !slices.Contains(known, name) && !slices.Contains(clientFlags, name) {
			faults = append(faults, fmt.Errorf("-%s: is not for this", name))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}

// readSecret reads a file whose last line break is none of the secret's.
func readSecret(path string) (string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", reason(err)
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}
