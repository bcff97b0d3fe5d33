package webhook

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/egress"
	"svc/notifier/sendertest"
)

const secret = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY"

// local returns a sender that may reach this machine, as in svc dev.
func local(t testing.TB) *Sender {
	t.Helper()
	s := New(Config{Guard: egress.New(egress.Config{Loopback: true}), Now: time.Now})
	t.Cleanup(s.Close)
	return s
}

// message returns a message to an endpoint.
func message(url string) sending.Message {
	return sending.Message{
		Hospital: "mercy", DeliveryID: "dlv_00", EventID: "evt_00", Event: outbound.Ping, Attempt: 1,
		Body: []byte(`{"protocol":"svc.v1"}`),
		Webhook: &subscriber.Webhook{
			ID: "whk_00", Hospital: "mercy", URL: url, Enabled: true,
			Secrets: []subscriber.Secret{{ID: "sec_00", Value: secret, State: subscriber.SecretCurrent}},
		},
	}
}

func TestConformance(t *testing.T) {
	sendertest.Conform(t, sendertest.Channel{
		Sender:  func(t *testing.T, _ string) sending.Sender { t.Helper(); return local(t) },
		Message: func(address string) sending.Message { return message("http://" + address + "/hook") },
		Serve:   accept,
	})
}

// accept answers every request on a connection with 204.
func accept(conn net.Conn) {
	reader := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
			return
		}
	}
}
