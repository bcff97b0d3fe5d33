package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// svc webhooks and svc alerts send commands to the notifier, and then request their progress.

// progressData is the progress of a command in the form of the API.
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

// askEvery is the interval between requests for the progress. The API does not push it.
const askEvery = 100 * time.Millisecond

// runTest sends a command and waits for its outcome. It returns an error unless every requested
// delivery succeeded. With a wait of zero it only reports that the command was sent.
func (c *client) runTest(ctx context.Context, path string, body any, wait time.Duration) error {
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
	if err = decode(raw, &given); err != nil {
		return err
	}
	if wait <= 0 {
		if c.json {
			return PrintJSON(c.Stdout, raw)
		}
		if _, err = fmt.Fprintln(c.Stdout, given.CommandID); err == nil {
			_, err = fmt.Fprintf(c.Stderr, "%s deliveries; svc webhooks progress %s tells how far it is\n", shownOr(given.Count), given.CommandID)
		}
		return err
	}
	p, raw, err := c.progress(ctx, given.CommandID, wait)
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
		return fmt.Errorf("%s: no outcome after %v", given.CommandID, wait)
	case p.Reason != nil:
		return fmt.Errorf("not done: %s", *p.Reason)
	case p.Failed > 0 || p.Delivered == 0 && p.Count > 0 || p.Delivered == 0 && p.Verb != "replay":
		return fmt.Errorf("not delivered: %s", said)
	case c.json:
		return nil
	}
	return c.Printf("%s\n", said)
}

// showCommand shows the progress of a command, or stops it.
func (c *client) showCommand(ctx context.Context, id string, stop bool) error {
	method, path := http.MethodGet, "/api/admin/commands/"+url.PathEscape(id)
	if stop {
		method, path = http.MethodPost, path+"/stop"
	}
	var p progressData
	return c.show(ctx, method, path, nil, &p, func() error {
		state := "under way"
		switch {
		case p.Stopped:
			state = "stopped"
		case stop && !p.Done:
			state = "stopping"
		case p.Done && p.Reason != nil:
			state = "not done: " + *p.Reason
		case p.Done:
			state = "done"
		}
		return c.Printf("%s %s: %s, %d of %d delivered, %d failed\n", p.CommandID, p.Verb, state, p.Delivered, p.Count, p.Failed)
	})
}

// progress requests the progress until a command is done or wait is over.
func (c *client) progress(ctx context.Context, id string, wait time.Duration) (p progressData, raw json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		var no *refusal
		raw, err = c.ask(ctx, http.MethodGet, "/api/admin/commands/"+url.PathEscape(id), nil)
		switch {
		case errors.As(err, &no) && no.Code == "not_found": // the notifier has not read it yet
		case errors.As(err, &no) && no.status == http.StatusServiceUnavailable: // the command stands; its progress is unknown for now
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

// outcome returns the end of a delivery and its last attempt. If the delivery cannot be read,
// it returns otherwise, the outcome in the command.
func (c *client) outcome(ctx context.Context, id, otherwise string) string {
	var d deliveryData
	if c.into(ctx, http.MethodGet, "/api/admin/deliveries/"+url.PathEscape(id), nil, &d) != nil {
		return otherwise
	}
	said := d.ID + " " + d.status()
	if len(d.Attempts) == 0 {
		return said
	}
	a := &d.Attempts[len(d.Attempts)-1]
	said += ": " + a.Class
	if a.Status != nil {
		said += fmt.Sprintf(" %d", *a.Status)
	}
	return said + fmt.Sprintf(" in %d ms", a.MS)
}

// readSecret reads a file; a line break at its end is not part of the secret.
func readSecret(path string) (string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", WithoutPath(err)
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}
