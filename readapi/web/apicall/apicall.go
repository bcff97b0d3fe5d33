// Package apicall sends requests from pages to the API in the same process.
package apicall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ErrUnclear means that it is unknown whether the API executed the request.
var ErrUnclear = errors.New("the API did not respond")

// timeout is the time limit of a request. The API normally responds much sooner.
const timeout = 10 * time.Second

// Refusal is the reason why the API refused a request, as in its response.
type Refusal struct {
	Status  int `json:"-"`
	Code    string
	Message string
	Details []RefusedField
}

// RefusedField is a field that breaks a rule. Path is the field's path in the body.
type RefusedField struct{ Path, Rule string }

// IsOvertaken reports whether another user changed the resource since it was displayed.
func (f *Refusal) IsOvertaken() bool { return f != nil && f.Status == http.StatusPreconditionFailed }

// PageStatus returns the status of the page that shows the refusal.
func (f *Refusal) PageStatus() int {
	if f.IsOvertaken() {
		return http.StatusPreconditionFailed
	}
	return http.StatusUnprocessableEntity
}

// Answer is the API's response to a request.
type Answer struct {
	Version string // entity tag, without quotes
	Refused *Refusal
	Status  int
	data    json.RawMessage
}

// Send sends one request to a handler of the API. The body is encoded as JSON unless it already is JSON; nil means no
// body. A refusal is part of the response. An error other than [ErrUnclear] means that the request was not sent.
func Send(ctx context.Context, api http.Handler, method, path string, header http.Header, body any) (*Answer, error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case json.RawMessage:
		text = b
	default:
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("write the body: %w", err)
		}
	}
	// The handler gets a new context, because the values in ctx belong to the request for the page, which the same
	// handler may be serving.
	inner, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	r, err := http.NewRequestWithContext(inner, method, path, bytes.NewReader(text)) //nolint:contextcheck // ctx is used above
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	r.RemoteAddr = "127.0.0.1:0" // the address of this process
	r.Header = header
	if body == nil {
		r.Body, r.ContentLength = http.NoBody, 0
	} else if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	out := &recorder{header: http.Header{}}
	api.ServeHTTP(out, r)
	return out.readAnswer()
}

// Decode decodes the data of the response.
func (a *Answer) Decode(into any) error {
	if err := json.Unmarshal(a.data, into); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// recorder stores the response of a handler.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b) //nolint:wrapcheck // writes to memory
}

// readAnswer parses the envelope of a response.
func (r *recorder) readAnswer() (*Answer, error) {
	var said struct {
		OK    bool
		Data  json.RawMessage
		Error Refusal
	}
	switch err := json.Unmarshal(r.body.Bytes(), &said); {
	case err != nil, r.status >= http.StatusInternalServerError, r.status == http.StatusTooManyRequests, r.status == http.StatusUnauthorized:
		return nil, fmt.Errorf("%w: status %d", ErrUnclear, r.status)
	}
	a := &Answer{Version: strings.Trim(r.header.Get("Etag"), `"`), Status: r.status, data: said.Data}
	if !said.OK {
		said.Error.Status = r.status
		a.Refused = &said.Error
	}
	return a, nil
}
