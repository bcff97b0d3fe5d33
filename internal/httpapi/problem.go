package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"svc/internal/httpapi/problem"
)

// Problem describes an error response for [Fail]. Its message, paths and rules never contain values from the request.
type Problem struct {
	Kind       problem.Kind
	Message    string        // human-readable; if empty, the default message of the kind
	Details    []Detail      // broken rules with their paths
	RetryAfter time.Duration // for RateLimited and Unavailable; rounded up to seconds, at least one
	HL7        *HL7          // acknowledgment of the refused message
}

// Detail is a rule that the request broke.
type Detail struct {
	Path string `json:"path"` // path of the field, such as signals[3].code
	Rule string `json:"rule"` // stable word, optionally with a bound: maxLength:100
}

// HL7 is the acknowledgment that a refusal in JSON mode contains.
type HL7 struct {
	Ack       string `json:"ack"`
	AckCode   string `json:"ackCode"`
	ControlID string `json:"controlId"`
}

type failure struct {
	Protocol string       `json:"protocol"`
	OK       bool         `json:"ok"`
	Error    failureError `json:"error"`
}

type failureError struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Docs    string   `json:"docs"`
	Details []Detail `json:"details,omitempty"`
	*HL7
}

// ErrorShape returns the zero value of the error envelope.
func ErrorShape() any { return failure{} }

// Refusal returns why a request was refused, or the zero Problem if it was not refused.
func Refusal(ctx context.Context) Problem { return from(ctx).refused }

// Fail responds with a problem in the error envelope, and sets its headers.
func Fail(w http.ResponseWriter, r *http.Request, p Problem) {
	q := from(r.Context())
	q.refused = p
	if p.Message == "" {
		p.Message = p.Kind.Message()
		if p.Kind == problem.Invalid && len(p.Details) > 0 {
			p.Message = "The request breaks the rules listed in details."
		}
	}
	h := w.Header()
	h.Del("ETag")
	h["Cache-Control"] = noStore
	switch p.Kind { //nolint:exhaustive // the other kinds have no additional header
	case problem.Unauthorized:
		h["Www-Authenticate"] = challenge
	case problem.TimedOut: // do not wait for the rest of the body
		h["Connection"] = closing
	case problem.Unavailable, problem.RateLimited:
		h.Set("Retry-After", strconv.FormatInt(int64(max((p.RetryAfter+time.Second-1)/time.Second, 1)), 10))
	default:
	}
	if PrefersFHIR(r) {
		q.respondAndDrain(w, r, func() { WriteFHIR(w, r, p.Kind.Status(), p.outcome()) })
		return
	}
	body, err := Marshal(failure{Protocol: Protocol, Error: failureError{
		Code: p.Kind.Code(), Message: p.Message, Docs: q.shell.docsURL(r), Details: p.Details, HL7: p.HL7,
	}})
	if err != nil { // encoding strings cannot fail
		panic(err)
	}
	q.respondAndDrain(w, r, func() { write(w, p.Kind.Status(), append(body, '\n')) })
}
