// Package sms sends alerts as text messages through the gateway of a hospital. The gateway either accepts svc's own
// signed requests or implements the Twilio API.
//
// A message that a provider has accepted is not delivered yet. The provider later sends a receipt that says whether
// the message arrived; [Gateway] parses receipts.
package sms

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/notifier/outcome"
)

// dialWithin and answerWithin are the timeouts of an attempt. answerAtMost is the maximum number of bytes of a
// response that are read.
const (
	dialWithin   = 5 * time.Second
	answerWithin = 15 * time.Second
	answerAtMost = 64 << 10
)

// The drivers: svc's own protocol over HTTP, and the Twilio API.
const (
	DriverHTTP   = "http"
	DriverTwilio = "twilio"
)

// Config describes the gateway.
type Config struct {
	Driver   string
	URL      string // DriverHTTP: URL of the gateway; DriverTwilio: base URL, https://api.twilio.com
	Account  string // DriverTwilio: the account's SID
	Token    string // DriverHTTP: signing secret; DriverTwilio: auth token
	From     string // sender's number or, for DriverTwilio, the SID of a messaging service (MG…)
	Callback string // public address of the service, to which receipts are sent; "": no receipts
	Now      func() time.Time
	// Dial creates the connections; if it is nil, they use TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Gateway sends messages and parses the receipts of its provider.
type Gateway interface {
	sending.Sender
	// Receipt verifies and parses a receipt that the provider posted. The error is [ErrForged] or [ErrMalformed].
	// self is the URL to which the provider posted the receipt.
	Receipt(self *url.URL, header http.Header, body []byte) (Receipt, error)
}

// Receipt is a provider's report about a message.
type Receipt struct {
	Hospital   string
	DeliveryID string
	State      outbound.State // Delivered or Failed; "": not final yet
}

// The errors of a receipt.
var (
	ErrForged    = errors.New("not signed by the provider")
	ErrMalformed = errors.New("not a receipt")
)

// ReceiptPath returns the path to which the receipts of a driver are posted.
func ReceiptPath(driver string) string { return "/api/public/sms/" + driver }

// Callback returns the URL for the receipt of a message. public is the public address of the service.
func Callback(public, driver, hospital, delivery string) string {
	return public + ReceiptPath(driver) + "?" + url.Values{"h": {hospital}, "d": {delivery}}.Encode()
}

// New returns the gateway that a configuration describes.
func New(c Config) (Gateway, error) { //nolint:ireturn // the type depends on the driver
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("url: must be https://…")
	}
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialWithin}).DialContext
	}
	shared := provider{config: c, client: &http.Client{
		Transport: &http.Transport{
			DialContext:     dial,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: dialWithin,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
		},
		// The phone number and the text are sent only to the address that the operator configured, so redirects are
		// not followed.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	switch c.Driver {
	case DriverHTTP:
		return &generic{shared}, nil
	case DriverTwilio:
		return &twilio{provider: shared, listDelay: defaultListDelay}, nil
	}
	return nil, fmt.Errorf("driver: must be %s or %s", DriverHTTP, DriverTwilio)
}

// provider holds the parts that both drivers share.
type provider struct {
	config Config
	client *http.Client
}

// timed calls send, and returns its result with the duration of the call.
func (p *provider) timed(send func() sending.Result) sending.Result {
	began := p.config.Now()
	r := send()
	r.Took = max(p.config.Now().Sub(began), 1)
	return r
}

// callback returns the URL for the receipt of a message, or "" if none is requested.
func (p *provider) callback(m *sending.Message) string {
	if p.config.Callback == "" {
		return ""
	}
	return Callback(p.config.Callback, p.config.Driver, m.Hospital, m.DeliveryID)
}

// left returns the time until the message expires, in whole seconds, at least 1. For a message without an expiry, it
// is 24 hours.
func (p *provider) left(m *sending.Message) int {
	if m.Expires.IsZero() {
		return int((24 * time.Hour).Seconds())
	}
	return max(1, int(m.Expires.Sub(p.config.Now()).Seconds()))
}

// exchange sends one request and reads the response. If there is no response, or if nothing of the body of a 2xx
// response can be read, status is 0 and failure is the result of the attempt.
func (p *provider) exchange(ctx context.Context, r *http.Request) (status int, header http.Header, body []byte, failure sending.Result) {
	bounded, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer, err := p.client.Do(r.WithContext(bounded)) //nolint:gosec // the operator configured the address
	if err != nil {
		return 0, nil, nil, sending.Result{Class: outcome.ClassOf(ctx, err)}
	}
	defer answer.Body.Close() //nolint:errcheck // everything needed has been read
	body, err = io.ReadAll(io.LimitReader(answer.Body, answerAtMost))
	if err != nil && answer.StatusCode/100 == 2 && len(body) == 0 {
		return 0, nil, nil, sending.Result{Class: outcome.ClassOf(ctx, err)}
	}
	return answer.StatusCode, answer.Header, body, sending.Result{}
}

// judge classifies an attempt by a status that has the same meaning for every provider.
func (p *provider) judge(status int, header http.Header) sending.Result {
	r := sending.Result{Class: sending.ClassStatus, Status: status}
	switch {
	case status/100 == 2:
		r.Class = sending.ClassOK
	case status/100 == 3:
		r.Class = sending.ClassRedirect
	case status == http.StatusTooManyRequests:
		r.Class, r.RetryAfter = sending.ClassThrottled, outcome.RetryAfter(header, p.config.Now())
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusRequestTimeout:
		// The cause is the operator's token or a proxy, not this message.
	case status/100 == 4:
		r.Final = true
	}
	return r
}
