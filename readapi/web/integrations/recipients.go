package integrations

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"svc/internal/outbound"
)

const recipientsAPI = alertsAPI + "/recipients"

// apiRecipient is an alert recipient in an API response, with masked addresses.
type apiRecipient struct {
	ID, Label, Language     string
	Email, Phone, WebhookID *string
	Version                 int64
}

var recipientList = list[apiRecipient]{recipientsAPI, "recipients"}

type recipientRow struct {
	ID, Label, Email, Phone, Webhook, Language, Link string
	Channels                                         []option // channels that can be tested
}

func newRecipientRow(d *adminRequest, p *apiRecipient) recipientRow {
	row := recipientRow{
		ID: p.ID, Label: p.Label, Email: textOrEmpty(p.Email), Phone: textOrEmpty(p.Phone), Webhook: textOrEmpty(p.WebhookID),
		Language: d.Or("recipients.language."+p.Language, p.Language), Link: d.pathTo("recipients", p.ID),
	}
	for _, c := range []struct{ name, address string }{{"email", row.Email}, {"sms", row.Phone}, {"webhook", row.Webhook}} {
		if c.address != "" {
			row.Channels = append(row.Channels, option{Value: c.name, Name: d.Or("channel."+c.name, c.name)})
		}
	}
	return row
}

// recipientPage shows one recipient, or the form for a new one.
type recipientPage struct {
	adminPage
	ID        string       // "": the recipient is new
	Shown     recipientRow // current masked addresses
	Webhooks  []option
	Languages []option
}

// recipientFields are the form fields of a recipient.
var recipientFields = []formField{
	{name: "label", label: "recipients.label"},
	{name: "email", label: "recipients.email"},
	{name: "phone", label: "recipients.phone"},
	{name: "webhookId", label: "recipients.webhook"},
	{name: "language", label: "recipients.language"},
}

// showRecipient shows the recipient in the path, or the form for a new one.
func showRecipient(d *adminRequest) {
	heading := "recipients.one"
	if d.pathID() == "" {
		heading = "recipients.new"
	}
	out := recipientPage{adminPage: d.newPage(heading), ID: d.pathID()}
	out.Tabs = listAlertTabs(d, "")
	values, now := url.Values{}, url.Values{}
	if out.ID != "" {
		p, ok := recipientList.find(d, func(p *apiRecipient) bool { return p.ID == out.ID })
		if !ok {
			return
		}
		row := newRecipientRow(d, p)
		out.Heading, out.Shown, out.Version = p.Label, row, formatVersion(p.Version)
		now = url.Values{"label": {p.Label}, "email": {row.Email}, "phone": {row.Phone}, "webhookId": {row.Webhook}, "language": {p.Language}}
		values = url.Values{"label": {p.Label}, "webhookId": {row.Webhook}, "language": {p.Language}}
	}
	hooks, ok := webhookList.read(d)
	if !ok {
		return
	}
	d.useForm(&out.adminPage, values, now, recipientFields...)
	for i := range hooks {
		out.Webhooks = append(out.Webhooks, option{hooks[i].ID, hooks[i].URL, out.Form.Value("webhookId") == hooks[i].ID})
	}
	for _, language := range [...]string{"en", "es"} {
		out.Languages = append(out.Languages, option{language, d.T("recipients.language." + language), out.Form.Value("language") == language})
	}
	d.show("alerts.recipient", &out)
}

// readRecipientForm returns the values in a form, in the API's format. An e-mail address or phone number left empty
// remains unchanged, unless the checkbox that removes it is selected.
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
	if language := f.Get("language"); language != "" {
		body["language"] = language
	}
	return body
}

// saveRecipient changes the recipient in the path, or creates a new one.
func saveRecipient(d *adminRequest) {
	id, method, path := d.pathID(), http.MethodPost, recipientsAPI
	if id != "" {
		method, path = http.MethodPatch, recipientsAPI+"/"+url.PathEscape(id)
	}
	var saved apiRecipient
	if !d.do(method, path, d.formVersion(), readRecipientForm(d.r.PostForm, id), &saved, showRecipient) {
		return
	}
	recipientList.wait(d, true, func(p *apiRecipient) bool { return p.ID == saved.ID && p.Version >= saved.Version })
	d.leaveNotice(d.pathTo(), "recipients.done", "label", saved.Label)
}

func removeRecipient(d *adminRequest) {
	if !d.do(http.MethodDelete, recipientsAPI+"/"+url.PathEscape(d.pathID()), d.formVersion(), nil, nil, untyped(showRecipient)) {
		return
	}
	recipientList.wait(d, false, func(p *apiRecipient) bool { return p.ID == d.pathID() })
	d.leaveNotice(d.pathTo(), "recipients.removed")
}

func testRecipient(d *adminRequest) {
	// For an unknown recipient, the API would report an invalid field in the body. The page must report that the
	// recipient does not exist.
	if _, ok := recipientList.find(d, func(p *apiRecipient) bool { return p.ID == d.pathID() }); !ok {
		return
	}
	var ordered struct{ CommandID string }
	body := map[string]any{"recipientId": d.pathID(), "channel": d.r.PostForm.Get("channel")}
	if !d.do(http.MethodPost, alertsAPI+"/test", "", body, &ordered, showAlertsAdmin) {
		return
	}
	d.waitUntil(func() bool {
		var c apiCommand
		return d.fetch(commandsAPI+url.PathEscape(ordered.CommandID), &c) == nil && c.Done
	})
	d.leaveCommand(d.pathTo("tests", ordered.CommandID), string(outbound.VerbTest))
}

// alertTestPage shows the result of a test alert.
type alertTestPage struct {
	adminPage
	Say      string
	Attempts []alertAttempt
}

type alertAttempt struct {
	At, Took, Class, Status, Response string
	N                                 int
}

func showAlertTest(d *adminRequest) {
	c, ok := d.readCommand(d.pathID())
	if !ok {
		return
	}
	out := alertTestPage{adminPage: d.newPage("recipients.test")}
	out.Tabs = listAlertTabs(d, "")
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
		if d.fetch(deliveriesAPI+url.PathEscape(id), &delivery) == nil && delivery.Reason != nil && c.Done {
			out.Say += " (" + delivery.State + ", " + *delivery.Reason + ")"
		}
	}
	for _, a := range delivery.Attempts {
		row := alertAttempt{
			At: d.formatTime(a.At), Took: strconv.FormatInt(a.MS, 10) + " ms", Class: a.Class, Response: textOrEmpty(a.Response), N: a.N,
		}
		if a.Status != nil {
			row.Status = strconv.Itoa(*a.Status)
		}
		out.Attempts = append(out.Attempts, row)
	}
	d.show("alerts.test", &out)
}
