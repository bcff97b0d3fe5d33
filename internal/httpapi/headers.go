package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The header values are shared, so that a response does not allocate them.
var (
	contentType     = []string{"application/json"}
	fhirContentType = []string{FHIRType}
	noSniff         = []string{"nosniff"}
	noStore         = []string{"no-store"}
	challenge       = []string{"Bearer"}
	closing         = []string{"close"}

	deny       = []string{"DENY"}
	noReferrer = []string{"no-referrer"}
	// A browser must not load, run or frame anything from an API response. Pages set a different policy.
	nothing = []string{"default-src 'none'; frame-ancestors 'none'"}
	oneYear = []string{"max-age=31536000"}

	byOrigin       = []string{"Origin"}
	exposed        = []string{"X-Request-Id, ETag, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed, Preference-Applied"}
	acceptedHeader = []string{"Authorization, Content-Type, Content-Encoding, Idempotency-Key, If-Match, If-None-Match, Prefer, X-Request-Id"}
	tenMinutes     = []string{"600"}
)

// setHeaders sets the headers that every response has unless its handler changes them.
func (s *Shell) setHeaders(h http.Header, r *http.Request) {
	h["X-Content-Type-Options"] = noSniff
	h["X-Frame-Options"] = deny
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = nothing
	h["Cache-Control"] = noStore
	// Browsers must ignore this header over plain HTTP, so a client that forges the proxy's header gains nothing.
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

// respondOptions responds with 204 and the methods of the path, even to a browser's preflight request from another
// origin. It does not require a key, because browsers do not send one in a preflight request.
func respondOptions(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if h["Access-Control-Allow-Origin"] != nil && r.Header["Access-Control-Request-Method"] != nil {
		h["Access-Control-Allow-Methods"] = h["Allow"]
		h["Access-Control-Allow-Headers"] = acceptedHeader
		h["Access-Control-Max-Age"] = tenMinutes
	}
	w.WriteHeader(http.StatusNoContent)
}

// AddVary adds to Vary the name of a request header on which the response depends.
func AddVary(h http.Header, name string) {
	if len(h["Vary"]) == 0 {
		h["Vary"] = []string{name}
		return
	}
	h["Vary"] = []string{h["Vary"][0] + ", " + name}
}

// address returns the client address of a request: the peer's address or, if the peer is a trusted proxy, the last
// address in X-Forwarded-For that is not that of a trusted proxy. Each proxy appends its peer's address, so a client
// can forge only earlier addresses.
func (s *Shell) address(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	at := peer.Addr().Unmap().WithZone("")
	if !s.trusted(at) {
		return at
	}
	seen := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, text := range slices.Backward(seen) {
		hop, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return at
		}
		if at = hop.Unmap().WithZone(""); !s.trusted(at) {
			return at
		}
	}
	return at
}

// addressText returns the address for the log; "" if it is unknown.
func (s *Shell) addressText(r *http.Request) string {
	if at := s.address(r); at.IsValid() {
		return at.String()
	}
	return ""
}

func (s *Shell) trusted(at netip.Addr) bool {
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// docsURL returns the URL of the documentation: the configured one, or else one at the address to which the request
// was sent.
func (s *Shell) docsURL(r *http.Request) string {
	if s.DocsURL != "" {
		return s.DocsURL
	}
	scheme, host := "http", r.Host
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	if !plainHost(host) {
		host = "localhost"
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			host = local.String()
		}
	}
	return scheme + "://" + host + DocsPath
}

// DocsPath is the path of the documentation on every server.
const DocsPath = "/docs"

// plainHost reports whether a Host header is only a host with an optional port, so that it is safe in a URL.
func plainHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && strings.IndexByte(".-_:[]", c) < 0 {
			return false
		}
	}
	return host != "" && len(host) <= 255
}
