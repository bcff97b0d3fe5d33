package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// Shared header values, so that an answer does not allocate them anew.
var (
	contentType     = []string{"application/json"}
	fhirContentType = []string{FHIRType}
	noSniff         = []string{"nosniff"}
	noStore         = []string{"no-store"}
	challenge       = []string{"Bearer"}
	closing         = []string{"close"}

	deny       = []string{"DENY"}
	noReferrer = []string{"no-referrer"}
	// nothing may be loaded, run or framed from what an API answers. A page
	// sets a policy of its own.
	nothing = []string{"default-src 'none'; frame-ancestors 'none'"}
	oneYear = []string{"max-age=31536000"}

	byOrigin       = []string{"Origin"}
	exposed        = []string{"X-Request-Id, ETag, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed, Preference-Applied"}
	acceptedHeader = []string{"Authorization, Content-Type, Content-Encoding, Idempotency-Key, If-Match, If-None-Match, Prefer, X-Request-Id"}
	tenMinutes     = []string{"600"}
)

// secure sets what every answer has, unless its handler says otherwise.
func (s *Shell) secure(h http.Header, r *http.Request) {
	h["X-Content-Type-Options"] = noSniff
	h["X-Frame-Options"] = deny
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = nothing
	h["Cache-Control"] = noStore
	// Over plain HTTP browsers must ignore it, so a client that invents the
	// header of a proxy gains nothing.
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		h["Strict-Transport-Security"] = oneYear
	}
	if len(s.Origins) == 0 {
		return
	}
	h["Vary"] = byOrigin
	if origin := r.Header["Origin"]; len(origin) == 1 && slices.Contains(s.Origins, origin[0]) {
		h["Access-Control-Allow-Origin"] = origin
		h["Access-Control-Expose-Headers"] = exposed
	}
}

// options answers 204 with the methods of the path, also to the question that a
// browser asks before a request from another origin. It needs no key: browsers
// send none with the question.
func options(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if h["Access-Control-Allow-Origin"] != nil && r.Header["Access-Control-Request-Method"] != nil {
		h["Access-Control-Allow-Methods"] = h["Allow"]
		h["Access-Control-Allow-Headers"] = acceptedHeader
		h["Access-Control-Max-Age"] = tenMinutes
	}
	w.WriteHeader(http.StatusNoContent)
}

// AddVary adds a request header that the answer depends on.
func AddVary(h http.Header, name string) {
	if len(h["Vary"]) == 0 {
		h["Vary"] = []string{name}
		return
	}
	h["Vary"] = []string{h["Vary"][0] + ", " + name}
}
