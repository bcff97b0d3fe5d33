// Package sms sends alerts as text messages, by the gateway that a hospital has:
// any that takes our own signed request, or one that speaks Twilio's.
//
// That a provider took a message is not that it arrived; the provider's receipt
// says so later, and a [Receipts] reads it.
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
	"strings"
	"syscall"
	"time"

	"svc/internal/outbound"
)

// The time-outs of an attempt, and how much of an answer is read.
const (
	dialWithin   = 5 * time.Second
	answerWithin = 15 * time.Second
	answerAtMost = 64 << 10
)

// The drivers.
const (
	DriverHTTP   = "http"
	DriverTwilio = "twilio"
)

// Config is the gateway.
type Config struct {
	Driver   string
	URL      string // of DriverHTTP where messages are posted; of DriverTwilio the base, https://api.twilio.com
	Account  string // of DriverTwilio: the account's SID
	Token    string // of DriverHTTP the secret that signs; of DriverTwilio the auth token
	From     string // sender's number, or of DriverTwilio a messaging service (MG…)
	Callback string // where receipts are to be sent: the service's own public address; "": nowhere
	Now      func() time.Time
	// Dial makes the connections; nil: TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Gateway sends messages and understands the receipts of its provider.
type Gateway interface {
	outbound.Sender
	// Receipt reads and verifies what the provider posted; see [ErrForged].
	// self is the address under which it was posted, as the provider knows it.
	Receipt(self *url.URL, header http.Header, body []byte) (Receipt, error)
}

// Receipt is what a provider says became of a message.
type Receipt struct {
	Hospital   string
	DeliveryID string
	State      outbound.State // Delivered or Failed; "": nothing yet that counts
}

// What can be wrong with a receipt.
var (
	ErrForged    = errors.New("not signed by the provider")
	ErrMalformed = errors.New("not a receipt")
)

// ReceiptPath is where the receipts of a driver are posted.
func ReceiptPath(driver string) string { return "/api/public/sms/" + driver }

// Callback is the address for the receipt of a message, below the public address.
func Callback(public, driver, hospital, delivery string) string {
	return public + ReceiptPath(driver) + "?" + url.Values{"h": {hospital}, "d": {delivery}}.Encode()
}

// New returns the gateway of a configuration.
func New(c Config) (Gateway, error) { //nolint:ireturn // one of two drivers
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
		// A number and a text go nowhere but where the operator said.
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

// provider is what both drivers share.
type provider struct {
	config Config
	client *http.Client
}

// callback is where the receipt of a message is to go.
func (p *provider) callback(m *outbound.Message) string {
	if p.config.Callback == "" {
		return ""
	}
	return Callback(p.config.Callback, p.config.Driver, m.Hospital, m.DeliveryID)
}

// left is how long the message is still of use, in whole seconds, at least one.
func (p *provider) left(m *outbound.Message) int {
	if m.Expires.IsZero() {
		return int((24 * time.Hour).Seconds())
	}
	return max(1, int(m.Expires.Sub(p.config.Now()).Seconds()))
}

// exchange sends one request and reads the answer; the result of a failure has no
// status.
func (p *provider) exchange(ctx context.Context, r *http.Request) (status int, header http.Header, body []byte, failure outbound.Result) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer, err := p.client.Do(r.WithContext(ctx)) //nolint:gosec // where the operator said
	if err != nil {
		return 0, nil, nil, outbound.Result{Class: class(err)}
	}
	defer answer.Body.Close() //nolint:errcheck // what counts is read
	body, err = io.ReadAll(io.LimitReader(answer.Body, answerAtMost))
	if err != nil && answer.StatusCode/100 == 2 && len(body) == 0 {
		return 0, nil, nil, outbound.Result{Class: class(err)}
	}
	return answer.StatusCode, answer.Header, body, outbound.Result{}
}

// class says on which way an exchange failed.
func class(err error) outbound.Class {
	var (
		dns         *net.DNSError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		certificate *tls.CertificateVerificationError
		timeout     net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		return outbound.ClassInterrupted
	case errors.As(err, &dns):
		return outbound.ClassDNS
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &certificate):
		return outbound.ClassTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return outbound.ClassTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return outbound.ClassRefused
	}
	return outbound.ClassReset
}

// judge says what a status means that is the same with every provider.
func judge(status int, header http.Header) outbound.Result {
	r := outbound.Result{Class: outbound.ClassStatus, Status: status}
	switch {
	case status/100 == 2:
		r.Class = outbound.ClassOK
	case status/100 == 3:
		r.Class = outbound.ClassRedirect
	case status == http.StatusTooManyRequests:
		r.Class, r.RetryAfter = outbound.ClassThrottled, retryAfter(header)
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusRequestTimeout:
		// The operator's token or a proxy, not this message.
	case status/100 == 4:
		r.Final = true
	}
	return r
}

// retryAfter reads the seconds that a provider asks for, at most an hour.
func retryAfter(header http.Header) time.Duration {
	seconds, err := time.ParseDuration(strings.TrimSpace(header.Get("Retry-After")) + "s")
	if err != nil {
		return 0
	}
	return min(max(seconds, 0), time.Hour)
}
