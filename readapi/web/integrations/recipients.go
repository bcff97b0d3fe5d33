package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/readapi/web/apicall"
)

const recipientsAPI = alertsAPI + "/recipients"

func (d alertsRequest) recipientRow(p *apiRecipient) recipientRow {
	row := recipientRow{ID: p.ID, Label: p.Label, Email: deref(p.Email), Phone: deref(p.Phone), Webhook: deref(p.WebhookID), Link: d.at("recipients", p.ID)}
	for _, c := range []struct{ name, address string }{{"email", row.Email}, {"sms", row.Phone}, {"webhook", row.Webhook}} {
		if c.address != "" {
			row.Channels = append(row.Channels, channelRow{c.name, d.Or("channel."+c.name, c.name)})
		}
	}
	return row
}

// recipientPage is one recipient, or one that is to be added.
type recipientPage struct {
	adminPage
	Tabs     []adminLink
	ID       string // "": it is new
	Version  string
	Form     *form
	Shown    recipientRow // addresses as they are, masked
	Webhooks []option
	Was      []field
}

func newRecipient(on *adminRequest) {
	alertsRequest{localRequest{on}}.showRecipient(http.StatusOK, "", nil)
}

func showRecipient(on *adminRequest) {
	d := alertsRequest{localRequest{on}}
	d.showRecipient(http.StatusOK, d.id(), nil)
}

// recipientFields are the fields of a recipient with the keys of their labels.
var recipientFields = [][2]string{{"label", "recipients.label"}, {"email", "recipients.email"}, {"phone", "recipients.phone"}, {"webhookId", "recipients.webhook"}}

func (d alertsRequest) showRecipient(status int, id string, refused *apicall.Refusal) {
	out := recipientPage{adminPage: d.page("recipients.new"), Tabs: d.alertTabs(""), ID: id}
	values, shown := url.Values{}, url.Values{}
	if id != "" {
		people, ok := d.recipients()
		if !ok {
			return
		}
		at := slices.IndexFunc(people, func(p apiRecipient) bool { return p.ID == id })
		if at < 0 {
			d.gone()
			return
		}
		p := &people[at]
		out.Heading, out.Shown, out.Version = p.Label, d.recipientRow(p), strconv.FormatInt(p.Version, 10)
		values = url.Values{"label": {p.Label}, "webhookId": {deref(p.WebhookID)}}
		shown = url.Values{"label": {p.Label}, "email": {deref(p.Email)}, "phone": {deref(p.Phone)}, "webhookId": {deref(p.WebhookID)}}
	}
	var hooks struct {
		Webhooks []struct{ ID, URL, Description string }
	}
	if _, ok := d.read("/api/admin/webhooks", &hooks); !ok {
		return
	}
	out.Form = d.form(values, refused)
	for _, h := range hooks.Webhooks {
		out.Webhooks = append(out.Webhooks, option{h.ID, h.URL, out.Form.Value("webhookId") == h.ID})
	}
	for _, f := range recipientFields {
		out.Was = append(out.Was, field{Name: f[0], Value: shown.Get(f[0])})
	}
	out.Refused = out.Form.refusedWords("label", "email", "phone", "webhookId")
	if refused.IsOvertaken() {
		out.Refused, out.Changed = []string{d.T("int.overtaken")}, d.compared(shown, recipientFields...)
	}
	d.show(status, "alerts.recipient", &out)
}

// recipientTyped is what a form sets, as the API takes it. An address that is left empty
// stays as it is, unless its box says that it goes.
func recipientTyped(f url.Values, id string) map[string]any {
	body := map[string]any{"label": strings.TrimSpace(f.Get("label"))}
	for _, name := range []string{"email", "phone"} {
		switch text := strings.TrimSpace(f.Get(name)); {
		case text != "":
			body[name] = text
		case id != "" && f.Get("drop."+name) == "true":
			body[name] = nil
		}
	}
	if hook := f.Get("webhookId"); hook != "" {
		body["webhookId"] = hook
	} else if id != "" {
		body["webhookId"] = nil
	}
	return body
}

func addRecipient(on *adminRequest) {
	d := alertsRequest{localRequest{on}}
	d.saveRecipient(http.MethodPost, recipientsAPI, "")
}

func changeRecipient(on *adminRequest) {
	d := alertsRequest{localRequest{on}}
	d.saveRecipient(http.MethodPatch, recipientsAPI+"/"+url.PathEscape(d.id()), d.id())
}

func (d alertsRequest) saveRecipient(method, path, id string) {
	var saved apiRecipient
	refused, ok := d.do(method, path, d.version(), recipientTyped(d.r.PostForm, id), &saved)
	switch {
	case refused != nil:
		d.showRecipient(refused.PageStatus(), id, refused)
	case ok:
		d.settle(func() bool {
			return d.hasRecipient(func(p *apiRecipient) bool { return p.ID == saved.ID && p.Version >= saved.Version })
		})
		d.done(d.at(), "recipients.done", "label", saved.Label)
	}
}

func (d alertsRequest) hasRecipient(is func(*apiRecipient) bool) bool {
	var list struct{ Recipients []apiRecipient }
	a, err := d.ask(http.MethodGet, recipientsAPI, "", nil)
	if err != nil || a.Refused != nil || a.Decode(&list) != nil {
		return false
	}
	for i := range list.Recipients {
		if is(&list.Recipients[i]) {
			return true
		}
	}
	return false
}

func removeRecipient(on *adminRequest) {
	d := alertsRequest{localRequest{on}}
	id := d.id()
	refused, ok := d.do(http.MethodDelete, recipientsAPI+"/"+url.PathEscape(id), d.version(), nil, nil)
	switch {
	case refused != nil:
		d.r.PostForm = nil // it is shown as it is
		d.showRecipient(refused.PageStatus(), id, refused)
	case ok:
		d.settle(func() bool { return !d.hasRecipient(func(p *apiRecipient) bool { return p.ID == id }) })
		d.done(d.at(), "recipients.removed")
	}
}

func testRecipient(on *adminRequest) {
	d := alertsRequest{localRequest{on}}
	people, ok := d.recipients()
	if !ok {
		return
	}
	if !slices.ContainsFunc(people, func(p apiRecipient) bool { return p.ID == d.id() }) {
		d.gone() // the API would refuse it as a field of the body
		return
	}
	var ordered struct{ CommandID string }
	body := map[string]any{"recipientId": d.id(), "channel": d.r.PostForm.Get("channel")}
	refused, ok := d.do(http.MethodPost, alertsAPI+"/test", "", body, &ordered)
	switch {
	case refused != nil:
		d.showAlertsAdmin(refused.PageStatus(), refused)
	case ok:
		d.settle(func() bool { c, ok := d.commandOf(ordered.CommandID); return ok && c.Done })
		http.Redirect(d.w, d.r, d.at("tests", ordered.CommandID), http.StatusSeeOther)
	}
}

// alertCommand is how far a test is, as the API tells it.
type alertCommand struct {
	CommandID, Verb string
	Done            bool
	Reason          *string
	Delivered       int
	DeliveryID      *string
}

func (d alertsRequest) commandOf(id string) (c alertCommand, ok bool) {
	a, err := d.ask(http.MethodGet, "/api/admin/commands/"+url.PathEscape(id), "", nil)
	return c, err == nil && a.Refused == nil && a.Decode(&c) == nil
}

// alertTestPage is what became of a test.
type alertTestPage struct {
	adminPage
	Tabs     []adminLink
	Say      string
	Attempts []alertAttempt
}

type alertAttempt struct {
	At, Took, Class, Status, Response string
	N                                 int
}

func showAlertTest(on *adminRequest) {
	d := alertsRequest{localRequest{on}}
	out := alertTestPage{adminPage: d.page("recipients.test"), Tabs: d.alertTabs("")}
	c, ok := d.commandOf(d.id())
	var delivery struct {
		State    string
		Reason   *string
		Attempts []struct {
			N        int
			At       *time.Time
			MS       int64
			Class    string
			Status   *int
			Response *string
		}
	}
	switch {
	case !ok:
		d.gone()
		return
	case !c.Done:
		out.Say = d.T("recipients.waiting")
		out.Poll = 1
	case c.Delivered > 0:
		out.Say = d.T("recipients.delivered")
	default:
		out.Say = d.T("recipients.failed")
	}
	if id := deref(c.DeliveryID); id != "" {
		if a, err := d.ask(http.MethodGet, "/api/admin/deliveries/"+url.PathEscape(id), "", nil); err == nil && a.Refused == nil && a.Decode(&delivery) == nil {
			if reason := deref(delivery.Reason); reason != "" && c.Done {
				out.Say += " (" + delivery.State + ", " + reason + ")"
			}
		}
	}
	for _, a := range delivery.Attempts {
		row := alertAttempt{At: d.when(a.At), Took: strconv.FormatInt(a.MS, 10) + " ms", Class: a.Class, Response: deref(a.Response), N: a.N}
		if a.Status != nil {
			row.Status = strconv.Itoa(*a.Status)
		}
		out.Attempts = append(out.Attempts, row)
	}
	d.show(http.StatusOK, "alerts.test", &out)
}
