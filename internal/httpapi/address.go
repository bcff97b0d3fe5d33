package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address returns where a request came from: the peer, or, if that is a proxy that is
// trusted, whom the proxies have seen. Each proxy appends whom it saw, so the last
// address that is none of theirs is the one that nobody could make up.
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

// addressText is the address for the log; "": it is not known.
func (s *Shell) addressText(r *http.Request) string {
	if at := s.address(r); at.IsValid() {
		return at.String()
	}
	return ""
}

func (s *Shell) trusted(at netip.Addr) bool {
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// docsURL is the address of the documentation: as configured, else under that which
// the request was sent to.
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

// DocsPath is where every server has its documentation.
const DocsPath = "/docs"

// plainHost reports whether a header Host is a host and perhaps a port, and nothing
// that would be strange in a URL.
func plainHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && strings.IndexByte(".-_:[]", c) < 0 {
			return false
		}
	}
	return host != "" && len(host) <= 255
}
