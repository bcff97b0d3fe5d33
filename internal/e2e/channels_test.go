package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// relayServer is a real SMTP server that requires STARTTLS and a login.
type relayServer struct {
	port, ca string

	mu    sync.Mutex
	by    string
	mails []relayed
}

type relayed struct{ to, text string }

func startRelay(t *testing.T) *relayServer {
	t.Helper()
	certificate, ca := selfSigned(t, net.IPv4(127, 0, 0, 1))
	r := &relayServer{ca: ca}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &relaySession{relay: r}, nil }))
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, r.port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		listener.Close()
		server.Close()
		<-ended
	})
	return r
}

func (r *relayServer) login() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by
}

func (r *relayServer) all() (texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.mails {
		texts = append(texts, m.text)
	}
	return texts
}

func (r *relayServer) count(to string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.mails {
		if m.to == to {
			n++
		}
	}
	return n
}

// await waits for an e-mail to an address and returns its text.
func (r *relayServer) await(t *testing.T, to string, within time.Duration) (text string) {
	t.Helper()
	eventually(t, within, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, m := range r.mails {
			if m.to == to {
				text = m.text
				return nil
			}
		}
		return fmt.Errorf("no e-mail to %s among %d", to, len(r.mails))
	})
	return text
}

type relaySession struct {
	relay *relayServer
	to    string
	in    bool
}

func (s *relaySession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *relaySession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.relay.mu.Lock()
		defer s.relay.mu.Unlock()
		s.relay.by, s.in = user+":"+password, true
		return nil
	}), nil
}

func (s *relaySession) Reset() {}

func (s *relaySession) Logout() error { return nil }

func (s *relaySession) Mail(string, *smtp.MailOptions) error {
	if !s.in {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *relaySession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

func (s *relaySession) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	// Quoted-printable soft line breaks end in "=".
	text := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(string(body))
	s.relay.mails = append(s.relay.mails, relayed{s.to, m.Header.Get("Subject") + "\n" + text})
	return nil
}

const gatewayToken = "the token of the gateway"

// smsGateway accepts signed SMS requests from svc.
type smsGateway struct {
	t   *testing.T
	mu  sync.Mutex
	got []smsMessage
}

type smsMessage struct {
	ID, To, Text, Callback string
	ValiditySeconds        int
}

func sign(token string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func (g *smsGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var one smsMessage
	if err != nil || json.Unmarshal(body, &one) != nil || r.Header.Get("X-Svc-Signature") != sign(gatewayToken, body) {
		g.t.Errorf("a request that is not signed, or broken: %v", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got = append(g.got, one)
	w.WriteHeader(http.StatusAccepted)
}

func (g *smsGateway) await(t *testing.T, unit string) (sms smsMessage) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, m := range g.got {
			if strings.Contains(m.Text, unit) {
				sms = m
				return nil
			}
		}
		return fmt.Errorf("no SMS of %s among %d", unit, len(g.got))
	})
	return sms
}

// receipt sends the delivery receipt for an SMS, and checks that a forged receipt is refused.
func (g *smsGateway) receipt(t *testing.T, base string, m smsMessage, status string) {
	t.Helper()
	if !strings.HasPrefix(m.Callback, base+"/api/public/sms/http?") {
		t.Fatalf("callback %s", m.Callback)
	}
	body := fmt.Appendf(nil, `{"id":%q,"status":%q}`, m.ID, status)
	for signature, want := range map[string]int{"sha256=00": http.StatusUnauthorized, sign(gatewayToken, body): http.StatusNoContent} {
		request, err := http.NewRequest(http.MethodPost, m.Callback, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Svc-Signature", signature)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("receipt with %s: %d, want %d", signature, answer.StatusCode, want)
		}
	}
}
