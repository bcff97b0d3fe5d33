package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address returns the address of a request: the peer's or, behind trusted proxies, the address
// that they saw. Each proxy appends the address that it saw. So the last address that is no
// proxy's is the only one that a client cannot forge.
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

// docsURL returns the URL of the documentation: the configured one, else one under the
// address to which the request was sent.
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

// plainHost reports whether a Host header is a host with an optional port, and nothing
// else that would end up in a URL.
func plainHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && strings.IndexByte(".-_:[]", c) < 0 {
			return false
		}
	}
	return host != "" && len(host) <= 255
}
