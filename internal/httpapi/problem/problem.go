// Package problem lists the reasons why a request may be refused.
package problem

import "net/http"

// Kind is the reason why a request was not served. Each kind has one error code from the specification and one HTTP
// status; see table.
type Kind uint8

// The values of [Kind]. The zero value is an internal error.
const (
	Internal         Kind = iota // internal error
	Unavailable                  // Kafka or Redis is unavailable; nothing was accepted, and a retry is safe
	Unauthorized                 // no valid key
	Forbidden                    // the key lacks the scope
	Missing                      // unknown path or resource
	Invalid                      // the request is malformed
	MethodNotServed              // the path supports other methods
	TooLarge                     // the body exceeds the limit, compressed or decompressed
	TimedOut                     // the body did not arrive in time
	UnsupportedMedia             // the content type or encoding is not supported
	Conflict                     // an idempotency key was reused with a different body
	Precondition                 // the resource has a different version from the expected one
	UnmetExpectation             // Expect names something other than 100-continue
	LongHead                     // the request head exceeds the server's limit
	UnknownEncoding              // a transfer encoding other than chunked
	UnknownVersion               // an HTTP version other than 1.0 and 1.1
	NotSupported                 // an interaction that this service does not support
	Unprocessable                // well formed, but cannot be applied
	RateLimited                  // the key, the hospital or the client address exceeds a limit
	kinds
)

// table is the only place with error codes and statuses.
var table = [kinds]struct {
	status  int
	code    string
	issue   string // code of the FHIR value set IssueType
	message string // default message
}{
	Internal: {
		http.StatusInternalServerError, "internal", "exception",
		"The service failed to process the request. Retry later; if the failure persists, report meta.requestId.",
	},
	Unavailable: {
		http.StatusServiceUnavailable, "internal", "transient",
		"The service is temporarily unavailable. Retry after the time in Retry-After; the request is safe to repeat.",
	},
	Unauthorized: {http.StatusUnauthorized, "unauthorized", "login", "A valid API key is required: Authorization: Bearer svc_<hex>."},
	Forbidden:    {http.StatusForbidden, "forbidden_scope", "forbidden", "The API key lacks the scope that this endpoint requires."},
	Missing:      {http.StatusNotFound, "not_found", "not-found", "The hospital has no resource with this id."},
	Invalid:      {http.StatusBadRequest, "invalid_request", "invalid", "The request is malformed."},
	MethodNotServed: {
		http.StatusMethodNotAllowed, "invalid_request", "not-supported",
		"The path does not support this method; the Allow header lists the methods that it supports.",
	},
	TooLarge: {
		http.StatusRequestEntityTooLarge, "invalid_request", "too-long",
		"The body is larger than this endpoint accepts; send it in parts.",
	},
	TimedOut: {http.StatusRequestTimeout, "invalid_request", "timeout", "The body did not arrive in time; send it again."},
	UnsupportedMedia: {
		http.StatusUnsupportedMediaType, "invalid_request", "not-supported",
		"The endpoint does not accept the type or encoding of the body.",
	},
	Conflict: {
		http.StatusConflict, "invalid_request", "conflict",
		"The Idempotency-Key was already used with a different body; use a new key for each request.",
	},
	Precondition: {
		http.StatusPreconditionFailed, "invalid_request", "conflict",
		"If-Match names another version than the current one, or the resource already exists and If-None-Match is *; " +
			"read the resource again, then repeat the change.",
	},
	NotSupported: {http.StatusNotImplemented, "invalid_request", "not-supported", "The service does not support this request."},
	Unprocessable: {
		http.StatusUnprocessableEntity, "unprocessable", "processing", "The request is well-formed but cannot be applied; see details.",
	},
	UnmetExpectation: {
		http.StatusExpectationFailed, "invalid_request", "not-supported", "The only supported value of the Expect header is 100-continue.",
	},
	LongHead: {
		http.StatusRequestHeaderFieldsTooLarge, "invalid_request", "too-long",
		"The request line and headers exceed 64 KiB.",
	},
	UnknownEncoding: {http.StatusNotImplemented, "invalid_request", "not-supported", "The only supported transfer encoding is chunked."},
	UnknownVersion:  {http.StatusHTTPVersionNotSupported, "invalid_request", "not-supported", "The server supports only HTTP/1.1."},
	RateLimited: {
		http.StatusTooManyRequests, "rate_limited", "throttled",
		"The API key exceeded its request rate; retry after the time in Retry-After.",
	},
}

// Status returns the HTTP status of the kind.
func (k Kind) Status() int { return table[k].status }

// Code returns the error code of the kind in the specification.
func (k Kind) Code() string { return table[k].code }

// Message returns the default message of the kind.
func (k Kind) Message() string { return table[k].message }

// Issue returns the code of the kind in the FHIR value set IssueType.
func (k Kind) Issue() string { return table[k].issue }

// Kinds returns all kinds.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}
