package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"svc/ingest"
	"svc/ingest/mllp"
	"svc/internal/authorities"
)

// target is a function that opens a connection to a server.
type target func() line

// line is one connection to a server. If send returns an error, the payload can be sent again, unless the error is a
// finalError.
type line interface {
	send(ctx context.Context, p payload) (sent, error)
	close()
}

// finalError is an error that a retry cannot fix.
type finalError struct{ error }

// busyError means that the server is busy. A retry should wait for at least the given time.
type busyError struct {
	error
	after time.Duration
}

// target returns the function that opens connections to the server in --to.
func (o *sendOptions) target() (target, error) {
	to, err := url.Parse(o.to)
	if err != nil || to.Host == "" {
		return nil, Usage(errors.New("--to: must be http://…, https://…, mllp://… or mllps://…"))
	}
	secured, err := o.tls(to.Hostname())
	if err != nil {
		return nil, err
	}
	switch to.Scheme {
	case "http", "https":
		client := &http.Client{Timeout: o.answer, Transport: &http.Transport{
			TLSClientConfig: secured, MaxIdleConnsPerHost: o.connections, ForceAttemptHTTP2: false,
		}}
		base := strings.TrimSuffix(to.String(), "/") + "/api/ingest/"
		return func() line { return &httpLine{client, base, o.key} }, nil
	case "mllp":
		return func() line { return &mllpLine{address: to.Host, answer: o.answer} }, nil
	case "mllps":
		return func() line { return &mllpLine{address: to.Host, answer: o.answer, secured: secured} }, nil
	}
	return nil, Usage(errors.New("--to: must be http://…, https://…, mllp://… or mllps://…"))
}

func (o *sendOptions) tls(host string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	var err error
	if o.ca != "" {
		if c.RootCAs, err = authorities.Read(o.ca); err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", WithoutPath(err))
		}
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.certKey)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

type httpLine struct {
	client *http.Client
	base   string
	key    string
}

func (l *httpLine) close() { l.client.CloseIdleConnections() }

func (l *httpLine) send(ctx context.Context, p payload) (sent, error) {
	path, kind := p.path, "application/json"
	switch {
	case p.fhir:
		path, kind = "fhir", "application/fhir+json"
	case path == "":
		path, kind = "hl7", "text/plain"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+path, bytes.NewReader(p.body))
	if err != nil {
		return sent{}, finalError{err}
	}
	request.Header.Set("Authorization", "Bearer "+l.key)
	request.Header.Set("Content-Type", kind)
	if p.async {
		request.Header.Set("Prefer", "respond-async")
	}
	response, err := l.client.Do(request)
	if err != nil {
		return sent{}, err
	}
	defer response.Body.Close() //nolint:errcheck // the body was read to its end
	body, err := io.ReadAll(io.LimitReader(response.Body, 8<<20))
	if err != nil {
		return sent{}, err
	}
	status := response.StatusCode
	switch {
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil {
			seconds = 0 // the header is missing or contains a date: use the usual delay
		}
		return sent{}, busyError{fmt.Errorf("the server responded with status %d", status), time.Duration(seconds) * time.Second}
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound:
		return sent{}, finalError{fmt.Errorf("the server responded with status %d: %s", status, problemMessage(body))}
	case status != http.StatusOK:
		return sent{code: fmt.Sprintf("HTTP %d", status), refused: true, why: problemMessage(body)}, nil
	case p.fhir:
		return fhirOutcome(body), nil
	case p.path != "":
		return sent{code: "HTTP 200"}, nil
	}
	return ackOutcome(body), nil
}

type mllpLine struct {
	address string
	secured *tls.Config // nil: plain TCP
	answer  time.Duration
	conn    net.Conn
	in      *mllp.Reader
	frame   []byte
}

func (l *mllpLine) close() {
	if l.conn != nil {
		l.conn.Close() //nolint:errcheck // an unacknowledged message is sent again
		l.conn = nil
	}
}

func (l *mllpLine) send(ctx context.Context, p payload) (sent, error) {
	if p.fhir {
		return sent{}, finalError{errors.New("MLLP carries HL7 v2; send FHIR to http://…")}
	}
	if err := l.dial(ctx); err != nil {
		return sent{}, err
	}
	conn := l.conn
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })() //nolint:errcheck // makes reads and writes fail when ctx ends
	within := l.answer
	if silent(p.body) {
		within = min(within, time.Second)
	}
	if err := l.conn.SetDeadline(time.Now().Add(within)); err != nil {
		l.close()
		return sent{}, err
	}
	l.frame = mllp.Append(l.frame[:0], p.body)
	_, err := l.conn.Write(l.frame)
	var ack []byte
	if err == nil {
		ack, err = l.in.Next()
	}
	switch {
	case err == nil:
		return ackOutcome(ack), nil
	case errors.Is(err, os.ErrDeadlineExceeded) && silent(p.body) && ctx.Err() == nil:
		return ackOutcome(nil), nil
	case errors.Is(err, io.EOF):
		err = errors.New("the server closed the connection without a response: " +
			"it could not process the message, or the key of this sender is not valid")
	}
	l.close()
	return sent{}, err
}

func (l *mllpLine) dial(ctx context.Context) (err error) {
	if l.conn != nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, l.answer)
	defer cancel()
	if l.secured != nil {
		l.conn, err = (&tls.Dialer{Config: l.secured}).DialContext(within, "tcp", l.address)
	} else {
		l.conn, err = (&net.Dialer{}).DialContext(within, "tcp", l.address)
	}
	if err != nil {
		l.conn = nil
		return err
	}
	l.in = mllp.NewReader(l.conn, ingest.MaxMessage)
	return nil
}

// silent reports whether the server may omit the acknowledgment of a message. This is the case if MSH-15 has a value
// other than AL (always), or if MSH-15 is empty and MSH-16 has a value.
func silent(message []byte) bool {
	header, _, _ := bytes.Cut(message, []byte("\r"))
	fields := bytes.Split(header, header[3:4])
	if len(fields) < 15 {
		return false
	}
	accept := string(fields[14])
	return accept != "AL" && (accept != "" || len(fields) > 15 && len(fields[15]) > 0)
}

// Feed sends requests to the ingest API of a server, one at a time.
type Feed struct{ line *httpLine }

// NewFeed returns a Feed to the server at base, with an API key and a timeout for each request.
func NewFeed(base, key string, within time.Duration) *Feed {
	return &Feed{&httpLine{&http.Client{Timeout: within}, base + "/api/ingest/", key}}
}

// Close closes the connections of the feed.
func (f *Feed) Close() { f.line.close() }

// Post sends a body to a path of the ingest API. refused says why the server refused the body, or is "" if the server
// accepted it. If Post returns an error, the request can be sent again.
func (f *Feed) Post(ctx context.Context, path string, body []byte) (refused string, err error) {
	got, err := f.line.send(ctx, payload{path: path, body: body})
	var final finalError
	switch {
	case errors.As(err, &final):
		return final.Error(), nil
	case err != nil:
		return "", err
	case got.refused:
		return got.String(), nil
	}
	return "", nil
}

// sent is the response to one payload.
type sent struct {
	code    string // AA, AE …, or an HTTP status
	refused bool
	why     string // paths and rules of a refusal, without values
	took    time.Duration
}

func (s sent) String() string {
	if s.why == "" {
		return s.code
	}
	return s.code + ": " + s.why
}

// problemMessage returns the message of an error response, which contains no values from the request.
func problemMessage(body []byte) string {
	var answer struct{ Error refusal }
	if json.Unmarshal(body, &answer) != nil || answer.Error.Message == "" {
		return "not a response from svc"
	}
	return answer.Error.Error()
}

// fhirOutcome returns the result of a response with status 200, which may list refused resources.
func fhirOutcome(body []byte) sent {
	var answer struct {
		Data struct {
			Resources struct{ Rejected int }
			Issues    []struct{ Severity, Code, Expression string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return sent{code: "HTTP 200", refused: true, why: "not a response from svc"}
	}
	if answer.Data.Resources.Rejected == 0 {
		return sent{code: "HTTP 200"}
	}
	var broken []string
	for _, i := range answer.Data.Issues {
		if i.Severity == "error" {
			broken = append(broken, i.Expression+" "+i.Code)
		}
	}
	return sent{code: "HTTP 200 with rejected resources", refused: true, why: strings.Join(broken, "; ")}
}

// ackOutcome returns the result of an acknowledgment: its code (MSA-1), and the codes and locations of its errors
// (ERR-3, ERR-2).
func ackOutcome(ack []byte) sent {
	if len(bytes.TrimSpace(ack)) == 0 {
		return sent{code: "no acknowledgment was requested"}
	}
	got := sent{code: "no acknowledgment", refused: true}
	var broken []string
	for segment := range strings.SplitSeq(string(ack), "\r") {
		if len(segment) < 5 {
			continue
		}
		fields := strings.Split(segment, segment[3:4])
		switch fields[0] {
		case "MSA":
			got.code = fields[1]
			got.refused = got.code != "AA" && got.code != "CA"
		case "ERR":
			if len(fields) > 3 {
				broken = append(broken, fields[2]+" "+fields[3])
			}
		}
	}
	got.why = strings.Join(broken, "; ")
	return got
}
