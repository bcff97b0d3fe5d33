package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/acuity"
	"svc/ingest"
	"svc/ingest/mllp"
	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/admin/settings"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
)

// TestMLLPSenders: a peer is bound to the first sender that fits.
func TestMLLPSenders(t *testing.T) {
	var c config
	err := mllpBindings(&c, "addr=:2575,key=key_a,from=10.1.0.0/16,client=bridge.test; addr=:2575,key=key_b,from=10.1.0.0/16;\n"+
		"addr=127.0.0.1:2576,key=key_c,from=::1 ; addr=:2575,key=key_d;")
	if err != nil || len(c.MLLP.Senders) != 4 || c.MLLP.Senders[2].addr != "127.0.0.1:2576" {
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
			if s.fits(peer) {
				if s.key != tt.want {
					t.Errorf("%+v is %s", tt, s.key)
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
		"no such word":          {[]string{"--mllp", "addr=:1,key=key_1,to=x"}, `--mllp: there is no "to"`},
		"no network":            {[]string{"--mllp", "addr=:1,key=key_1,from=ward"}, "--mllp: from must be"},
		"client without CA":     {[]string{"--mllp", "addr=:1,key=key_1,client=a"}, "needs --mllp-tls-client-ca"},
		"CA without cert":       {[]string{"--mllp-tls-client-ca", "mllp.go"}, "needs --mllp-tls-cert"},
		"cert without its key":  {[]string{"--mllp-tls-cert", "mllp.go"}, "give both or neither"},
		"idle for no time":      {[]string{"--mllp-idle", "0"}, "--mllp-idle: must be a duration"},
		"no connections at all": {[]string{"--mllp-connections", "0"}, "--mllp-connections: must be a whole number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseConfig("ingest", everything, tt.args, environment("SVC_PSEUDONYM_KEY", key32), &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	c, err := parseConfig("ingest", everything, nil, environment("SVC_PSEUDONYM_KEY", key32), &bytes.Buffer{})
	if err != nil || len(c.MLLP.Senders) > 0 {
		t.Errorf("MLLP is not off by default: %v %+v", err, c.MLLP)
	}
}

// sources is an observation log that stores only the sources.
type sources []string

func (s *sources) Append(_ context.Context, o *acuity.Observation) (ingest.Position, error) {
	*s = append(*s, o.Source)
	return ingest.Position{Offset: int64(len(*s))}, nil
}

// TestMLLPFollowsRotation names a key to a listener and rotates it. From the next message on the
// successor is used, with its own scopes, limits and last use.
func TestMLLPFollowsRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		limits := limit.New(limit.NewMemory(time.Now), time.Now)
		go limits.Run(ctx) //nolint:errcheck // ends with the test
		register := access.NewRegister(time.Now)
		register.SetHospital(access.Hospital{ID: "north", Zone: "UTC"})
		ring := keys.Ring{
			Register: register, Now: time.Now,
			Seen: func() int64 { return 0 },
			Put: func(_ context.Context, _ int64, keys ...*access.Key) error {
				for _, key := range keys {
					register.SetKey(*key)
				}
				return nil
			},
			Audit: func(context.Context, audit.Act) error { return nil },
		}
		var used, told []string
		shell := &httpapi.Shell{Now: time.Now, Log: slog.New(slog.DiscardHandler), Limits: limits, Used: func(id string) { used = append(used, id) }}
		h := &service{settings: &settings.Store{Register: register}, shell: shell, now: time.Now}
		messages := ingest.NewMessages(ingest.Config{
			Shell: shell, Log: (*sources)(&told), Zone: register.Zone, Pseudonyms: ingest.NewPseudonyms([]byte(key32)),
		})
		first, _, err := ring.Mint(ctx, "test", access.Key{Hospital: "north", Scopes: []access.Scope{access.IngestHL7}, Rate: 0.01, Burst: 4})
		if err != nil {
			t.Fatal(err)
		}
		sender, err := h.admit([]mllpSender{{key: first.ID}}, mllp.Peer{}, messages)
		if err != nil || sender.Key != first.ID {
			t.Fatalf("%+v %v", sender, err)
		}
		send := func() (ack string, took time.Duration, err error) {
			began := time.Now()
			b, err := sender.Take(ctx, []byte("MSH|^~\\&|A|B|C|D|20260304080000||ADT^A01|1|P|2.5.1\rEVN||20260304080000\rPID|1||M1\rPV1|1|I|LDR^L1|||||||||||||||||V1\r"))
			synctest.Wait()
			return string(b), time.Since(began), err
		}
		free := 0
		for took := time.Duration(0); took == 0 && free < 100; free++ {
			var ack string
			if ack, took, err = send(); err != nil || !strings.Contains(ack, "MSA|AA|1") {
				t.Fatalf("%q %v", ack, err)
			}
			if took != 0 && took != mllpPatience {
				t.Errorf("a message waited %v for a rate that is slower than %v", took, mllpPatience)
			}
		}
		if free < 4 || free > 10 {
			t.Errorf("slowed after %d messages of 4", free)
		}
		second, _, err := ring.Rotate(ctx, "test", 0, first, 0)
		if err != nil {
			t.Fatal(err)
		}
		if ack, took, refused := send(); refused != nil || took != 0 || !strings.Contains(ack, "MSA|AA|1") {
			t.Errorf("after the rotation: %q, %v, %v", ack, took, refused)
		}
		if used[0] != first.ID || used[len(used)-1] != second.ID || len(used) != free+1 {
			t.Errorf("used %v", used)
		}
		if again, refused := h.admit([]mllpSender{{key: first.ID}}, mllp.Peer{}, messages); refused != nil || again.Key != second.ID {
			t.Errorf("a connection after the rotation: %+v %v", again, refused)
		}
		if told[0] != first.ID || told[len(told)-1] != first.ID {
			t.Errorf("sources %v", told)
		}
		if _, err = ring.Revoke(ctx, "test", 0, second); err != nil {
			t.Fatal(err)
		}
		if _, _, err := send(); !errors.Is(err, mllp.ErrRefused) {
			t.Errorf("after the revocation: %v", err)
		}
	})
}

// TestFeedsPage: each flag in docs/feeds.md exists.
func TestFeedsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/feeds.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, o := range options {
		known[o.name] = true
	}
	for _, args := range [][]string{{"send", "-h"}, {"keys", "mint", "-h"}, {"keys", "list", "-h"}} {
		_, help, _ := say(t, args...)
		for _, flag := range regexp.MustCompile(`(?m)^ +--?([a-z-]+)`).FindAllStringSubmatch(help, -1) {
			known[flag[1]] = true
		}
	}
	named := regexp.MustCompile("[` ]--([a-z][a-z-]+)").FindAllStringSubmatch(string(page), -1)
	for _, flag := range named {
		if !known[flag[1]] {
			t.Errorf("there is no flag --%s", flag[1])
		}
	}
	for _, part := range regexp.MustCompile("(?m)^\\| `([a-z]+)=").FindAllStringSubmatch(string(page), -1) {
		if err := mllpBindings(&config{}, part[1]+"=x"); strings.Contains(err.Error(), "there is no") {
			t.Errorf("--mllp: %v", err)
		}
	}
	if len(named) < 15 {
		t.Errorf("only %d flags are found on the page", len(named))
	}
}
