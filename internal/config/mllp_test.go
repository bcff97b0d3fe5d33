package config

import (
	"net/netip"
	"strings"
	"testing"

	"svc/ingest/mllp"
)

// TestMLLPSenders: a peer gets the key of the first sender that matches.
func TestMLLPSenders(t *testing.T) {
	var c Config
	err := c.setMLLP("addr=:2575,key=key_a,from=10.1.0.0/16,client=bridge.test; addr=:2575,key=key_b,from=10.1.0.0/16;\n" +
		"addr=127.0.0.1:2576,key=key_c,from=::1 ; addr=:2575,key=key_d;")
	if err != nil || len(c.MLLP.Senders) != 4 || c.MLLP.Senders[2].Address != "127.0.0.1:2576" {
		t.Fatalf("%v %+v", err, c.MLLP.Senders)
	}
	for _, tt := range []struct {
		from, name, want string
	}{
		{"10.1.2.3", "bridge.test", "key_a"},
		{"10.1.2.3", "other.test", "key_b"},
		{"10.1.2.3", "", "key_b"},
		{"10.2.0.1", "bridge.test", "key_d"},
		{"::1", "", "key_c"},
		{"::2", "", "key_d"},
	} {
		peer := mllp.Peer{Address: netip.MustParseAddr(tt.from), Names: []string{tt.name}}
		for _, s := range c.MLLP.Senders {
			if s.Fits(peer) {
				if s.Key != tt.want {
					t.Errorf("%+v is %s", tt, s.Key)
				}
				break
			}
		}
	}
}

func TestMLLPFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no address":            {[]string{"--mllp", "key=key_1"}, "--mllp: addr must be host:port"},
		"a token":               {[]string{"--mllp", "addr=:1,key=svc_hunter2"}, "--mllp: key must be the id"},
		"no such word":          {[]string{"--mllp", "addr=:1,key=key_1,to=x"}, `--mllp: unknown option "to"`},
		"no network":            {[]string{"--mllp", "addr=:1,key=key_1,from=ward"}, "--mllp: from must be"},
		"client without CA":     {[]string{"--mllp", "addr=:1,key=key_1,client=a"}, "requires --mllp-tls-client-ca"},
		"CA without cert":       {[]string{"--mllp-tls-client-ca", "mllp.go"}, "requires --mllp-tls-cert"},
		"cert without its key":  {[]string{"--mllp-tls-cert", "mllp.go"}, "give both or neither"},
		"idle for no time":      {[]string{"--mllp-idle", "0"}, "--mllp-idle: must be a duration"},
		"no connections at all": {[]string{"--mllp-connections", "0"}, "--mllp-connections: must be a whole number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseConfig(t, "ingest", everything, tt.args, environment("SVC_PSEUDONYM_KEY", key32))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	c, err := parseConfig(t, "ingest", everything, nil, environment("SVC_PSEUDONYM_KEY", key32))
	if err != nil || len(c.MLLP.Senders) > 0 {
		t.Errorf("MLLP is not off by default: %v %+v", err, c.MLLP)
	}
}

// Giving an option twice is an error, because the second value would silently replace the first.
func TestRepeatedOptionIsRefused(t *testing.T) {
	sender := "addr=127.0.0.1:2575,key=key_1"
	for name, args := range map[string][]string{
		"two senders":      {"--mllp", sender, "--mllp", sender},
		"two addresses":    {"--kafka", "a:1", "--kafka=b:2"},
		"the same address": {"--listen", "127.0.0.1:1", "--listen", "127.0.0.1:1"},
	} {
		_, err := parseConfig(t, "run", everything, args, environment("SVC_PSEUDONYM_KEY", key32))
		if err == nil || !strings.Contains(err.Error(), "is given more than once") || !strings.Contains(err.Error(), args[0]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
