package webhook

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"svc/internal/outbound/sending"
	"svc/notifier/egress"
	"svc/notifier/egress/egresstest"
)

// TestMatrixRebinding: when the endpoint is created, its name resolves to an address that the hospital's allow list
// permits. When the endpoint is called, the name resolves to this machine. The receiver on this machine must not get
// a connection.
func TestMatrixRebinding(t *testing.T) {
	r := receive(t, says(ok))
	names := &egresstest.Names{}
	names.Set("rebind.test", netip.MustParseAddr("10.20.0.5"))
	allow, err := egress.ParseAllow("mercy=10.20.0.0/16:" + r.port(t))
	if err != nil {
		t.Fatal(err)
	}
	guard := egress.New(egress.Config{Allow: allow, Resolver: names.Resolver()})
	s := New(Config{Guard: guard, Now: time.Now})
	m := message("https://rebind.test:" + r.port(t) + "/")
	if err := guard.Check(t.Context(), "mercy", m.Webhook.URL); err != nil {
		t.Fatal(err)
	}
	names.Set("rebind.test", netip.MustParseAddr("127.0.0.1"))
	if got := send(t, s, m, sending.ClassBlocked); got.Final || got.Response != string(egress.AddressRefused) {
		t.Errorf("%+v", got)
	}
	if n := r.connected.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// TestCorpusIsBlocked sends to every endpoint in the corpus. The guard must refuse each endpoint whose name resolves.
// After the guard, a second control function refuses every connection, so that no packet is sent even if the guard
// fails.
func TestCorpusIsBlocked(t *testing.T) {
	allow, err := egress.ParseAllow(egresstest.Allow)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range egresstest.Corpus(t) {
		t.Run(c.URL, func(t *testing.T) {
			names := &egresstest.Names{}
			guard := egress.New(egress.Config{Allow: allow, Resolver: names.Resolver()})
			c.SetNames(names, true)
			s := New(Config{Guard: guard, Now: time.Now})
			neverConnect(s)
			want, word := sending.ClassBlocked, string(c.Reason)
			if c.Reason == egress.NameUnresolved {
				want, word = sending.ClassDNS, ""
			}
			if got := send(t, s, message(c.URL), want); got.Response != word || got.Final {
				t.Errorf("%+v, want %q", got, word)
			}
		})
	}
}

// neverConnect makes a sender's dialers stop before the first packet.
func neverConnect(s *Sender) {
	for _, d := range s.dialers {
		ask := d.ControlContext
		d.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
			if ask != nil {
				if err := ask(ctx, network, address, c); err != nil {
					return err
				}
			}
			return errors.New("would connect")
		}
	}
}
