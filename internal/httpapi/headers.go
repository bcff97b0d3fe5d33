package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// These header values are shared, so that an answer does not allocate them.
var (
	contentType     = []string{"application/json"}
	fhirContentType = []string{FHIRType}
	noSniff         = []string{"nosniff"}
	noStore         = []string{"no-store"}
	challenge       = []string{"Bearer"}
	closing         = []string{"close"}

	deny       = []string{"DENY"}
	noReferrer = []string{"no-referrer"}
	// A browser must not load, run or frame anything from an answer of the API. A page
	// sets its own policy.
	nothing = []string{"default-src 'none'; frame-ancestors 'none'"}
	oneYear = []string{"max-age=31536000"}

	byOrigin       = []string{"Origin"}
	exposed        = []string{"X-Request-Id, ETag, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed, Preference-Applied"}
	acceptedHeader = []string{"Authorization, Content-Type, Content-Encoding, Idempotency-Key, If-Match, If-None-Match, Prefer, X-Request-Id"}
	tenMinutes     = []string{"600"}
)

// secure sets the headers that every answer has, unless its handler sets others.
func (s *Shell) secure(h http.Header, r *http.Request) {
	h["X-Content-Type-Options"] = noSniff
	h["X-Frame-Options"] = deny
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = nothing
	h["Cache-Control"] = noStore
	// Browsers must ignore this header over plain HTTP. So a client that invents the
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

// options answers 204 with the methods of the path, also to the preflight request of a
// browser for another origin. It needs no key, because browsers send none in a preflight.
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
