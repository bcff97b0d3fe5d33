package integrations

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/internal/httpapi"
	"svc/internal/outbound"
	"svc/readapi/web/apicall"
)

// apiDelivery is a delivery as the API tells it.
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

// deliveryStates are the states that the list can be filtered by.
var deliveryStates = []string{
	string(outbound.Pending), string(outbound.Delivered), string(outbound.Rejected), string(outbound.Expired), string(outbound.Poison),
	string(outbound.Cancelled), string(outbound.Failed), string(outbound.Suppressed), string(outbound.Superseded),
}

type deliveryRow struct {
	ID, At, Event, Tries, Answer, State, Next string
	Bad                                       bool // the delivery ended without success
	Attempts                                  []attemptRow
}

type attemptRow struct {
	N                        int
	At, Took, Answer, Detail string
}

// formatAnswer writes the status that an endpoint answered with, or why there is none.
func formatAnswer(d *adminRequest, a *apiAttempt) string {
	what := a.Class
	if a.Status != nil {
		what = strconv.Itoa(*a.Status)
	}
	return d.T("delivery.answer", "what", what, "ms", a.MS)
}

func newDeliveryRow(d *adminRequest, v *apiDelivery) deliveryRow {
	row := deliveryRow{ID: v.ID, At: d.formatSecond(v.OccurredAt), Event: v.Event, Tries: strconv.Itoa(len(v.Attempts)), State: d.Or("delivery."+v.State, v.State), Next: d.formatSecond(v.NextAttemptAt)}
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
		row.Attempts = append(row.Attempts, attemptRow{a.N, d.formatSecond(a.At), strconv.FormatInt(a.MS, 10) + " ms", formatAnswer(d, a), textOrEmpty(a.Response)})
		row.Answer, row.Tries = formatAnswer(d, a), strconv.Itoa(a.N)
	}
	return row
}

// formatSecond writes a time of the API to the second.
func (d *adminRequest) formatSecond(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return d.formatTime(t) + t.In(d.Zone).Format(":05")
}

// deliveryPage shows one delivery, or the result of a command.
type deliveryPage struct {
	adminPage
	Hook    webhookRow
	Row     *deliveryRow
	Request string
	Command *apiCommand
	Form    *form
	Counted string
	Only    []option
	Ready   bool // the window was counted: the replay may begin
}

func showDelivery(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	v, ok := readDelivery(d, w, httpapi.PathValue(d.r, "delivery"))
	if !ok {
		return
	}
	row := newDeliveryRow(d, v)
	d.show(http.StatusOK, "webhooks.delivery", &deliveryPage{adminPage: d.newPage("delivery"), Hook: newWebhookRow(d, w), Row: &row})
}

// readDelivery returns a delivery to an endpoint. It returns false after it has answered with
// a fault.
func readDelivery(d *adminRequest, w *apiWebhook, id string) (*apiDelivery, bool) {
	v := &apiDelivery{}
	if _, ok := d.read("/api/admin/deliveries/"+url.PathEscape(id), v); !ok {
		return nil, false
	}
	if v.EndpointID != w.ID {
		d.showNotFound()
		return nil, false
	}
	return v, true
}

// apiCommand is the progress of a command, as the API tells it.
type apiCommand struct {
	CommandID, Verb string
	Done, Stopped   bool
	Reason          *string
	Count           int
	Delivered       int
	Failed          int
	DeliveryID      *string
}

// readCommand returns a command of the page of its own. Just after the order the notifier may not
// have read the command: then it is not done. It returns false after it has answered with a fault.
func (d *adminRequest) readCommand(id string) (c *apiCommand, ok bool) {
	path := "/api/admin/commands/" + url.PathEscape(id)
	if verb := d.orderedVerb(); verb != "" && d.isMissing(path) {
		return &apiCommand{CommandID: id, Verb: verb}, true
	}
	c = &apiCommand{}
	_, ok = d.read(path, c)
	return c, ok
}

func testWebhook(d *adminRequest) {
	var made apiCommand
	event := d.r.PostForm.Get("event")
	refused, ok := d.send(http.MethodPost, webhooksAPI+"/"+url.PathEscape(d.pathID())+"/test", "", map[string]any{"event": event}, &made)
	if ok && refused == nil {
		d.leaveCommand(d.pathTo(d.pathID(), "commands", made.CommandID), string(outbound.VerbTest))
	} else if ok {
		showRefusal(d, refused)
	}
}

// showRefusal answers with the words of the API alone, for an act without fields.
func showRefusal(d *adminRequest, refused *apicall.Refusal) {
	out := deliveryPage{adminPage: d.newPage("int.refused")}
	out.Refused = d.newForm(nil, refused).listRefusals()
	d.show(refused.PageStatus(), "webhooks.refused", &out)
}

func retryDelivery(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	v, ok := readDelivery(d, w, httpapi.PathValue(d.r, "delivery"))
	if !ok {
		return
	}
	var made apiCommand
	refused, ok := d.send(http.MethodPost, "/api/admin/deliveries/"+url.PathEscape(v.ID)+"/retry", "", nil, &made)
	if ok && refused == nil {
		d.leaveCommand(d.pathTo(w.ID, "commands", made.CommandID), string(outbound.VerbRetry))
	} else if ok {
		showRefusal(d, refused)
	}
}

// showCommand shows the progress of a test, a retry or a replay, and follows it.
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
		if d.fetch("/api/admin/deliveries/"+url.PathEscape(id), &v) == nil && v.EndpointID == w.ID {
			row := newDeliveryRow(d, &v)
			out.Row = &row
			if n := len(v.Attempts); n > 0 && c.Verb == string(outbound.VerbTest) && d.Administration.TestRequest != nil && v.Attempts[n-1].At != nil && v.OccurredAt != nil {
				out.Request = d.Administration.TestRequest(d.r.Context(), d.session.Hospital, w.ID, c.CommandID, v.Event, *v.OccurredAt, *v.Attempts[n-1].At)
			}
		}
	}
	if !c.Done {
		out.Poll, out.Refresh = 1, pollEvery
	}
	d.show(http.StatusOK, "webhooks.command", &out)
}

func stopCommand(d *adminRequest) {
	refused, ok := d.send(http.MethodPost, "/api/admin/commands/"+url.PathEscape(httpapi.PathValue(d.r, "command"))+"/stop", "", nil, nil)
	if ok && refused == nil {
		d.leaveNotice(d.pathTo(d.pathID(), "commands", httpapi.PathValue(d.r, "command")), "command.stopping")
	} else if ok {
		showRefusal(d, refused)
	}
}

// parseLocalTime returns a time of a form as the API takes it. The API reads it in the zone
// of the hospital.
func parseLocalTime(typed string) any {
	switch typed = strings.TrimSpace(typed); {
	case typed == "":
		return nil
	case len(typed) == len("2006-01-02T15:04"):
		return typed + ":00"
	}
	return typed
}

// showReplay asks for a window of time. Then the page says how many deliveries would be sent
// again, and offers to begin.
func showReplay(d *adminRequest, status int, refused *apicall.Refusal) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	given := d.r.URL.Query()
	out := deliveryPage{adminPage: d.newPage("hooks.replay"), Hook: newWebhookRow(d, w), Form: d.newForm(given, refused)}
	if given.Get("since") != "" && refused == nil {
		if refused, ok = countReplay(d, w, given, &out); !ok {
			return
		}
		out.Form.refused = refused
		out.Ready = refused == nil
	}
	out.Refused = out.Form.listRefusals("since", "until", "only")
	for _, only := range []string{string(outbound.SelectMissing), string(outbound.SelectFailed), string(outbound.SelectAll)} {
		out.Only = append(out.Only, option{Value: only, Name: d.T("replay.only." + only), Chosen: out.Form.Value("only") == only || out.Form.Value("only") == "" && only == string(outbound.SelectMissing)})
	}
	if refused != nil && status == http.StatusOK {
		status = refused.PageStatus()
	}
	d.show(status, "webhooks.replay", &out)
}

// countReplay fills in how many deliveries a replay would make.
func countReplay(d *adminRequest, w *apiWebhook, given url.Values, out *deliveryPage) (refused *apicall.Refusal, ok bool) {
	var would struct{ Count *int }
	if refused, ok = d.send(http.MethodPost, webhooksAPI+"/"+url.PathEscape(w.ID)+"/replay?dryRun=true", "", readReplayForm(given), &would); !ok || refused != nil {
		return refused, ok
	}
	if out.Counted = d.T("replay.uncounted"); would.Count != nil {
		out.Counted = d.T("replay.counted", "n", *would.Count)
	}
	return nil, true
}

// readReplayForm returns the window of a form, as the API takes it.
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
	var made apiCommand
	refused, ok := d.send(http.MethodPost, webhooksAPI+"/"+url.PathEscape(d.pathID())+"/replay", "", readReplayForm(d.r.PostForm), &made)
	switch {
	case refused != nil:
		showReplay(d, refused.PageStatus(), refused)
	case ok:
		d.leaveCommand(d.pathTo(d.pathID(), "commands", made.CommandID), string(outbound.VerbReplay))
	}
}
