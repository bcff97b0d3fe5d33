package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"svc/internal/outbound"
	"svc/readapi/web/apicall"
)

const recipientsAPI = alertsAPI + "/recipients"

func (d alertsRequest) newRecipientRow(p *apiRecipient) recipientRow {
	row := recipientRow{ID: p.ID, Label: p.Label, Email: textOrEmpty(p.Email), Phone: textOrEmpty(p.Phone), Webhook: textOrEmpty(p.WebhookID), Link: d.pathTo("recipients", p.ID)}
	for _, c := range []struct{ name, address string }{{"email", row.Email}, {"sms", row.Phone}, {"webhook", row.Webhook}} {
		if c.address != "" {
			row.Channels = append(row.Channels, option{Value: c.name, Name: d.Or("channel."+c.name, c.name)})
		}
	}
	return row
}

// recipientPage shows one recipient, or asks for a new one.
type recipientPage struct {
	adminPage
	Tabs     []adminLink
	ID       string // "": the recipient is new
	Version  string
	Form     *form
	Shown    recipientRow // masked addresses as they are now
	Webhooks []option
}

func askForRecipient(d alertsRequest) {
	d.showRecipient(http.StatusOK, "", nil)
}

func showRecipient(d alertsRequest) {
	d.showRecipient(http.StatusOK, d.pathID(), nil)
}

// recipientFields are the fields of a recipient with the keys of their labels.
var recipientFields = [][2]string{{"label", "recipients.label"}, {"email", "recipients.email"}, {"phone", "recipients.phone"}, {"webhookId", "recipients.webhook"}}

func (d alertsRequest) showRecipient(status int, id string, refused *apicall.Refusal) {
	out := recipientPage{adminPage: d.newPage("recipients.new"), Tabs: d.listTabs(""), ID: id}
	values, shown := url.Values{}, url.Values{}
	if id != "" {
		people, ok := d.readRecipients()
		if !ok {
			return
		}
		at := slices.IndexFunc(people, func(p apiRecipient) bool { return p.ID == id })
		if at < 0 {
			d.showNotFound()
			return
		}
		p := &people[at]
		out.Heading, out.Shown, out.Version = p.Label, d.newRecipientRow(p), strconv.FormatInt(p.Version, 10)
		values = url.Values{"label": {p.Label}, "webhookId": {textOrEmpty(p.WebhookID)}}
		shown = url.Values{"label": {p.Label}, "email": {textOrEmpty(p.Email)}, "phone": {textOrEmpty(p.Phone)}, "webhookId": {textOrEmpty(p.WebhookID)}}
	}
	var hooks struct {
		Webhooks []struct{ ID, URL, Description string }
	}
	if _, ok := d.read("/api/admin/webhooks", &hooks); !ok {
		return
	}
	out.Form = d.newForm(values, refused)
	for _, h := range hooks.Webhooks {
		out.Webhooks = append(out.Webhooks, option{h.ID, h.URL, out.Form.Value("webhookId") == h.ID})
	}
	out.Form.was = shown
	out.Refused = out.Form.listRefusals("label", "email", "phone", "webhookId")
	if refused.IsOvertaken() {
		out.Refused, out.Changed = []string{d.T("int.overtaken")}, d.compareValues(shown, recipientFields...)
	}
	d.show(status, "alerts.recipient", &out)
}

// readRecipientForm returns the values of a form, as the API takes them. An empty address
// stays as it is, unless the box beside it is ticked.
func readRecipientForm(f url.Values, id string) map[string]any {
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

func addRecipient(d alertsRequest) {
	d.saveRecipient(http.MethodPost, recipientsAPI, "")
}

func changeRecipient(d alertsRequest) {
	d.saveRecipient(http.MethodPatch, recipientsAPI+"/"+url.PathEscape(d.pathID()), d.pathID())
}

func (d alertsRequest) saveRecipient(method, path, id string) {
	var saved apiRecipient
	refused, ok := d.send(method, path, d.formVersion(), readRecipientForm(d.r.PostForm, id), &saved)
	switch {
	case refused != nil:
		d.showRecipient(refused.PageStatus(), id, refused)
	case ok:
		d.waitUntil(func() bool {
			return d.hasRecipient(func(p apiRecipient) bool { return p.ID == saved.ID && p.Version >= saved.Version })
		})
		d.leaveNotice(d.pathTo(), "recipients.done", "label", saved.Label)
	}
}

func (d alertsRequest) hasRecipient(is func(apiRecipient) bool) bool {
	var list struct{ Recipients []apiRecipient }
	return d.fetch(recipientsAPI, &list) == nil && slices.ContainsFunc(list.Recipients, is)
}

func removeRecipient(d alertsRequest) {
	id := d.pathID()
	refused, ok := d.send(http.MethodDelete, recipientsAPI+"/"+url.PathEscape(id), d.formVersion(), nil, nil)
	switch {
	case refused != nil:
		d.r.PostForm = nil // the page shows the recipient as it is now
		d.showRecipient(refused.PageStatus(), id, refused)
	case ok:
		d.waitUntil(func() bool { return !d.hasRecipient(func(p apiRecipient) bool { return p.ID == id }) })
		d.leaveNotice(d.pathTo(), "recipients.removed")
	}
}

func testRecipient(d alertsRequest) {
	people, ok := d.readRecipients()
	if !ok {
		return
	}
	if !slices.ContainsFunc(people, func(p apiRecipient) bool { return p.ID == d.pathID() }) {
		d.showNotFound() // the API would refuse it as a field of the body
		return
	}
	var ordered struct{ CommandID string }
	body := map[string]any{"recipientId": d.pathID(), "channel": d.r.PostForm.Get("channel")}
	refused, ok := d.send(http.MethodPost, alertsAPI+"/test", "", body, &ordered)
	switch {
	case refused != nil:
		d.showAlertsAdmin(refused.PageStatus(), refused)
	case ok:
		d.waitUntil(func() bool {
			var c apiCommand
			return d.fetch("/api/admin/commands/"+url.PathEscape(ordered.CommandID), &c) == nil && c.Done
		})
		d.leaveCommand(d.pathTo("tests", ordered.CommandID), string(outbound.VerbTest))
	}
}

// alertTestPage shows the result of a test.
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

func showAlertTest(d alertsRequest) {
	c, ok := d.readCommand(d.pathID())
	if !ok {
		return
	}
	out := alertTestPage{adminPage: d.newPage("recipients.test"), Tabs: d.listTabs("")}
	var delivery apiDelivery
	switch {
	case !c.Done:
		out.Say = d.T("recipients.waiting")
		out.Poll, out.Refresh = 1, pollEvery
	case c.Delivered > 0:
		out.Say = d.T("recipients.delivered")
	default:
		out.Say = d.T("recipients.failed")
	}
	if id := textOrEmpty(c.DeliveryID); id != "" {
		if d.fetch("/api/admin/deliveries/"+url.PathEscape(id), &delivery) == nil && delivery.Reason != nil && c.Done {
			out.Say += " (" + delivery.State + ", " + *delivery.Reason + ")"
		}
	}
	for _, a := range delivery.Attempts {
		row := alertAttempt{At: d.formatTime(a.At), Took: strconv.FormatInt(a.MS, 10) + " ms", Class: a.Class, Response: textOrEmpty(a.Response), N: a.N}
		if a.Status != nil {
			row.Status = strconv.Itoa(*a.Status)
		}
		out.Attempts = append(out.Attempts, row)
	}
	d.show(http.StatusOK, "alerts.test", &out)
}
