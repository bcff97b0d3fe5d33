// Package webhook sends events to the endpoints of partners. An attempt is one signed request with a classified
// result.
//
// A request uses HTTP/1.1 without redirects, compression or a proxy, and goes to an address that the egress guard
// allows when it is dialed. The headers of the response determine the result; the body cannot change it.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/signature"
	"svc/notifier/egress"
	"svc/notifier/event"
)

// userAgent names the service and the version of its requests.
const userAgent = "svc-webhooks/1"

// Config holds the dependencies of a sender.
type Config struct {
	Guard *egress.Guard
	Roots *x509.CertPool // trusted certificate authorities; nil: the system's
	Now   func() time.Time
}

// Sender implements [sending.Sender] for webhooks. It is safe for concurrent use.
type Sender struct {
	guard   *egress.Guard
	now     func() time.Time
	shared  *http.Transport            // transport for public addresses, shared by all hospitals
	own     map[string]*http.Transport // transports for hospitals with an allow list, by hospital
	dialers []*net.Dialer              // dialers of all transports
	limits  limits
}

// limits are the timeouts for the parts of an attempt. The endpoint's own timeout applies to the whole attempt.
type limits struct {
	dial      time.Duration // for connecting, including name resolution
	handshake time.Duration
	body      time.Duration // for the response body, after the headers
}

var usual = limits{dial: 3 * time.Second, handshake: 5 * time.Second, body: time.Second}

// bodyMost is the maximum number of bytes of a response body that are read so that the connection can be reused. If
// the body is longer, the connection is closed.
const bodyMost = 16 << 10

// New returns a sender.
func New(c Config) *Sender { return newSender(c, usual) }

func newSender(c Config, l limits) *Sender {
	s := &Sender{guard: c.Guard, now: c.Now, own: map[string]*http.Transport{}, limits: l}
	s.shared, s.dialers = newTransport(c, "", l)
	for _, hospital := range c.Guard.Hospitals() {
		own, dialers := newTransport(c, hospital, l)
		s.own[hospital], s.dialers = own, append(s.dialers, dialers...)
	}
	return s
}

// Close closes the idle connections.
func (s *Sender) Close() {
	s.shared.CloseIdleConnections()
	for _, t := range s.own {
		t.CloseIdleConnections()
	}
}

// Send makes one attempt. The attempt takes at most the endpoint's timeout. Within that time, Send reads the response
// body for at most one second.
func (s *Sender) Send(ctx context.Context, m sending.Message) sending.Result {
	began := s.now()
	u, err := s.guard.URL(m.Hospital, m.Webhook.URL)
	if err != nil {
		return s.failed(ctx, began, err)
	}
	signed, ok := signature.Sign(m.Webhook.Secrets, m.EventID, began, m.Body)
	if !ok {
		return sending.Result{Class: sending.ClassSealed, Response: "no_secret"}
	}
	limit := time.Duration(cmp.Or(m.Webhook.TimeoutSeconds, outbound.DefaultTimeout)) * time.Second
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := s.transport(m.Hospital).RoundTrip(request(bounded, u, &m, &signed))
	if err != nil {
		return s.failed(ctx, began, err)
	}
	defer answer.Body.Close() //nolint:errcheck // an error from Close does not change the result
	result := s.answered(answer)
	result.Took = s.now().Sub(began)
	if answer.StatusCode != http.StatusSwitchingProtocols { // with 101, the body is the raw connection, which ignores the context
		result.Response = s.readExcerpt(bounded, cancel, answer.Body)
	}
	if result.Class == sending.ClassRedirect {
		result.Response = redirected(answer, result.Response)
	}
	return result
}

func (s *Sender) transport(hospital string) *http.Transport {
	if own := s.own[hospital]; own != nil {
		return own
	}
	return s.shared
}

// request returns the request of one attempt. Header names in lower case are sent unchanged.
func request(ctx context.Context, u *url.URL, m *sending.Message, signed *signature.Signed) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host,
		Header: http.Header{
			"User-Agent":              {userAgent},
			"Content-Type":            {"application/json"},
			signature.HeaderBody:      {signed.Body},
			signature.HeaderID:        {m.EventID},
			signature.HeaderTimestamp: {signed.Timestamp},
			signature.HeaderStandard:  {signed.Standard},
			// The nil value keeps this header from being sent. The presence of the header's name allows the transport
			// to repeat the request if an idle connection has just been closed. The receiver recognizes the
			// repetition by the event id.
			"X-Idempotency-Key": nil,
		},
		ContentLength: int64(len(m.Body)),
		Body:          io.NopCloser(bytes.NewReader(m.Body)),
		GetBody: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(m.Body)), nil
		},
	}
	return r.WithContext(ctx)
}

// Reproduce returns the text of the request that a webhook test sent at an instant. It rebuilds the request from the
// event, the secrets that were valid at that time, and the unit's level. It returns "" if the request cannot be
// rebuilt.
func Reproduce(hook *subscriber.Webhook, c *outbound.Command, level acuity.Level, sent time.Time) string {
	e, err := event.Test(c, level)
	if err != nil {
		return ""
	}
	signed, ok := signature.Sign(hook.Secrets, e.ID, sent, e.Body)
	if !ok {
		return ""
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s %s\n", http.MethodPost, hook.URL)
	for _, header := range [][2]string{
		{"Content-Type", "application/json"},
		{signature.HeaderID, e.ID},
		{signature.HeaderTimestamp, signed.Timestamp},
		{signature.HeaderStandard, signed.Standard},
		{signature.HeaderBody, signed.Body},
	} {
		fmt.Fprintf(text, "%s: %s\n", header[0], header[1])
	}
	fmt.Fprintf(text, "\n%s", e.Body)
	return text.String()
}
