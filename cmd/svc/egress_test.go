package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/notifier/egress"
	"svc/notifier/egress/egresstest"
)

// TestEndpointsAreChecked: the administration refuses the addresses of the corpus, with the
// reason of the guard. It accepts addresses that only the dialer can judge: names that resolve
// later, or resolve differently later.
func TestEndpointsAreChecked(t *testing.T) {
	c, err := parseConfig("notify", needNotify, nil, environment("SVC_EGRESS_ALLOW", egresstest.Allow), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
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
		check := checkEndpoint(egress.New(egress.Config{Allow: c.EgressAllow, Resolver: names.Resolver()}))
		if r, w := check(t.Context(), egresstest.Hospital, one.URL); r != refused || w != warning {
			t.Errorf("%s: refused %q, warning %q; want %q, %q", one.URL, r, w, refused, warning)
		}
	}
	check := checkEndpoint(c.guard())
	for url, want := range map[string]string{
		"https://10.20.0.5/hook": "", "https://8.8.8.8/": "", "http://127.0.0.1:8080/dev/hook": "scheme_refused", "https://127.0.0.1:8443/": "address_refused",
	} {
		if refused, _ := check(t.Context(), egresstest.Hospital, url); refused != want {
			t.Errorf("%s: refused %q, want %q", url, refused, want)
		}
	}
	check = checkEndpoint((&config{EgressLoopback: true}).guard())
	if refused, _ := check(t.Context(), "demo", "http://127.0.0.1:8080/dev/hook"); refused != "" {
		t.Errorf("svc dev refuses its own page: %q", refused)
	}
}

func TestEgressConfiguration(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := parseConfig("notify", needNotify, nil, environment(
		"SVC_EGRESS_ALLOW", "mercy=10.20.0.0/16,mercy=127.0.0.1", "SVC_EGRESS_CA_FILE", empty,
	), &bytes.Buffer{})
	if err == nil {
		t.Fatal("a faulty configuration was taken")
	}
	for _, want := range []string{"SVC_EGRESS_ALLOW: entry 2: the network is never reachable", "SVC_EGRESS_CA_FILE: no certificate in the file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}
