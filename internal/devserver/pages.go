package devserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/cli"
	"svc/internal/httpapi"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/receiver"
	"svc/internal/signature"
	"svc/notifier/sms"
)

// pageKept is the maximum number of entries on a page.
const pageKept = 200

// pageScript refreshes the page unless a payload is expanded.
const pageScript = `setInterval(async () => {
  if ([...document.querySelectorAll("details")].some(d => d.open)) return;
  const answer = await fetch(location.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (answer.ok) document.querySelector("main").replaceWith(page.querySelector("main"));
}, 3000);`

// pagePolicy is the Content-Security-Policy of the API, extended to allow the style and the script of these pages.
var pagePolicy = fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; connect-src 'self'; "+
	"frame-ancestors 'none'; base-uri 'none'", hashScript())

func hashScript() string {
	sum := sha256.Sum256([]byte(pageScript))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// pageFunctions contains the functions of the templates.
var pageFunctions = template.FuncMap{
	"pretty": func(payload json.RawMessage) (string, error) {
		var text bytes.Buffer
		err := json.Indent(&text, payload, "", "  ")
		return text.String(), err
	},
	"script": func() template.JS { return pageScript },
	"zone":   func(t httpapi.Time) string { return time.Time(t).Format("MST") },
}

// latestPage shows the latest entries of one kind, such as received webhooks, as HTML and as JSON.
type latestPage[T any] struct {
	html *template.Template

	mu     sync.Mutex
	latest []*T // newest first
}

func (p *latestPage[T]) keep(one *T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = slices.Insert(p.latest, 0, one)
	p.latest = p.latest[:min(len(p.latest), pageKept)]
}

func (p *latestPage[T]) items() []*T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*T{}, p.latest...)
}

// refuseOtherNames refuses requests whose host is neither an IP address nor localhost. A malicious site could resolve
// its own host name to this machine (DNS rebinding), and its scripts could then read the secrets that svc dev
// displays.
func refuseOtherNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		if _, err := netip.ParseAddr(host); err != nil && !strings.EqualFold(host, "localhost") {
			http.Error(w, "Open this page at an IP address, such as 127.0.0.1, or at localhost.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mount adds the page and its list as JSON.
func (p *latestPage[T]) mount(r chi.Router, path string) {
	r = r.With(refuseOtherNames)
	r.Get(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		p.html.Execute(w, p.items()) //nolint:errcheck // an error means that the browser has disconnected
	})
	r.Get(path+".json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		cli.PrintItems(w, p.items()) //nolint:errcheck // an error means that the browser has disconnected
	})
}

// hookPath is the path of the webhook receiver of svc dev. With it, a user can test a webhook without a partner's
// system.
const hookPath = "/dev/hook"

//go:embed hook.html
var hookPage string

// mountHook adds the webhook receiver and the page that shows its deliveries. webhooks returns the webhooks of a
// hospital with their secrets, with which the receiver verifies the deliveries.
func mountHook(r chi.Router, webhooks func(hospital string) []*subscriber.Webhook, now func() time.Time) {
	p := &latestPage[receiver.Delivery]{html: template.Must(template.New("hook").Funcs(pageFunctions).Parse(hookPage))}
	secrets := func(hospital string) (all []receiver.Secret) {
		for _, w := range webhooks(hospital) {
			for _, s := range signature.At(w.Secrets, now()) {
				all = append(all, receiver.Secret{Endpoint: w.ID, Value: s.Value})
			}
		}
		return all
	}
	r.Method(http.MethodPost, hookPath, &receiver.Receiver{
		Now: now, Answer: http.StatusNoContent, Strict: true, OnDelivery: p.keep, Secrets: secrets,
	})
	p.mount(r, hookPath)
}

// outboxPath is the path of the page that shows e-mail and SMS messages, which svc dev does not send.
const outboxPath = "/dev/outbox"

//go:embed outbox.html
var outboxPage string

// outbox stores e-mail and SMS messages instead of sending them.
type outbox struct {
	now    func() time.Time
	public string                               // address of the API
	zone   func(hospital string) *time.Location // time zone of a hospital, in which the page shows times
	latestPage[caught]
}

// caught is one stored message.
type caught struct {
	ID         string             `json:"id"` // id of the delivery
	At         httpapi.Time       `json:"at"`
	HospitalID string             `json:"hospitalId"`
	Channel    subscriber.Channel `json:"channel"`
	To         string             `json:"to"`
	Subject    string             `json:"subject,omitempty"`
	Text       string             `json:"text"`
	HTML       string             `json:"html,omitempty"`
	Link       string             `json:"link,omitempty"`     // acknowledgment link in the text
	Callback   string             `json:"callback,omitempty"` // for an SMS: the URL for its delivery report
	Attempt    int                `json:"attempt"`
}

// SMSToken authenticates the delivery reports of SMS in svc dev, so that users can try them; see docs/alerts.md.
const SMSToken = "svc dev"

func newOutbox(now func() time.Time, public string) *outbox {
	o := &outbox{now: now, public: public, zone: func(string) *time.Location { return time.UTC }}
	page := template.New("outbox").Funcs(pageFunctions).Funcs(template.FuncMap{"clock": o.formatClock})
	o.html = template.Must(page.Parse(outboxPage))
	return o
}

// formatClock formats the time of day at which a message was stored, with the hospital's time zone.
func (o *outbox) formatClock(c *caught) string {
	return time.Time(c.At).In(o.zone(c.HospitalID)).Format("15:04:05 MST")
}

var outboxLink = regexp.MustCompile(`https?://\S+/a/[0-9A-Z]+`)

// channel returns the sender of one channel.
func (o *outbox) channel(c subscriber.Channel) catcher { return catcher{o, c} }

type catcher struct {
	outbox  *outbox
	channel subscriber.Channel
}

// Send implements [sending.Sender].
func (c catcher) Send(_ context.Context, m sending.Message) sending.Result {
	o := c.outbox
	callback := ""
	if c.channel == subscriber.ChannelSMS {
		callback = sms.Callback(o.public, sms.DriverHTTP, m.Hospital, m.DeliveryID)
	}
	o.keep(&caught{
		ID: m.DeliveryID, Callback: callback, At: httpapi.Time(o.now()), HospitalID: m.Hospital, Channel: c.channel, To: m.To,
		Subject: m.Subject, Text: m.Text, HTML: m.HTML, Link: outboxLink.FindString(m.Text), Attempt: m.Attempt,
	})
	return sending.Result{Class: sending.ClassOK, Status: http.StatusOK, Took: 1, Response: "captured by svc dev"}
}
