package integrations

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/internal/httpapi"
	"svc/internal/outbound"
)

const (
	deliveriesAPI = "/api/admin/deliveries/"
	commandsAPI   = "/api/admin/commands/"
)

// apiDelivery is a delivery in an API response.
type apiDelivery struct {
	ID, EventID, Event, EndpointID, State string
	Reason                                *string
	OccurredAt, NextAttemptAt             *time.Time
	Attempts                              []apiAttempt
}

type apiAttempt struct {
	N        int
	At       *time.Time
	MS       int64
	Class    string
	Status   *int
	Response *string
}

type deliveryList struct {
	Items []apiDelivery
	Next  *string
}

// deliveryStates are the states by which the list can be filtered.
var deliveryStates = []string{
	string(outbound.Pending), string(outbound.Delivered), string(outbound.Rejected), string(outbound.Expired), string(outbound.Poison),
	string(outbound.Cancelled), string(outbound.Failed), string(outbound.Suppressed), string(outbound.Superseded),
}

type deliveryRow struct {
	ID, At, Event, Tries, Answer, State, Next string
	Bad                                       bool // whether the delivery ended without success
	Attempts                                  []attemptRow
}

type attemptRow struct {
	N                  int
	At, Answer, Detail string
}

// formatAnswer formats the status of an endpoint's response, or the reason why there was no response. The text
// includes the duration of the attempt in milliseconds.
func formatAnswer(d *adminRequest, a *apiAttempt) string {
	what := a.Class
	if a.Status != nil {
		what = strconv.Itoa(*a.Status)
	}
	return d.T("delivery.answer", "what", what, "ms", a.MS)
}

func newDeliveryRow(d *adminRequest, v *apiDelivery) deliveryRow {
	row := deliveryRow{
		ID: v.ID, At: d.formatSecond(v.OccurredAt), Event: v.Event, Tries: strconv.Itoa(len(v.Attempts)),
		State: d.Or("delivery."+v.State, v.State), Next: d.formatSecond(v.NextAttemptAt),
	}
	switch outbound.State(v.State) {
	case outbound.Rejected, outbound.Expired, outbound.Poison, outbound.Failed, outbound.Cancelled:
		row.Bad = true
	case outbound.Pending, outbound.Delivered, outbound.Suppressed, outbound.Superseded:
	}
	if reason := textOrEmpty(v.Reason); reason != "" {
		row.State += " (" + reason + ")"
	}
	for i := range v.Attempts {
		a := &v.Attempts[i]
		row.Answer, row.Tries = formatAnswer(d, a), strconv.Itoa(a.N)
		row.Attempts = append(row.Attempts, attemptRow{a.N, d.formatSecond(a.At), row.Answer, textOrEmpty(a.Response)})
	}
	return row
}

// deliveryPage shows one delivery, or the result of a command.
type deliveryPage struct {
	adminPage
	Hook    webhookRow
	Row     *deliveryRow
	Request string
	Command *apiCommand
	Counted string
	Only    []option
	Ready   bool // whether the deliveries have been counted, so that the replay can be started
}

func showDelivery(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	if v, ok := readDelivery(d, w, httpapi.PathValue(d.r, "delivery")); ok {
		row := newDeliveryRow(d, v)
		d.show("webhooks.delivery", &deliveryPage{adminPage: d.newPage("delivery"), Hook: newWebhookRow(d, w), Row: &row})
	}
}

// readDelivery returns a delivery to an endpoint. If it returns false, it has sent an error response.
func readDelivery(d *adminRequest, w *apiWebhook, id string) (*apiDelivery, bool) {
	v := &apiDelivery{}
	if _, ok := d.read(deliveriesAPI+url.PathEscape(id), v); !ok {
		return nil, false
	}
	if v.EndpointID != w.ID {
		d.showNotFound()
		return nil, false
	}
	return v, true
}

// apiCommand is the progress of a command in an API response.
type apiCommand struct {
	CommandID, Verb string
	Done, Stopped   bool
	Reason          *string
	Count           int
	Delivered       int
	Failed          int
	DeliveryID      *string
}

// readCommand returns a command for its page. If the command was issued just now, the notifier may not know it yet;
// the command is then treated as unfinished. If readCommand returns false, it has sent an error response.
func (d *adminRequest) readCommand(id string) (c *apiCommand, ok bool) {
	path := commandsAPI + url.PathEscape(id)
	if verb := d.orderedVerb(); verb != "" && d.isMissing(path) {
		return &apiCommand{CommandID: id, Verb: verb}, true
	}
	c = &apiCommand{}
	_, ok = d.read(path, c)
	return c, ok
}

func testWebhook(d *adminRequest) {
	body := map[string]any{}
	if event := d.r.PostForm.Get("event"); event != "" {
		body["event"] = event
	}
	orderCommand(d, webhooksAPI+"/"+url.PathEscape(d.pathID())+"/test", outbound.VerbTest, body, showRefusal)
}

// orderCommand sends a request to the given API path, which issues a command for the page's endpoint. It then
// redirects to the page of the command.
func orderCommand(d *adminRequest, path string, verb outbound.Verb, body any, showForm func(*adminRequest)) {
	var ordered apiCommand
	if d.do(http.MethodPost, path, "", body, &ordered, showForm) {
		d.leaveCommand(d.pathTo(d.pathID(), "commands", ordered.CommandID), string(verb))
	}
}

// showRefusal shows only the API's error message, because the act has no fields.
func showRefusal(d *adminRequest) {
	d.show("webhooks.refused", &deliveryPage{adminPage: d.newPage("int.refused")})
}

func retryDelivery(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	if v, ok := readDelivery(d, w, httpapi.PathValue(d.r, "delivery")); ok {
		orderCommand(d, deliveriesAPI+url.PathEscape(v.ID)+"/retry", outbound.VerbRetry, nil, showRefusal)
	}
}

// showCommand shows the progress of a command: a test, a retry or a replay. The page refreshes until the command
// ends.
func showCommand(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	c, ok := d.readCommand(httpapi.PathValue(d.r, "command"))
	if !ok {
		return
	}
	out := deliveryPage{adminPage: d.newPage("command"), Hook: newWebhookRow(d, w), Command: c}
	out.Heading = d.Or("command."+c.Verb, c.Verb)
	if id := textOrEmpty(c.DeliveryID); id != "" {
		v := apiDelivery{}
		if d.fetch(deliveriesAPI+url.PathEscape(id), &v) == nil && v.EndpointID == w.ID {
			row := newDeliveryRow(d, &v)
			out.Row = &row
			out.Request = makeTestRequest(d, c, &v)
		}
	}
	if !c.Done {
		out.Poll, out.Refresh = 1, pollEvery
	}
	d.show("webhooks.command", &out)
}

// makeTestRequest returns the last request of a webhook test, with its signatures. It returns "" if the command is
// not a test or the request cannot be rebuilt.
func makeTestRequest(d *adminRequest, c *apiCommand, v *apiDelivery) string {
	n, again := len(v.Attempts), d.Administration.TestRequest
	if c.Verb != string(outbound.VerbTest) || again == nil || n == 0 || v.Attempts[n-1].At == nil || v.OccurredAt == nil {
		return ""
	}
	return again(d.r.Context(), d.session.Hospital, v.EndpointID, c.CommandID, v.Event, *v.OccurredAt, *v.Attempts[n-1].At)
}

func stopCommand(d *adminRequest) {
	id := httpapi.PathValue(d.r, "command")
	if d.do(http.MethodPost, commandsAPI+url.PathEscape(id)+"/stop", "", nil, nil, showRefusal) {
		d.leaveNotice(d.pathTo(d.pathID(), "commands", id), "command.stopping")
	}
}

// parseLocalTime converts a time from a form to the API's format. It returns nil if nothing was entered. The API
// interprets the time in the hospital's time zone.
func parseLocalTime(typed string) any {
	switch typed = strings.TrimSpace(typed); {
	case typed == "":
		return nil
	case len(typed) == len("2006-01-02T15:04"):
		return typed + ":00"
	}
	return typed
}

// showReplay shows the form for a time window. After the form is submitted, the page says how many deliveries would
// be sent again, and offers to start the replay.
func showReplay(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	given, counted := d.r.URL.Query(), ""
	if given.Get("since") != "" && d.refused == nil {
		var would struct{ Count *int }
		refused, ok := d.send(http.MethodPost, webhooksAPI+"/"+url.PathEscape(w.ID)+"/replay?dryRun=true", "", readReplayForm(given), &would)
		switch {
		case !ok:
			return
		case refused != nil:
			d.refuse(refused)
		case would.Count == nil:
			counted = d.T("replay.uncounted")
		default:
			counted = d.T("replay.counted", "n", *would.Count)
		}
	}
	out := deliveryPage{adminPage: d.newPage("hooks.replay"), Hook: newWebhookRow(d, w), Counted: counted, Ready: counted != ""}
	d.useForm(&out.adminPage, given, nil, formField{name: "since"}, formField{name: "until"}, formField{name: "only"})
	chosen := cmp.Or(out.Form.Value("only"), string(outbound.SelectMissing))
	for _, only := range []string{string(outbound.SelectMissing), string(outbound.SelectFailed), string(outbound.SelectAll)} {
		out.Only = append(out.Only, option{only, d.T("replay.only." + only), only == chosen})
	}
	d.show("webhooks.replay", &out)
}

// readReplayForm returns the time window from a form and the selection of deliveries, in the API's format.
func readReplayForm(f url.Values) map[string]any {
	body := map[string]any{"since": parseLocalTime(f.Get("since"))}
	if until := parseLocalTime(f.Get("until")); until != nil {
		body["until"] = until
	}
	if only := f.Get("only"); only != "" {
		body["only"] = only
	}
	return body
}

func replayWebhook(d *adminRequest) {
	path := webhooksAPI + "/" + url.PathEscape(d.pathID()) + "/replay"
	orderCommand(d, path, outbound.VerbReplay, readReplayForm(d.r.PostForm), showReplay)
}
