package integrations

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

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
	Bad                                       bool // it ended without success
	Attempts                                  []attemptRow
}

type attemptRow struct {
	N                        int
	At, Took, Answer, Detail string
}

// answerText is what an endpoint answered: its status, or why there is none.
func answerText(d *adminRequest, a *apiAttempt) string {
	what := a.Class
	if a.Status != nil {
		what = strconv.Itoa(*a.Status)
	}
	return d.T("delivery.answer", "what", what, "ms", a.MS)
}

func deliveryRowOf(d *adminRequest, v *apiDelivery) deliveryRow {
	row := deliveryRow{ID: v.ID, At: d.second(v.OccurredAt), Event: v.Event, Tries: strconv.Itoa(len(v.Attempts)), State: d.Or("delivery."+v.State, v.State), Next: d.second(v.NextAttemptAt)}
	switch outbound.State(v.State) {
	case outbound.Rejected, outbound.Expired, outbound.Poison, outbound.Failed, outbound.Cancelled:
		row.Bad = true
	case outbound.Pending, outbound.Delivered, outbound.Suppressed, outbound.Superseded:
	}
	if reason := deref(v.Reason); reason != "" {
		row.State += " (" + reason + ")"
	}
	for i := range v.Attempts {
		a := &v.Attempts[i]
		row.Attempts = append(row.Attempts, attemptRow{a.N, d.second(a.At), strconv.FormatInt(a.MS, 10) + " ms", answerText(d, a), deref(a.Response)})
		row.Answer, row.Tries = answerText(d, a), strconv.Itoa(a.N)
	}
	return row
}

// second writes a moment of the API to the second.
func (d *adminRequest) second(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return d.when(t) + t.In(d.Zone).Format(":05")
}

// part returns the value of another parameter of the path.
func (d *adminRequest) part(name string) string {
	raw := chi.URLParam(d.r, name)
	if value, err := url.PathUnescape(raw); err == nil {
		return value
	}
	return raw
}

// deliveryPage is one delivery, or what became of a command.
type deliveryPage struct {
	adminPage
	Hook    webhookRow
	Row     *deliveryRow
	Request string
	Command *apiCommand
	Form    *form
	Counted string
	Only    []scopeRow
	Ready   bool // the window was counted: the replay may begin
}

func showDelivery(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	v, ok := readDelivery(d, w, d.part("delivery"))
	if !ok {
		return
	}
	row := deliveryRowOf(d, v)
	d.show(http.StatusOK, "webhooks.delivery", &deliveryPage{adminPage: d.page("delivery"), Hook: webhookRowOf(d, w), Row: &row})
}

// readDelivery reads a delivery to an endpoint; false: it has answered.
func readDelivery(d *adminRequest, w *apiWebhook, id string) (*apiDelivery, bool) {
	v := &apiDelivery{}
	if _, ok := d.read("/api/admin/deliveries/"+url.PathEscape(id), v); !ok {
		return nil, false
	}
	if v.EndpointID != w.ID {
		d.gone()
		return nil, false
	}
	return v, true
}

// apiCommand is how far a command is, as the API tells it.
type apiCommand struct {
	CommandID, Verb string
	Done, Stopped   bool
	Reason          *string
	Count           int
	Delivered       int
	Failed          int
	DeliveryID      *string
}

func testWebhook(d *adminRequest) {
	var made apiCommand
	event := d.r.PostForm.Get("event")
	refused, ok := d.do(http.MethodPost, webhooksAPI+"/"+url.PathEscape(d.id())+"/test", "", map[string]any{"event": event}, &made)
	if ok && refused == nil {
		http.Redirect(d.w, d.r, d.at(d.id(), "commands", made.CommandID), http.StatusSeeOther)
	} else if ok {
		showRefusal(d, refused)
	}
}

// showRefusal answers with the words of the API alone, where there is no field to put them.
func showRefusal(d *adminRequest, refused *apicall.Refusal) {
	out := deliveryPage{adminPage: d.page("int.refused")}
	out.Refused = d.form(nil, refused).refusedWords()
	d.show(refused.PageStatus(), "webhooks.refused", &out)
}

func retryDelivery(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	v, ok := readDelivery(d, w, d.part("delivery"))
	if !ok {
		return
	}
	var made apiCommand
	refused, ok := d.do(http.MethodPost, "/api/admin/deliveries/"+url.PathEscape(v.ID)+"/retry", "", nil, &made)
	if ok && refused == nil {
		http.Redirect(d.w, d.r, d.at(w.ID, "commands", made.CommandID), http.StatusSeeOther)
	} else if ok {
		showRefusal(d, refused)
	}
}

// showCommand shows what became of a test, a retry or a replay, and follows it.
func showCommand(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	c := &apiCommand{}
	if _, ok = d.read("/api/admin/commands/"+url.PathEscape(d.part("command")), c); !ok {
		return
	}
	out := deliveryPage{adminPage: d.page("command"), Hook: webhookRowOf(d, w), Command: c}
	out.Heading = d.Or("command."+c.Verb, c.Verb)
	if id := deref(c.DeliveryID); id != "" {
		a, err := d.ask(http.MethodGet, "/api/admin/deliveries/"+url.PathEscape(id), "", nil)
		v := apiDelivery{}
		if err == nil && a.Refused == nil && a.Decode(&v) == nil && v.EndpointID == w.ID {
			row := deliveryRowOf(d, &v)
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
	refused, ok := d.do(http.MethodPost, "/api/admin/commands/"+url.PathEscape(d.part("command"))+"/stop", "", nil, nil)
	if ok && refused == nil {
		d.done(d.at(d.id(), "commands", d.part("command")), "command.stopping")
	} else if ok {
		showRefusal(d, refused)
	}
}

// localTime is a moment of a form as the API reads it in the zone of the hospital.
func localTime(typed string) any {
	switch typed = strings.TrimSpace(typed); {
	case typed == "":
		return nil
	case len(typed) == len("2006-01-02T15:04"):
		return typed + ":00"
	}
	return typed
}

// showReplay asks for a window. Once it is known, the page says how many deliveries would be
// sent again, and offers to begin.
func showReplay(d *adminRequest, status int, refused *apicall.Refusal) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	given := d.r.URL.Query()
	out := deliveryPage{adminPage: d.page("hooks.replay"), Hook: webhookRowOf(d, w), Form: d.form(given, refused)}
	if given.Get("since") != "" && refused == nil {
		if refused, ok = countReplay(d, w, given, &out); !ok {
			return
		}
		out.Form.refused = refused
		out.Ready = refused == nil
	}
	out.Refused = out.Form.refusedWords("since", "until", "only")
	for _, only := range []string{string(outbound.SelectMissing), string(outbound.SelectFailed), string(outbound.SelectAll)} {
		out.Only = append(out.Only, scopeRow{Scope: only, Says: d.T("replay.only." + only), Chosen: out.Form.Value("only") == only || out.Form.Value("only") == "" && only == string(outbound.SelectMissing)})
	}
	if refused != nil && status == http.StatusOK {
		status = refused.PageStatus()
	}
	d.show(status, "webhooks.replay", &out)
}

// countReplay says how many deliveries a replay would make.
func countReplay(d *adminRequest, w *apiWebhook, given url.Values, out *deliveryPage) (refused *apicall.Refusal, ok bool) {
	var would struct{ Count *int }
	if refused, ok = d.do(http.MethodPost, webhooksAPI+"/"+url.PathEscape(w.ID)+"/replay?dryRun=true", "", replayBody(given), &would); !ok || refused != nil {
		return refused, ok
	}
	if out.Counted = d.T("replay.uncounted"); would.Count != nil {
		out.Counted = d.T("replay.counted", "n", *would.Count)
	}
	return nil, true
}

// replayBody is the window of a form, as the API takes it.
func replayBody(f url.Values) map[string]any {
	body := map[string]any{"since": localTime(f.Get("since"))}
	if until := localTime(f.Get("until")); until != nil {
		body["until"] = until
	}
	if only := f.Get("only"); only != "" {
		body["only"] = only
	}
	return body
}

func replayWebhook(d *adminRequest) {
	var made apiCommand
	refused, ok := d.do(http.MethodPost, webhooksAPI+"/"+url.PathEscape(d.id())+"/replay", "", replayBody(d.r.PostForm), &made)
	switch {
	case refused != nil:
		showReplay(d, refused.PageStatus(), refused)
	case ok:
		http.Redirect(d.w, d.r, d.at(d.id(), "commands", made.CommandID), http.StatusSeeOther)
	}
}
