package devserver

import (
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"regexp"
	"time"

	"svc/internal/httpapi"
	"svc/internal/outbound"
	"svc/notifier/sms"
)

// The outbox of svc dev shows messages that would have been sent by e-mail and SMS.
const outboxPath = "/dev/outbox"

//go:embed outbox.html
var outboxPage string

// outbox stores the messages of the channels to people.
type outbox struct {
	now    func() time.Time
	public string // address of the API
	latestPage[caught]
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
	return &outbox{now: now, public: public, latestPage: latestPage[caught]{html: template.Must(template.New("outbox").Parse(outboxPage))}}
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
	callback := ""
	if c.channel == outbound.ChannelSMS {
		callback = sms.Callback(o.public, sms.DriverHTTP, m.Hospital, m.DeliveryID)
	}
	o.keep(&caught{
		ID: m.DeliveryID, Callback: callback, At: httpapi.Time(o.now()), HospitalID: m.Hospital, Channel: c.channel, To: m.To,
		Subject: m.Subject, Text: m.Text, HTML: m.HTML, Link: outboxLink.FindString(m.Text), Attempt: m.Attempt,
	})
	return outbound.Result{Class: outbound.ClassOK, Status: http.StatusOK, Took: 1, Response: "caught by svc dev"}
}
