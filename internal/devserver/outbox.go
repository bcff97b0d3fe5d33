package devserver

import (
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/cli"
	"svc/internal/httpapi"
	"svc/internal/outbound"
	"svc/notifier/sms"
)

// The outbox of svc dev shows messages that would have been sent by e-mail and SMS.
const outboxPath = "/dev/outbox"

//go:embed outbox.html
var outboxPage string

// outboxKept is how many messages the page shows.
const outboxKept = 200

// outbox stores the messages of the channels to people.
type outbox struct {
	now    func() time.Time
	public string // address of the API
	page   *template.Template

	mu     sync.Mutex
	latest []*caught // newest first
}

// caught is one message.
type caught struct {
	ID         string           `json:"id"` // id of the delivery
	At         httpapi.Time     `json:"at"`
	HospitalID string           `json:"hospitalId"`
	Channel    outbound.Channel `json:"channel"`
	To         string           `json:"to"`
	Subject    string           `json:"subject,omitempty"`
	Text       string           `json:"text"`
	HTML       string           `json:"html,omitempty"`
	Link       string           `json:"link,omitempty"`     // the link in the text that acknowledges the alert
	Callback   string           `json:"callback,omitempty"` // for an SMS: the URL of its receipt
	Attempt    int              `json:"attempt"`
}

// Clock returns the time of day at which the message was caught.
func (c *caught) Clock() string { return time.Time(c.At).Format("15:04:05") }

// SMSToken signs the receipts of SMS in svc dev, so that one can try them; see docs/alerts.md.
const SMSToken = "svc dev"

func newOutbox(now func() time.Time, public string) *outbox {
	return &outbox{now: now, public: public, page: template.Must(template.New("outbox").Parse(outboxPage))}
}

var outboxLink = regexp.MustCompile(`https?://\S+/a/[0-9A-Z]+`)

// channel returns the sender of one channel.
func (o *outbox) channel(c outbound.Channel) catcher { return catcher{o, c} }

type catcher struct {
	outbox  *outbox
	channel outbound.Channel
}

// Send implements [outbound.Sender].
func (c catcher) Send(_ context.Context, m outbound.Message) outbound.Result {
	o := c.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	callback := ""
	if c.channel == outbound.ChannelSMS {
		callback = sms.Callback(o.public, sms.DriverHTTP, m.Hospital, m.DeliveryID)
	}
	o.latest = slices.Insert(o.latest, 0, &caught{
		ID: m.DeliveryID, Callback: callback, At: httpapi.Time(o.now()), HospitalID: m.Hospital, Channel: c.channel, To: m.To,
		Subject: m.Subject, Text: m.Text, HTML: m.HTML, Link: outboxLink.FindString(m.Text), Attempt: m.Attempt,
	})
	o.latest = o.latest[:min(len(o.latest), outboxKept)]
	return outbound.Result{Class: outbound.ClassOK, Status: http.StatusOK, Took: 1, Response: "caught by svc dev"}
}

func (o *outbox) messages() []*caught {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*caught{}, o.latest...)
}

// mount adds the page of the outbox and its list as JSON.
func (o *outbox) mount(r chi.Router) {
	r.Get(outboxPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		o.page.Execute(w, o.messages()) //nolint:errcheck // the browser is gone
	})
	r.Get(outboxPath+".json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		cli.PrintJSON(w, map[string]any{"items": o.messages()}) //nolint:errcheck // the browser is gone
	})
}
