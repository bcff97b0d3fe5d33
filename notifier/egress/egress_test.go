package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"svc/notifier/egress"
	"svc/notifier/egress/egresstest"
)

func guard(t testing.TB, names *egresstest.Names, loopback bool) *egress.Guard {
	t.Helper()
	allow, err := egress.ParseAllow(egresstest.Allow)
	if err != nil {
		t.Fatal(err)
	}
	return egress.New(egress.Config{Allow: allow, Loopback: loopback, Resolver: names.Resolver()})
}

// reasonOf returns the reason for a refusal, or "" if err is not a refusal.
func reasonOf(err error) egress.Reason {
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}

// TestCorpusIsRefused tests that every URL in the corpus is refused: first by Check, then by the guard in a real
// dialer. A second control function prevents every connection, so no packet leaves even if the guard fails.
func TestCorpusIsRefused(t *testing.T) {
	for _, c := range egresstest.Corpus(t) {
		t.Run(c.URL, func(t *testing.T) {
			names := &egresstest.Names{}
			g := guard(t, names, false)
			c.SetNames(names, false)
			want := c.Reason
			if c.Rebinds() {
				want = ""
			}
			if err := g.Check(t.Context(), egresstest.Hospital, c.URL); reasonOf(err) != want {
				t.Errorf("the check says %v, want %q", err, want)
			}
			c.SetNames(names, true)
			if err := dial(t.Context(), g, egresstest.Hospital, c.URL); reasonOf(err) != c.Reason {
				t.Errorf("the dialer says %v, want %q", err, c.Reason)
			}
		})
	}
}

var errWouldConnect = errors.New("would connect")

// dial runs the steps of a real dialer up to its first packet.
func dial(ctx context.Context, g *egress.Guard, hospital, endpoint string) error {
	u, err := g.URL(hospital, endpoint)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	check := g.Control(hospital, u.Scheme)
	dialer := net.Dialer{Resolver: g.Resolver(), ControlContext: func(ctx context.Context, network, address string, c syscall.RawConn) error {
		return errors.Join(check(ctx, network, address, c), errWouldConnect)
	}}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err == nil {
		conn.Close()
		return errors.New("connected")
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return &egress.RefusedError{Reason: egress.NameUnresolved}
	}
	return err
}

func TestAllowedEndpoints(t *testing.T) {
	for name, tt := range map[string]struct {
		url      string
		hospital string
		resolves string
		loopback bool
	}{
		"public address":        {url: "https://8.8.8.8/hook"},
		"second port":           {url: "https://8.8.8.8:8443/hook"},
		"public IPv6":           {url: "https://[2606:4700::1111]/hook"},
		"name":                  {url: "https://hooks.partner.test/a?b=c", resolves: "8.8.8.8"},
		"name in capitals":      {url: "HTTPS://Hooks.Partner.TEST/", resolves: "8.8.8.8"},
		"international name":    {url: "https://xn--exmple-cua.test/", resolves: "8.8.8.8"},
		"name with underscore":  {url: "https://hook_1.partner.test/", resolves: "8.8.8.8"},
		"name that has a digit": {url: "https://hooks.4partner.test/", resolves: "8.8.8.8"},
		"fragment":              {url: "https://8.8.8.8/#part"},
		"listed":                {url: "https://10.20.255.1/hook", hospital: "mercy"},
		"listed by name":        {url: "https://mirth.partner.test/", hospital: "mercy", resolves: "10.20.0.9"},
		"listed, mapped":        {url: "https://[::ffff:10.20.0.9]/", hospital: "mercy"},
		"listed, other port":    {url: "https://[fd20::5]:9443/", hospital: "mercy"},
		"NAT64 of a public one": {url: "https://[64:ff9b::808:808]/"},
		"6to4 of a public one":  {url: "https://[2002:808:808::1]/"},
		"loopback in svc dev":   {url: "http://127.0.0.1:4000/hook", loopback: true},
		"localhost in svc dev":  {url: "http://hook.localhost.test:4000/", loopback: true, resolves: "::1"},
		"https in svc dev":      {url: "https://8.8.8.8/hook", loopback: true},
	} {
		t.Run(name, func(t *testing.T) {
			names := &egresstest.Names{}
			if tt.resolves != "" {
				for _, host := range []string{"hooks.partner.test", "xn--exmple-cua.test", "hook_1.partner.test", "hooks.4partner.test", "mirth.partner.test", "hook.localhost.test"} {
					names.Set(host, netip.MustParseAddr(tt.resolves))
				}
			}
			g := guard(t, names, tt.loopback)
			if err := g.Check(t.Context(), tt.hospital, tt.url); err != nil {
				t.Errorf("the check says %v", err)
			}
			if err := dial(t.Context(), g, tt.hospital, tt.url); reasonOf(err) != "" || !errors.Is(err, errWouldConnect) {
				t.Errorf("the dialer says %v", err)
			}
		})
	}
}

// TestListsAreOfOneHospital: the allow list of mercy does not apply to other hospitals.
func TestListsAreOfOneHospital(t *testing.T) {
	g := guard(t, &egresstest.Names{}, false)
	for _, hospital := range []string{"", "north", "Mercy"} {
		if err := dial(t.Context(), g, hospital, "https://10.20.0.5/"); reasonOf(err) != egress.AddressNotListed {
			t.Errorf("hospital %q: %v", hospital, err)
		}
	}
}

// TestDevelopmentAllowsNoMore: under the rules for svc dev, only loopback allows plain HTTP and any port. For all
// other addresses, the usual rules apply.
func TestDevelopmentAllowsNoMore(t *testing.T) {
	names := &egresstest.Names{}
	g := guard(t, names, true)
	for endpoint, want := range map[string]egress.Reason{
		"http://8.8.8.8/":          egress.SchemeRefused,
		"http://10.20.0.5/":        egress.SchemeRefused,
		"https://10.0.0.1:4000/":   egress.AddressNotListed,
		"https://8.8.8.8:4000/":    egress.PortRefused,
		"https://169.254.169.254/": egress.AddressRefused,
		"http://0.0.0.0:4000/":     egress.SchemeRefused,
		"http://u@127.0.0.1:4000/": egress.UserInfoRefused,
		"http://2130706433/":       egress.HostRefused,
	} {
		if err := g.Check(t.Context(), "mercy", endpoint); reasonOf(err) != want {
			t.Errorf("%s: the check says %v, want %s", endpoint, err, want)
		}
		if err := dial(t.Context(), g, "mercy", endpoint); reasonOf(err) != want {
			t.Errorf("%s: the dialer says %v, want %s", endpoint, err, want)
		}
	}
}

// TestMixedName: an endpoint whose name has both a private and a public address is refused when it is created. If
// such a name is dialed later, only the public address is used.
func TestMixedName(t *testing.T) {
	names := &egresstest.Names{}
	names.Set("mixed.test", netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("8.8.8.8"))
	g := guard(t, names, false)
	if err := g.Check(t.Context(), "", "https://mixed.test/"); reasonOf(err) != egress.AddressNotListed {
		t.Errorf("the check says %v", err)
	}
	var dialled []string
	check := g.Control("", "https")
	dialer := net.Dialer{Resolver: g.Resolver(), ControlContext: func(ctx context.Context, network, address string, c syscall.RawConn) error {
		if err := check(ctx, network, address, c); err != nil {
			return err
		}
		dialled = append(dialled, address)
		return errWouldConnect
	}}
	if _, err := dialer.DialContext(t.Context(), "tcp", "mixed.test:443"); err == nil || !slices.Equal(dialled, []string{"8.8.8.8:443"}) {
		t.Errorf("dialled %v, %v", dialled, err)
	}
}

func TestLongURL(t *testing.T) {
	g := guard(t, &egresstest.Names{}, false)
	if err := g.Check(t.Context(), "", "https://8.8.8.8/"+strings.Repeat("a", 2048)); reasonOf(err) != egress.URLInvalid {
		t.Errorf("a URL of more than %d bytes: %v", 2048, err)
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := guard(t, &egresstest.Names{}, false).Check(ctx, "", "https://partner.test/"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context", err)
	}
}

func TestParseAllow(t *testing.T) {
	got, err := egress.ParseAllow(" h1=10.20.0.0/16:443, h1=10.30.1.5:9443,h1=10.40.0.0/24,h2=[fd20::]/48:9443,h2=[fd20::5]:1,h2=fd21::/48:2+3,h2=fd22::7 ")
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, a := range got {
		text = append(text, fmt.Sprint(a.Hospital, "=", a.Network, ":", strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Ports), "[]"), " ", "+")))
	}
	want := "h1=10.20.0.0/16:443 h1=10.30.1.5/32:9443 h1=10.40.0.0/24:443+8443 h2=fd20::/48:9443 h2=fd20::5/128:1 h2=fd21::/48:2+3 h2=fd22::7/128:443+8443"
	if strings.Join(text, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(text, " "), want)
	}
	if again, err := egress.ParseAllow(strings.Join(text, ",")); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("read again: %v, %v", again, err)
	}
	if none, err := egress.ParseAllow(""); err != nil || len(none) > 0 {
		t.Errorf("an empty list: %v, %v", none, err)
	}
}

func TestParseAllowFaults(t *testing.T) {
	for text, want := range map[string]string{
		"10.20.0.0/16":              "entry 1: must be HOSPITAL=NETWORK[:PORT]",
		"h1=10.20.0.0/16,":          "entry 2: must be HOSPITAL=NETWORK[:PORT]",
		"h1=10.20.0.1/16":           "entry 1: the network has host bits set",
		"h1=10.20.0.0/33":           "entry 1: the network must be an address or a prefix",
		"h1=partner.test:443":       "entry 1: the network must be an address or a prefix",
		"h1=10.20.0.0/16:0":         "entry 1: the port must be a number",
		"h1=10.20.0.0/16:65536":     "entry 1: the port must be a number",
		"h1=127.0.0.0/8":            "entry 1: the network is never allowed",
		"h1=169.254.169.254":        "entry 1: the network is never allowed",
		"h1=0.0.0.0/0":              "entry 1: the network is never allowed",
		"h1=64:ff9b::a14:5":         "entry 1: the network is never allowed",
		"h1=::ffff:10.20.0.0/112":   "entry 1: the network must be",
		"h1=fe80::1%eth0":           "entry 1: the network must be an address or a prefix",
		"h1=x,h2=y,h3=10.0.0.0/8:x": "entry 3: the port must be a number",
	} {
		if _, err := egress.ParseAllow(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestExplain: Explain returns a reason for every URL in the corpus, except for those that only the dialer can judge,
// because their names do not resolve yet or later resolve to a different address.
func TestExplain(t *testing.T) {
	for _, one := range egresstest.Corpus(t) {
		names := &egresstest.Names{}
		one.SetNames(names, false)
		refused, warning := string(one.Reason), ""
		switch {
		case one.Rebinds():
			refused = ""
		case one.Reason == egress.NameUnresolved:
			refused, warning = "", refused
		}
		if r, w := guard(t, names, false).Explain(t.Context(), egresstest.Hospital, one.URL); r != refused || w != warning {
			t.Errorf("%s: refused %q, warning %q; want %q, %q", one.URL, r, w, refused, warning)
		}
	}
	for url, want := range map[string]string{
		"https://10.20.0.5/hook": "", "https://8.8.8.8/": "", "http://127.0.0.1:8080/dev/hook": "scheme_refused", "https://127.0.0.1:8443/": "address_refused",
		"https://8.8.8.8/hook#part": "fragment_refused", "https://8.8.8.8/#": "fragment_refused", "https://127.0.0.1/#x": "address_refused",
		"https://8.8.8.8/a b": "url_invalid", "https://8.8.8.8/hook ": "url_invalid", "https://8.8.8.8/?q=a\u00a0b": "url_invalid",
		"https://8.8.8.8/a%20b?q=%23": "",
	} {
		if refused, _ := guard(t, &egresstest.Names{}, false).Explain(t.Context(), egresstest.Hospital, url); refused != want {
			t.Errorf("%s: refused %q, want %q", url, refused, want)
		}
	}
	if _, err := guard(t, &egresstest.Names{}, false).URL(egresstest.Hospital, "https://8.8.8.8/a b#c"); err != nil {
		t.Errorf("an endpoint of an earlier release no longer works: %v", err)
	}
	if refused, _ := guard(t, &egresstest.Names{}, true).Explain(t.Context(), "demo", "http://127.0.0.1:8080/dev/hook"); refused != "" {
		t.Errorf("svc dev refuses its own page: %q", refused)
	}
}
