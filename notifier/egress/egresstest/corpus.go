// Package egresstest provides test data for the egress guard: endpoints that must be refused, with a name server for
// their names.
package egresstest

import (
	_ "embed"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"svc/notifier/egress"
)

//go:embed ssrf.txt
var ssrf string

// The hospital of the corpus and its allow list.
const (
	Hospital = "mercy"
	Allow    = "mercy=10.20.0.0/16:443,mercy=[fd20::]/48:9443"
)

// Case is one endpoint that must be refused.
type Case struct {
	URL    string
	Reason egress.Reason
	First  []netip.Addr // addresses of the name when the endpoint is checked
	Then   []netip.Addr // addresses when the endpoint is dialed; nil: the same as First
}

// Rebinds reports whether the name resolves to a different address after the check.
func (c *Case) Rebinds() bool { return len(c.Then) > 0 }

// SetNames adds the endpoint's name to names, with the addresses First or, if later is true, Then.
func (c *Case) SetNames(names *Names, later bool) {
	u, err := url.Parse(c.URL)
	if err != nil || c.First == nil {
		return
	}
	if later && c.Rebinds() {
		names.Set(u.Hostname(), c.Then...)
		return
	}
	names.Set(u.Hostname(), c.First...)
}

// Corpus returns the endpoints that must be refused.
func Corpus(t testing.TB) []Case {
	t.Helper()
	var all []Case
	for line := range strings.Lines(ssrf) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		c := Case{Reason: egress.Reason(fields[0]), URL: fields[1]}
		if len(fields) == 3 {
			first, then, _ := strings.Cut(fields[2], ">")
			c.First, c.Then = addresses(t, first), addresses(t, then)
		}
		all = append(all, c)
	}
	if len(all) < 60 {
		t.Fatalf("only %d endpoints in the corpus", len(all))
	}
	return all
}

func addresses(t testing.TB, list string) []netip.Addr {
	t.Helper()
	if list == "" {
		return nil
	}
	var all []netip.Addr
	for one := range strings.SplitSeq(list, ",") {
		a, err := netip.ParseAddr(one)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}
