package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"svc/internal/outbound/sending"
	"svc/internal/testkit/certificate"
	"svc/notifier/sendertest"
)

// relay is a real SMTP server. The test sets its answers.
type relay struct {
	host  string
	port  int
	roots *x509.CertPool

	mu       sync.Mutex
	rcpt     error // answer to RCPT
	data     error // answer to the message
	hang     chan struct{}
	login    string // user and password that were received
	got      []string
	insecure bool // whether a command was received without TLS
}

type relayOptions struct{ implicit, plain bool }

func newRelay(t *testing.T, o relayOptions) *relay {
	t.Helper()
	certificate, roots := certificate.SelfSigned(t, "localhost", time.Now().Add(time.Hour))
	r := &relay{roots: roots}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{r, c}, nil }))
	server.Domain = "relay.example"
	server.ErrorLog = quiet{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	settings := &tls.Config{Certificates: []tls.Certificate{certificate}}
	switch {
	case o.implicit:
		listener = tls.NewListener(listener, settings)
	case !o.plain:
		server.TLSConfig = settings
	}
	r.host, r.port = "localhost", port(t, listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		listener.Close() // server.Close closes only listeners that were passed to Serve
		server.Close()
		<-ended
	})
	return r
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

type session struct {
	relay *relay
	conn  *smtp.Conn
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.relay.mu.Lock()
		defer s.relay.mu.Unlock()
		s.relay.login = user + ":" + password
		if password != "secret" {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}
func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func (s *session) Mail(string, *smtp.MailOptions) error {
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	if _, encrypted := s.conn.TLSConnectionState(); !encrypted {
		s.relay.insecure = true
	}
	return nil
}

func (s *session) Rcpt(string, *smtp.RcptOptions) error {
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	return s.relay.rcpt
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	s.relay.mu.Lock()
	hang, answer := s.relay.hang, s.relay.data
	if answer == nil {
		s.relay.got = append(s.relay.got, string(raw))
	}
	s.relay.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if answer != nil {
		return answer
	}
	return err
}

func port(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (r *relay) config() Config {
	return Config{Host: r.host, Port: r.port, From: "Maternity <svc@mercy.example>", Now: time.Now, Roots: r.roots}
}

var letter = sending.Message{
	DeliveryID: "dlv_0123456789abcdef0123456789abcdef", To: "charge@mercy.example",
	Subject: "[ORANGE] L&D: 2 nurses short (was YELLOW) 14:05", Text: "Level: ORANGE\n", HTML: "<table><tr><td>ORANGE</td></tr></table>",
}

func send(t *testing.T, c Config, m sending.Message) sending.Result {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s.Send(t.Context(), m)
}

func TestMail(t *testing.T) {
	for name, o := range map[string]relayOptions{"STARTTLS": {}, "TLS from the first byte": {implicit: true}} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, o)
			c := r.config()
			c.Implicit, c.User, c.Password = o.implicit, "svc", "secret"
			if got := send(t, c, letter); got.Class != sending.ClassOK || got.Status != 250 {
				t.Fatalf("result = %+v", got)
			}
			if r.login != "svc:secret" || len(r.got) != 1 {
				t.Fatalf("login %q, %d messages", r.login, len(r.got))
			}
			m, err := mail.ReadMessage(strings.NewReader(r.got[0]))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			if err != nil || subject != letter.Subject {
				t.Errorf("subject %q, %v", subject, err)
			}
			for field, want := range map[string]string{
				"Message-Id": "<dlv_0123456789abcdef0123456789abcdef@mercy.example>", "To": "<charge@mercy.example>",
				"From": `"Maternity" <svc@mercy.example>`, "Auto-Submitted": "auto-generated",
			} {
				if got := m.Header.Get(field); got != want {
					t.Errorf("%s: %s, want %s", field, got, want)
				}
			}
			_, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for parts := multipart.NewReader(m.Body, parameters["boundary"]); ; {
				part, err := parts.NextPart()
				if err != nil {
					break
				}
				kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")) //nolint:errcheck // compared below
				kinds = append(kinds, kind)
			}
			if !slices.Equal(kinds, []string{"text/plain", "text/html"}) {
				t.Errorf("parts %v", kinds)
			}
		})
	}
}

// TestSameMessageID: an e-mail that is sent twice has the same Message-ID, so a mailbox can drop the duplicate.
func TestSameMessageID(t *testing.T) {
	r := newRelay(t, relayOptions{})
	send(t, r.config(), letter)
	send(t, r.config(), letter)
	id := func(raw string) string {
		m, err := mail.ReadMessage(strings.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return m.Header.Get("Message-Id")
	}
	if len(r.got) != 2 || id(r.got[0]) != id(r.got[1]) || id(r.got[0]) == "" {
		t.Errorf("%d messages with different ids", len(r.got))
	}
}

// TestRefusals: a failure is final only if the relay has refused the message itself.
func TestRefusals(t *testing.T) {
	busy := &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try again"}
	gone := &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "charge@mercy.example does not exist"}
	for name, tt := range map[string]struct {
		options relayOptions
		change  func(r *relay, c *Config)
		want    sending.Result
	}{
		"451 to the recipient": {change: func(r *relay, _ *Config) { r.rcpt = busy }, want: sending.Result{Class: sending.ClassStatus, Status: 451}},
		"451 to the message":   {change: func(r *relay, _ *Config) { r.data = busy }, want: sending.Result{Class: sending.ClassStatus, Status: 451}},
		"550 to the recipient": {change: func(r *relay, _ *Config) { r.rcpt = gone }, want: sending.Result{Class: sending.ClassStatus, Status: 550, Final: true}},
		"550 to the message":   {change: func(r *relay, _ *Config) { r.data = gone }, want: sending.Result{Class: sending.ClassStatus, Status: 550, Final: true}},
		"wrong password":       {change: func(_ *relay, c *Config) { c.User, c.Password = "svc", "wrong" }, want: sending.Result{Class: sending.ClassStatus, Status: 535}},
		"no STARTTLS":          {options: relayOptions{plain: true}, want: sending.Result{Class: sending.ClassTLS}},
		"no TLS where it is to begin": {
			options: relayOptions{plain: true}, change: func(_ *relay, c *Config) { c.Implicit = true }, want: sending.Result{Class: sending.ClassTLS},
		},
		"a certificate of somebody else": {change: func(_ *relay, c *Config) { c.Roots = x509.NewCertPool() }, want: sending.Result{Class: sending.ClassTLS}},
		"nobody listens":                 {change: func(_ *relay, c *Config) { c.Port = 1 }, want: sending.Result{Class: sending.ClassRefused}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, tt.options)
			c := r.config()
			if tt.change != nil {
				tt.change(r, &c)
			}
			got := send(t, c, letter)
			if strings.Contains(got.Response, "charge@") {
				t.Errorf("the address is in the answer that is kept: %q", got.Response)
			}
			if got.Class != tt.want.Class || got.Status != tt.want.Status || got.Final != tt.want.Final {
				t.Errorf("result = %+v, want %+v", got, tt.want)
			}
			if r.insecure || len(r.got) > 0 {
				t.Errorf("sent all the same: %d messages, in the clear: %v", len(r.got), r.insecure)
			}
		})
	}
}

// TestHangingRelay: a shutdown does not wait for a relay that has stopped answering.
func TestHangingRelay(t *testing.T) {
	r := newRelay(t, relayOptions{})
	r.hang = make(chan struct{})
	defer close(r.hang)
	s, err := New(r.config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan sending.Result, 1)
	go func() { result <- s.Send(ctx, letter) }()
	for arrived := false; !arrived; {
		r.mu.Lock()
		arrived = len(r.got) > 0
		r.mu.Unlock()
	}
	cancel()
	if got := <-result; got.Class != sending.ClassInterrupted || got.Final {
		t.Errorf("result = %+v", got)
	}
}

func TestAddressNotUnderstood(t *testing.T) {
	r := newRelay(t, relayOptions{})
	m := letter
	m.To = "nobody"
	if got := send(t, r.config(), m); !got.Final {
		t.Errorf("result = %+v", got)
	}
	if _, err := New(Config{Host: "localhost", Port: 1, From: "nobody", Now: time.Now}); err == nil || bytes.Contains([]byte(err.Error()), []byte("nobody")) {
		t.Errorf("error = %v", err)
	}
}

// TestConformance runs the conformance suite for all channels against this sender. The suite's connections misbehave
// in ways in which a real relay does not.
func TestConformance(t *testing.T) {
	certificate, roots := certificate.SelfSigned(t, "localhost", time.Now().Add(time.Hour))
	r := &relay{}
	sendertest.Conform(t, sendertest.Channel{
		Sender: func(t *testing.T, address string) sending.Sender {
			t.Helper()
			s, err := New(Config{Host: "localhost", Port: port(t, address), From: "svc@mercy.example", Now: time.Now, Roots: roots})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Message: func(string) sending.Message { return letter },
		Serve: func(conn net.Conn) {
			server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{r, c}, nil }))
			server.ErrorLog, server.TLSConfig = quiet{}, &tls.Config{Certificates: []tls.Certificate{certificate}}
			server.Serve(&single{conn: conn, served: make(chan struct{})}) //nolint:errcheck // ends when the connection does
		},
	})
}

// single is a listener with a single connection.
type single struct {
	conn   net.Conn
	served chan struct{}
	once   bool
}

func (l *single) Accept() (net.Conn, error) {
	if !l.once {
		l.once = true
		return &closing{Conn: l.conn, closed: sync.OnceFunc(func() { close(l.served) })}, nil
	}
	<-l.served
	return nil, net.ErrClosed
}
func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

type closing struct {
	net.Conn
	closed func()
}

func (c *closing) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
