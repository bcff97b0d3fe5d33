package webhook

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"svc/internal/outbound/sending"
	"svc/notifier/egress"
	"svc/notifier/egress/egresstest"
	"svc/notifier/sendertest"
)

// eventBody is an event of typical size.
var eventBody = []byte(`{"protocol":"svc.v1","id":"evt_91265307a6791d5365f07d7460fe3e12","event":"room.rescored","hospitalId":"st-mary","occurredAt":"2026-03-01T20:05:00.007Z","summary":"Room 4 red (was green), score 72","level":"orange","priorLevel":"yellow","data":{"roomId":4,"roomLabel":"LDR 4","color":"red","priorColor":"green","score":72,"factors":["high-mag","labor-standard"],"nursingLevel":"1:1","cause":"ingest"}}`)

// BenchmarkSend sends to a local receiver, alternating with a bare net/http client that posts the same body without
// signature or guard. "times bare" is the ratio of the two times in the same run.
func BenchmarkSend(b *testing.B) {
	plain := sendertest.Listen(b, accept)
	a := newAuthority(b)
	secure := receiveQuiet(b, a)
	for name, url := range map[string]string{"http": "http://" + plain + "/hook", "TLS": "https://partner.test:" + secure + "/hook"} {
		b.Run(name, func(b *testing.B) {
			s := partner(b, a)
			transport, _ := newTransport(Config{Guard: s.guard, Roots: a.pool, Now: s.now}, "", usual)
			client := &http.Client{Transport: transport}
			m := message(url)
			m.Body = eventBody
			var bare, signed time.Duration
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				answer, err := client.Post(url, "application/json", bytes.NewReader(m.Body))
				if err != nil {
					b.Fatal(err)
				}
				answer.Body.Close()
				middle := time.Now()
				if got := s.Send(b.Context(), m); got.Class != sending.ClassOK {
					b.Fatalf("%+v", got)
				}
				bare += middle.Sub(began)
				signed += time.Since(middle)
			}
			b.ReportMetric(float64(signed)/float64(bare), "times-bare")
			b.ReportMetric(float64(b.N)/signed.Seconds(), "sent/s")
		})
	}
	b.Run("32 at once", func(b *testing.B) {
		s := local(b)
		m := message("http://" + plain + "/hook")
		m.Body = eventBody
		b.SetParallelism(16)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if got := s.Send(b.Context(), m); got.Class != sending.ClassOK {
					b.Errorf("%+v", got)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sent/s")
	})
}

// receiveQuiet starts a TLS receiver that answers every request with 204 and stores nothing.
func receiveQuiet(b *testing.B, a *authority) (port string) {
	b.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{a.issue("partner.test", nil)}, MinVersion: tls.VersionTLS12}
	r := &receiver{address: sendertest.Listen(b, func(conn net.Conn) {
		accept(tls.Server(conn, config))
	})}
	return r.port(b)
}

// endpoints returns a sender, and messages to many host names that all resolve to one local receiver.
func endpoints(tb testing.TB, address string, many int) (*Sender, []sending.Message) {
	tb.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatal(err)
	}
	names := &egresstest.Names{}
	all := make([]sending.Message, many)
	for i := range all {
		host := fmt.Sprintf("h%d.test", i)
		names.Set(host, netip.MustParseAddr("127.0.0.1"))
		all[i] = message("http://" + host + ":" + port + "/hook")
	}
	s := New(Config{Guard: egress.New(egress.Config{Loopback: true, Resolver: names.Resolver()}), Now: time.Now})
	tb.Cleanup(s.Close)
	return s, all
}

// BenchmarkIdleEndpoints sends one event to each of 10,000 hosts and reports the memory that remains in use per host,
// including the receiver's side of the idle connections.
func BenchmarkIdleEndpoints(b *testing.B) {
	const many = 10_000
	address := sendertest.Listen(b, accept)
	s, all := endpoints(b, address, many)
	for b.Loop() {
		before := held()
		for _, m := range all {
			if got := s.Send(b.Context(), m); got.Class != sending.ClassOK {
				b.Fatalf("%+v", got)
			}
		}
		b.ReportMetric(float64(held()-before)/many, "B/endpoint")
		s.Close() // idle connections are also closed after 90 s
		b.ReportMetric(float64(held()-before)/many, "B/endpoint-closed")
	}
}

func held() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
