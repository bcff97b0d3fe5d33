// Package webhook sends events to the endpoints of partners. An attempt is one signed request with a classified
// result.
//
// A request is HTTP/1.1 without redirects, compression or proxy. It is sent to an address that the egress guard has
// allowed when it is dialed. A response counts once its headers have arrived; its body cannot change the result.
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
	"svc/internal/signature"
	"svc/notifier/egress"
	"svc/notifier/event"
)

// userAgent is the name of the service with the version of its requests.
const userAgent = "svc-webhooks/1"

// Config holds the dependencies of a sender.
type Config struct {
	Guard *egress.Guard
	Roots *x509.CertPool // trusted certificate authorities; nil: those of the system
	Now   func() time.Time
}

// Sender implements [outbound.Sender] for webhooks. It is safe for concurrent use.
type Sender struct {
	guard   *egress.Guard
	now     func() time.Time
	shared  *http.Transport            // for public addresses, of all hospitals
	own     map[string]*http.Transport // of hospitals with an allow list
	dialers []*net.Dialer              // of all transports
	limits  limits
}

// limits are the timeouts for the parts of an attempt. The endpoint's own timeout applies to the whole.
type limits struct {
	dial      time.Duration // including name resolution
	handshake time.Duration
	body      time.Duration // of a response, after its headers
}

var usual = limits{dial: 3 * time.Second, handshake: 5 * time.Second, body: time.Second}

// bodyMost is the maximum number of bytes of a response that are read so that its connection can be reused. After a
// longer response, the connection is closed.
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

// Send makes one attempt. It waits for the headers of the response for at most the timeout of the endpoint, and for
// the body at most one more second.
func (s *Sender) Send(ctx context.Context, m outbound.Message) outbound.Result {
	began := s.now()
	u, err := s.guard.URL(m.Hospital, m.Webhook.URL)
	if err != nil {
		return s.failed(ctx, began, err)
	}
	signed, ok := signature.Sign(m.Webhook.Secrets, m.EventID, began, m.Body)
	if !ok {
		return outbound.Result{Class: outbound.ClassSealed, Response: "no_secret"}
	}
	limit := time.Duration(cmp.Or(m.Webhook.TimeoutSeconds, outbound.DefaultTimeout)) * time.Second
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := s.transport(m.Hospital).RoundTrip(request(bounded, u, &m, &signed))
	if err != nil {
		return s.failed(ctx, began, err)
	}
	defer answer.Body.Close() //nolint:errcheck // everything needed was read
	result := s.answered(answer)
	result.Took = s.now().Sub(began)
	if answer.StatusCode != http.StatusSwitchingProtocols { // with 101, the body is the bare connection, which no context ends
		result.Response = s.readExcerpt(bounded, cancel, answer.Body)
	}
	if result.Class == outbound.ClassRedirect {
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
func request(ctx context.Context, u *url.URL, m *outbound.Message, signed *signature.Signed) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host,
		Header: http.Header{
			"User-Agent":              {userAgent},
			"Content-Type":            {"application/json"},
			signature.HeaderBody:      {signed.Body},
			signature.HeaderID:        {m.EventID},
			signature.HeaderTimestamp: {signed.Timestamp},
			signature.HeaderStandard:  {signed.Standard},
			// A nil value is not sent. With this key, the transport may repeat the request if an idle connection was
			// just closed. The receiver recognizes the repetition by its id.
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

// Reproduce returns the text of the request that was sent at an instant for the test of a webhook. It rebuilds the
// request from the event, the secrets valid at that time, and the level of the unit. The result is empty if the
// request cannot be rebuilt.
func Reproduce(hook *outbound.Webhook, c *outbound.Command, level acuity.Level, sent time.Time) string {
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
