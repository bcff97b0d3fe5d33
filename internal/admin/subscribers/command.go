package subscribers

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// Names of actions in the audit log.
const (
	actWebhookTest   = "webhook.test"
	actWebhookReplay = "webhook.replay"
	actDeliveryRetry = "delivery.retry"
	actCommandStop   = "command.stop"
)

// awaitWithin is the maximum time that a response waits for the outcome of its command. lookEvery is the interval at
// which the handler polls for the outcome.
const (
	awaitWithin = 2 * time.Second
	lookEvery   = 20 * time.Millisecond
)

func commands() []contract.Route[*webhooks] {
	hook := idOf("webhook", "whk_0123456789abcdef")
	return []contract.Route[*webhooks]{
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/webhooks/{id}/test", ID: "testWebhook",
			Summary:    "Send a ping or a sample event to an endpoint",
			About:      "The delivery is signed like any event and attempted once, even if the endpoint is paused. The command shows the outcome.",
			Parameters: []contract.Parameter{hook},
			Bodies: optionalBody(testShape{},
				contract.Example{Name: "A ping", Text: `{}`}, contract.Example{Name: "A sample", Text: `{"event":"surge.level_changed"}`}),
			Data: commanded{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*webhooks).test},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/webhooks/{id}/replay", ID: "replayWebhook", Summary: "Replay the events of a time window",
			About: "Events are selected by occurredAt and sent with their original ids and bodies, in parallel with new events, at half " +
				"the rate of the endpoint. The field \"only\" selects the deliveries: failed (those that failed), missing (those that never " +
				"reached this endpoint) or all. count is null if counting takes more than two seconds; the command shows the count later.",
			Parameters: []contract.Parameter{hook, {Name: dryRun, In: "query", About: "true: count the events without sending them. The " +
				"command is done when they are counted.", Values: []string{"true", "false"}}},
			Bodies: body(replayShape{},
				contract.Example{Name: "What was missed", Text: `{"since":"2026-03-01T14:00:00Z","until":"2026-03-01T15:00:00Z","only":"missing"}`},
				contract.Example{Name: "Levels, all again", Text: `{"since":"2026-03-01T14:00:00Z","events":["surge.level_changed"],"only":"all"}`}),
			Data: replayed{}, Refuses: []problem.Kind{problem.Missing, problem.Unprocessable},
		}, Serve: (*webhooks).replay},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/deliveries/{id}/retry", ID: "retryDelivery", Summary: "Retry one delivery",
			About:      "The delivery is sent once, with the same id and body.",
			Parameters: []contract.Parameter{idOf("delivery", "dlv_0123456789abcdef0123456789abcdef")},
			Data:       retriedRow{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*webhooks).retry},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/commands/{id}/stop", ID: "stopCommand", Summary: "Stop a replay",
			About:      "Attempts in progress are completed; the rest is canceled.",
			Parameters: []contract.Parameter{idOf("command", "cmd_0123456789abcdef")},
			Data:       commandRow{}, Refuses: []problem.Kind{problem.Missing, problem.Unprocessable},
		}, Serve: (*webhooks).stop},
	}
}

type testShape struct {
	Event string `json:"event,omitempty" enum:"ping,surge.level_changed,room.rescored,surge.alert" doc:"Default ping."`
}

type replayShape struct {
	Since  string   `json:"since" format:"date-time"`
	Until  *string  `json:"until,omitempty" format:"date-time" doc:"Default: now."`
	Events []string `json:"events,omitempty" minItems:"1" enum:"surge.level_changed,room.rescored,surge.alert" doc:"Event types to replay. Default: the event types of the endpoint."`
	Only   string   `json:"only,omitempty" enum:"failed,missing,all" doc:"Default missing."`
}

type commanded struct {
	CommandID  string            `json:"commandId"`
	DeliveryID *string           `json:"deliveryId"` // null: see the progress of the command
	Warnings   []httpapi.Warning `json:"warnings"`
}

type replayed struct {
	CommandID string            `json:"commandId"`
	Count     *int              `json:"count"` // number of deliveries; null: not known yet
	DryRun    bool              `json:"dryRun"`
	Warnings  []httpapi.Warning `json:"warnings"`
}

type retriedRow struct {
	CommandID string `json:"commandId"`
}

// commandRow is the progress of a command.
type commandRow struct {
	CommandID  string       `json:"commandId"`
	Verb       string       `json:"verb"` // test, retry, replay, ack
	Done       bool         `json:"done"`
	Stopped    bool         `json:"stopped"`
	Reason     *string      `json:"reason"` // stable code of the reason why the command failed
	Count      int          `json:"count"`  // number of deliveries requested
	Delivered  int          `json:"delivered"`
	Failed     int          `json:"failed"`
	DeliveryID *string      `json:"deliveryId"` // the delivery that a test or a retry created
	UpdatedAt  httpapi.Time `json:"updatedAt"`
}

func commandOf(p *outbound.Progress) commandRow {
	return commandRow{
		p.ID, string(p.Verb), p.Done, p.Stopped, some(p.Reason), p.Count, p.Delivered, p.Failed, some(p.Delivery), httpapi.Time(p.UpdatedAt),
	}
}

// newCommand returns a new command from the caller of the request.
func (s *server) newCommand(r *http.Request, verb outbound.Verb) *outbound.Command {
	caller := httpapi.Caller(r.Context())
	return &outbound.Command{ID: "cmd_" + access.RandomHex(8), Hospital: caller.Hospital, Verb: verb, At: cut(s.Shell.Now()), By: caller.ID}
}

// order writes the audit record of an action, and then the command to the ledger. If it returns false, it has sent an
// error response.
func (s *server) order(w http.ResponseWriter, r *http.Request, action, subject string, c *outbound.Command) bool {
	return s.perform(w, r, action, subject, 0, 0, func(ctx context.Context) error { return s.Order(ctx, c) })
}

func (s *webhooks) test(w http.ResponseWriter, r *http.Request) {
	var in testShape
	warnings, ok := httpapi.ReadOptionalJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	if f := faultsOf(&in); f.answered(w, r) {
		return
	}
	hook, ok := s.findWebhook(w, r)
	if !ok {
		return
	}
	c := s.newCommand(r, outbound.VerbTest)
	c.Endpoint, c.Channel = hook.ID, subscriber.ChannelWebhook
	if in.Event != outbound.Ping {
		c.Event = in.Event
	}
	if s.order(w, r, actWebhookTest, hook.ID, c) {
		httpapi.OK(w, r, commanded{c.ID, some(s.Test(c)), warnings})
	}
}

func (s *webhooks) replay(w http.ResponseWriter, r *http.Request) {
	var in replayShape
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	c := s.newCommand(r, outbound.VerbReplay)
	q := httpapi.QueryOf(r)
	c.DryRun = q.One(dryRun, "true", "false") == "true"
	if q.Refused(w, r) {
		return
	}
	f := faultsOf(&in)
	f.unless(in.Since != "", "since", "required")
	c.Since = s.parseTime(&f, c.Hospital, "since", in.Since)
	if c.Until = c.At; in.Until != nil {
		f.unless(*in.Until != "", "until", "format:date-time")
		c.Until = s.parseTime(&f, c.Hospital, "until", *in.Until)
	}
	f.fits(c.Since.IsZero() || c.Since.Before(c.Until), "until", "after:since")
	c.Events = in.Events
	c.Only = cmp.Or(outbound.Selection(in.Only), outbound.SelectMissing)
	if f.answered(w, r) {
		return
	}
	hook, ok := s.findWebhook(w, r)
	if !ok {
		return
	}
	c.Endpoint = hook.ID
	var ordered bool
	if c.DryRun {
		ordered = s.orderDryRun(w, r, c)
	} else {
		ordered = s.order(w, r, actWebhookReplay, hook.ID, c)
	}
	if ordered {
		httpapi.OK(w, r, replayed{c.ID, s.waitForCount(r.Context(), c), c.DryRun, warnings})
	}
}

const dryRun = "dryRun"

// orderDryRun writes a command to the ledger without an audit record, because the command changes nothing. If it
// returns false, it has sent an error response.
func (s *webhooks) orderDryRun(w http.ResponseWriter, r *http.Request, c *outbound.Command) bool {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	err := s.Order(ctx, c)
	if err != nil {
		s.Shell.Log.WarnContext(r.Context(), "dry run not requested", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: tryAgain})
	}
	return err == nil
}

// waitForCount waits until the notifier has reported how many deliveries a replay will send, and returns that number.
// It returns nil if the progress cannot be read or the report does not arrive in time.
func (s *webhooks) waitForCount(ctx context.Context, c *outbound.Command) *int {
	if p, ok := Await(ctx, s.Lists, c, func(p *outbound.Progress) bool { return p.Count > 0 || p.Done }); ok {
		return &p.Count
	}
	return nil
}

// Await polls lists until the given function returns true for the progress of a command, and returns the progress. It
// returns false if awaitWithin has passed or the progress cannot be read. Polling is necessary because the notifier,
// a different process, reports progress only in the view.
func Await(ctx context.Context, lists Progresses, c *outbound.Command, enough func(*outbound.Progress) bool) (outbound.Progress, bool) {
	ctx, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	look := time.NewTicker(lookEvery) //nolint:forbidigo // polling interval; no result depends on it
	defer look.Stop()
	for {
		p, ok, err := lists.Progress(ctx, c.Hospital, c.ID)
		if ok && enough(&p) {
			return p, true
		}
		if err != nil {
			return p, false
		}
		select {
		case <-ctx.Done():
			return p, false
		case <-look.C:
		}
	}
}

func (s *webhooks) retry(w http.ResponseWriter, r *http.Request) {
	c := s.newCommand(r, outbound.VerbRetry)
	d, ok, err := s.Lists.Delivery(r.Context(), c.Hospital, pathID(r))
	if !ok { // an outdated list that contains the delivery is sufficient for a retry
		s.requireListed(w, r, ok, err)
		return
	}
	c.Delivery, c.EventID, c.Endpoint, c.Channel = d.ID, d.EventID, d.EndpointID, d.Channel
	if s.order(w, r, actDeliveryRetry, d.ID, c) {
		httpapi.OK(w, r, retriedRow{c.ID})
	}
}

func (s *webhooks) stop(w http.ResponseWriter, r *http.Request) {
	c := s.newCommand(r, outbound.VerbStop)
	p, ok, err := s.Lists.Progress(r.Context(), hospitalOf(r), pathID(r))
	switch {
	// A command that is known to be running can be stopped, even if its progress is outdated.
	case (!ok || p.Done) && !s.requireListed(w, r, ok, err):
		return
	case p.Verb != outbound.VerbReplay:
		unprocessable(w, r, "Only a replay can be stopped.", "", "verb")
		return
	case p.Done: // the command is done: respond with its progress
		httpapi.OK(w, r, commandOf(&p))
		return
	}
	c.Command, c.Endpoint = p.ID, ""
	if s.order(w, r, actCommandStop, p.ID, c) {
		httpapi.OK(w, r, commandOf(&p))
	}
}

func (s *webhooks) getCommand(w http.ResponseWriter, r *http.Request) {
	if p, ok, err := s.Lists.Progress(r.Context(), hospitalOf(r), pathID(r)); s.requireListed(w, r, ok, err) {
		httpapi.OK(w, r, commandOf(&p))
	}
}
