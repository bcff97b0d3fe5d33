package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"
)

// deliveryData is a delivery in the form of the API.
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

// status returns the state, with the reason unless the last attempt says it already.
func (d *deliveryData) status() string {
	if n := len(d.Attempts); d.Reason == nil || n > 0 && *d.Reason == d.Attempts[n-1].Class {
		return d.State
	}
	return d.State + " (" + *d.Reason + ")"
}

// deliveryFilter holds the flags that select deliveries.
type deliveryFilter struct {
	channel, state, event, since, until string
	limit                               int
}

func (f *deliveryFilter) flags(c *cobra.Command) {
	OneOf(c, &f.channel, "channel", "", "only deliveries by this channel: webhook, email or sms", "webhook", "email", "sms")
	flags := c.Flags()
	flags.StringVar(&f.state, "state", "", "only deliveries in this `state`")
	flags.StringVar(&f.since, "since", "", "not before this `time`: RFC 3339, or a duration such as 2h for so long ago")
	flags.StringVar(&f.until, "until", "", "before this `time` (default: now)")
	flags.IntVar(&f.limit, "limit", 50, "`number` of deliveries") //nolint:mnd // a page of the API
}

// deliveriesOr shows one delivery with its attempts. Without an id it shows the list.
func (c *client) deliveriesOr(ctx context.Context, id string, f *deliveryFilter) error {
	if id == "" {
		return c.listDeliveries(ctx, "/api/admin/deliveries", f)
	}
	var d deliveryData
	return c.show(ctx, http.MethodGet, "/api/admin/deliveries/"+url.PathEscape(id), nil, &d, func() error { return c.printDelivery(&d) })
}

// ago returns a time in the form of the API: text unchanged, or the instant of a duration before
// now.
func (c *client) ago(text string) string {
	if lapse, err := ParseLifetime(text); err == nil && lapse > 0 {
		return Stamp(c.Now().Add(-lapse))
	}
	return text
}

// listDeliveries shows the newest deliveries, at most f.limit.
func (c *client) listDeliveries(ctx context.Context, path string, f *deliveryFilter) error {
	query := url.Values{"limit": {strconv.Itoa(min(f.limit, 200))}} //nolint:mnd // the API's most
	for name, value := range map[string]string{"channel": f.channel, "state": f.state, "event": f.event, "since": c.ago(f.since), "until": c.ago(f.until)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	all, rows, most := []json.RawMessage{}, []deliveryData{}, f.limit
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
		return PrintItems(c.Stdout, all)
	}
	for _, raw := range all {
		var d deliveryData
		if err := decode(raw, &d); err != nil {
			return err
		}
		rows = append(rows, d)
	}
	table := NewTable(c.Stdout, "ID", "OCCURRED", "EVENT", "CHANNEL", "ENDPOINT", "STATE", "ATTEMPTS", "LAST", "NEXT")
	for i := range rows {
		d := &rows[i]
		last := "-"
		if n := len(d.Attempts); n > 0 {
			if last = d.Attempts[n-1].Class; d.Attempts[n-1].Status != nil {
				last += fmt.Sprintf(" %d", *d.Attempts[n-1].Status)
			}
		}
		table.Row(d.ID, d.OccurredAt, d.Event, d.Channel, d.EndpointID, d.status(), len(d.Attempts), last, orDash(d.NextAttemptAt))
	}
	return table.Flush()
}

// printDelivery shows a delivery with its attempts.
func (c *client) printDelivery(d *deliveryData) error {
	fmt.Fprintf(c.Stdout, "%s %s\n%s %s by %s to %s, occurred %s\n", d.ID, d.status(), d.Event, d.EventID, d.Channel, d.EndpointID, d.OccurredAt)
	if d.NextAttemptAt != nil {
		fmt.Fprintf(c.Stdout, "next attempt %s\n", *d.NextAttemptAt)
	}
	table := NewTable(c.Stdout, "ATTEMPT", "AT", "MS", "CLASS", "STATUS", "ANSWER")
	for i := range d.Attempts {
		a := &d.Attempts[i]
		said := ""
		if a.Response != nil {
			said = fmt.Sprintf("%q", *a.Response)
		}
		table.Row(a.N, a.At, a.MS, a.Class, shownOr(a.Status), said)
	}
	return table.Flush()
}
