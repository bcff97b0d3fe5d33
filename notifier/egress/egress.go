// Package egress decides which addresses the service may call for a hospital. Partners choose the endpoints, so
// without these rules an endpoint could make the service call its operator's internal network, or the address at
// which a cloud provider serves credentials (server-side request forgery).
//
// The rules are checked twice. [Guard.Check] gives early feedback when an endpoint is created. [Guard.Control] checks
// the address in the dialer, right before the connection is made. Only the second check protects the service, because
// a name can resolve to a different address later (DNS rebinding).
package egress

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// Reason is the reason why an endpoint is refused. It is displayed to partners and on the command line.
type Reason string

// The reasons for refusals.
const (
	URLInvalid       Reason = "url_invalid"        // not an absolute URL, or too long
	SchemeRefused    Reason = "scheme_refused"     // not https
	FragmentRefused  Reason = "fragment_refused"   // a part after #, which is never sent
	UserInfoRefused  Reason = "user_info_refused"  // name or password in the URL
	HostRefused      Reason = "host_refused"       // neither a host name of ASCII labels nor an address in canonical form
	PortRefused      Reason = "port_refused"       // not 443, 8443 or a listed port
	AddressRefused   Reason = "address_refused"    // never allowed: loopback, link-local, metadata, multicast, reserved
	AddressNotListed Reason = "address_not_listed" // private, and not in the allow list of the hospital
	NameUnresolved   Reason = "name_unresolved"    // the name had no address at the time of the check
)

// RefusedError is a refusal by the guard. No connection is made.
type RefusedError struct{ Reason Reason }

func (e *RefusedError) Error() string { return "egress: " + string(e.Reason) }

func refuse(r Reason) error { return &RefusedError{r} }

// maxURL is the maximum length of an endpoint's URL.
const maxURL = 2048

// resolveWithin is the timeout for resolving a name in a check.
const resolveWithin = 3 * time.Second

// ports are the allowed ports on public addresses.
var ports = []uint16{443, 8443}

// Config holds the settings of a guard.
type Config struct {
	Allow    []Allowed
	Loopback bool          // whether any port on loopback is allowed, including plain HTTP, for svc dev
	Resolver *net.Resolver // nil: the system resolver
}

// Guard enforces the egress rules. It is safe for concurrent use.
type Guard struct {
	lists    map[string][]Allowed
	loopback bool
	resolver *net.Resolver
}

// New returns a guard.
func New(c Config) *Guard {
	g := &Guard{lists: map[string][]Allowed{}, loopback: c.Loopback, resolver: c.Resolver}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	for _, a := range c.Allow {
		g.lists[a.Hospital] = append(g.lists[a.Hospital], a)
	}
	return g
}

// Hospitals returns the hospitals with an allow list. Each of them needs its own connections, because a connection to
// a private address must not be used for another hospital.
func (g *Guard) Hospitals() []string { return slices.Sorted(maps.Keys(g.lists)) }

// Resolver returns the resolver for the names of endpoints.
func (g *Guard) Resolver() *net.Resolver { return g.resolver }

// Check returns nil if an endpoint may currently be called. Otherwise, it returns a [*RefusedError] or the error of
// the context.
func (g *Guard) Check(ctx context.Context, hospital, endpoint string) error {
	u, err := g.URL(hospital, endpoint)
	if err != nil {
		return err
	}
	port := portOf(u)
	if a, literal := netip.ParseAddr(u.Hostname()); literal == nil {
		return g.checkAddress(hospital, u.Scheme, netip.AddrPortFrom(a, port))
	}
	looking, stop := context.WithTimeout(ctx, resolveWithin)
	defer stop()
	found, err := g.resolver.LookupNetIP(looking, "ip", u.Hostname())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || len(found) == 0 {
		return refuse(NameUnresolved)
	}
	for _, a := range found { // the dialer tries all addresses
		if err := g.checkAddress(hospital, u.Scheme, netip.AddrPortFrom(a, port)); err != nil {
			return err
		}
	}
	return nil
}

// Explain returns why the URL of an endpoint is refused, or a warning about the URL. Both are "" if the URL is
// acceptable or if ctx ends before the check. A name that does not resolve yet causes only a warning, because the
// address is checked again at every attempt. Explain also refuses what no client sends as written: a fragment, blanks
// and control characters. [Guard.URL] accepts them, so that endpoints of earlier releases still work.
func (g *Guard) Explain(ctx context.Context, hospital, endpoint string) (refused, warning string) {
	fault, ok := errors.AsType[*RefusedError](g.Check(ctx, hospital, endpoint))
	switch {
	case ok && fault.Reason != NameUnresolved:
		return string(fault.Reason), ""
	case strings.Contains(endpoint, "#"):
		return string(FragmentRefused), ""
	case strings.ContainsFunc(endpoint, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }):
		return string(URLInvalid), ""
	case ok:
		return "", string(NameUnresolved)
	}
	return "", ""
}

// URL parses the URL of an endpoint and checks its form. The error is a [*RefusedError].
func (g *Guard) URL(hospital, endpoint string) (*url.URL, error) {
	if len(endpoint) > maxURL {
		return nil, refuse(URLInvalid)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Opaque != "" || u.Scheme == "" {
		return nil, refuse(URLInvalid)
	}
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !g.loopback):
		return nil, refuse(SchemeRefused)
	case u.User != nil:
		return nil, refuse(UserInfoRefused)
	case u.Host == "":
		return nil, refuse(URLInvalid)
	case !plainHost(u.Hostname()):
		return nil, refuse(HostRefused)
	case strings.HasSuffix(u.Host, ":") || !g.portKnown(hospital, portOf(u)):
		return nil, refuse(PortRefused)
	}
	u.Fragment, u.RawFragment = "", "" // a fragment is never sent
	return u, nil
}

// Control returns a [net.Dialer.ControlContext] for a hospital's connections with scheme "https" or "http"; hospital
// "" means all hospitals without an allow list. The returned function checks the dialed address after name resolution
// and before the first packet.
func (g *Guard) Control(hospital, scheme string) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil {
			return errors.Join(refuse(AddressRefused), err)
		}
		return g.checkAddress(hospital, scheme, a)
	}
}

// checkAddress returns an error if connecting to an address is not allowed.
func (g *Guard) checkAddress(hospital, scheme string, to netip.AddrPort) error {
	if g.loopback && to.Addr().Unmap().IsLoopback() {
		return nil
	}
	if scheme != "https" {
		return refuse(SchemeRefused)
	}
	v, a := judge(to.Addr())
	if v == never {
		return refuse(AddressRefused)
	}
	reason := AddressNotListed
	for _, listed := range g.lists[hospital] {
		if !listed.Network.Contains(a) {
			continue
		}
		if slices.Contains(listed.Ports, to.Port()) {
			return nil
		}
		reason = PortRefused
	}
	switch {
	case v == byList:
		return refuse(reason)
	case !slices.Contains(ports, to.Port()):
		return refuse(PortRefused)
	}
	return nil
}

// portKnown reports whether the port is allowed for at least one address.
func (g *Guard) portKnown(hospital string, port uint16) bool {
	return port != 0 && (g.loopback || slices.Contains(ports, port) ||
		slices.ContainsFunc(g.lists[hospital], func(a Allowed) bool { return slices.Contains(a.Ports, port) }))
}

// portOf returns the port that would be dialed, or 0 if the port is invalid.
func portOf(u *url.URL) uint16 {
	switch text := u.Port(); {
	case text != "":
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || text[0] == '0' {
			return 0
		}
		return uint16(port)
	case u.Scheme == "https":
		return 443
	default:
		return 80
	}
}

// plainHost reports whether a host has the same meaning for every resolver. It refuses legacy spellings of IPv4
// addresses that some resolvers accept: decimal, octal, hexadecimal, fewer than four numbers (see "ends in a number"
// in the WHATWG URL standard). It also refuses zones, a trailing dot, and non-ASCII characters, because clients map
// fullwidth digits and the ideographic full stop to plain ones. An internationalized name must be in its xn-- form.
func plainHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	if host == "" || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(c rune) bool { return !nameRune(c) }) {
			return false
		}
	}
	return !numeric(labels[len(labels)-1])
}

func nameRune(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// numeric reports whether inet_aton reads a label as a number.
func numeric(label string) bool {
	if rest, ok := strings.CutPrefix(strings.ToLower(label), "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
