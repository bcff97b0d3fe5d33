// Package mail sends alerts by SMTP over TLS, each as a message to a single recipient.
//
// All attempts of a delivery have the same Message-ID. If a response is lost and the mail is sent twice, most
// mailboxes display it once.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"svc/internal/outbound/sending"
	"svc/notifier/outcome"
)

// The timeouts of an attempt.
const (
	dialWithin = 5 * time.Second  // for connecting
	sendWithin = 20 * time.Second // for the greeting and login, and again for the message
)

// Config describes the mail relay. DKIM is the responsibility of the relay.
type Config struct {
	Host     string
	Port     int
	Implicit bool   // whether TLS starts with the first byte (port 465); if not, STARTTLS is required
	User     string // "": no login; a login is always inside TLS
	Password string
	From     string // sender address, such as "svc@mercy.example" or "Maternity <svc@mercy.example>"

	Now func() time.Time
	// Dial creates the connection to the relay's Host and Port; if it is nil, the connection uses TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Roots are the certificate authorities trusted for the relay; nil means the system's.
	Roots *x509.CertPool
}

// Sender is the [sending.Sender] for e-mail.
type Sender struct {
	config Config
	domain string // domain part of Message-IDs
}

// New returns a sender that uses the given relay. It does not connect yet.
func New(c Config) (*Sender, error) {
	from, err := netmail.ParseAddress(c.From)
	if err != nil {
		return nil, errors.New("from: must be an address")
	}
	s := &Sender{config: c, domain: from.Address[strings.LastIndexByte(from.Address, '@')+1:]}
	if _, err := s.client(s.dial); err != nil {
		return nil, err
	}
	return s, nil
}

// client returns a client for one attempt. Clients are not shared, because the library modifies them during login.
func (s *Sender) client(dial gomail.DialContextFunc) (*gomail.Client, error) {
	c := &s.config
	options := []gomail.Option{
		gomail.WithPort(c.Port), gomail.WithTimeout(sendWithin), gomail.WithHELO(s.domain),
		gomail.WithTLSConfig(s.tls()), gomail.WithDialContextFunc(dial),
	}
	if c.Implicit {
		options = append(options, gomail.WithSSL())
	} else {
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if c.User != "" { // the library refuses PLAIN and LOGIN without TLS
		options = append(options, gomail.WithUsername(c.User), gomail.WithPassword(c.Password), gomail.WithOpportunisticSMTPAuth(
			gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin))
	}
	client, err := gomail.NewClient(c.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	return client, nil
}

func (s *Sender) tls() *tls.Config {
	return &tls.Config{ServerName: s.config.Host, RootCAs: s.config.Roots, MinVersion: tls.VersionTLS12}
}

func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	dial := s.config.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	connection, err := dial(ctx, network, address)
	if err != nil || !s.config.Implicit {
		return connection, err
	}
	secured := tls.Client(connection, s.tls())
	if err := secured.HandshakeContext(ctx); err != nil {
		connection.Close() //nolint:errcheck // the connection is no longer needed
		return nil, err
	}
	return secured, nil
}

// Send implements [sending.Sender].
func (s *Sender) Send(ctx context.Context, m sending.Message) sending.Result {
	began := s.config.Now()
	r := s.send(ctx, m)
	r.Took = s.config.Now().Sub(began)
	return r
}

func (s *Sender) send(ctx context.Context, m sending.Message) sending.Result {
	message, err := s.compose(m)
	if err != nil {
		return sending.Result{Class: sending.ClassStatus, Final: true, Response: "address not valid"}
	}
	var stop func() bool
	relay, err := s.client(func(within context.Context, network, address string) (net.Conn, error) {
		connection, refusal := s.dial(within, network, address)
		if refusal == nil {
			// When the context ends, the connection is closed, because a shutdown must not wait for a relay that has
			// stopped responding.
			stop = context.AfterFunc(ctx, func() { connection.Close() }) //nolint:errcheck // the connection is no longer needed
		}
		return connection, refusal
	})
	if err != nil {
		return sending.Result{Class: sending.ClassStatus, Final: true}
	}
	client, err := relay.DialToSMTPClientWithContext(ctx)
	if stop != nil {
		defer stop()
	}
	if err != nil {
		return refused(ctx, m.To, err)
	}
	err = relay.SendWithSMTPClient(client, message)
	if message.IsDelivered() { // the relay accepted the message; any later error is ignored
		response := message.ServerResponse()
		relay.CloseWithSMTPClient(client) //nolint:errcheck // a failed QUIT changes nothing
		return sending.Result{Class: sending.ClassOK, Status: 250, Response: outcome.CleanResponse(response, m.To)}
	}
	client.Close() //nolint:errcheck // the connection is no longer needed
	return failed(ctx, m.To, err)
}

func (s *Sender) compose(m sending.Message) (*gomail.Msg, error) {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := message.From(s.config.From); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	if err := message.To(m.To); err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	message.Subject(m.Subject)
	message.SetMessageIDWithValue(m.DeliveryID + "@" + s.domain)
	message.SetDate()
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office replies
	message.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		message.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return message, nil
}

// failed returns the result for a message that the relay did not accept. Only a 5xx response to this message is
// final; a broken connection may work again a minute later.
func failed(ctx context.Context, to string, err error) sending.Result {
	var refusal *gomail.SendError
	if !errors.As(err, &refusal) || refusal.ErrorCode() == 0 {
		return refused(ctx, to, err)
	}
	code := refusal.ErrorCode()
	r := sending.Result{Class: sending.ClassStatus, Status: code, Response: outcome.CleanResponse(answer(err), to)}
	switch refusal.Reason { //nolint:exhaustive // other reasons do not concern this message
	case gomail.ErrSMTPMailFrom, gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		r.Final = code >= 500
	}
	return r
}

// refused returns the result for an SMTP session that failed or could not be opened. It is never final, because the
// failure does not concern the message.
func refused(ctx context.Context, to string, err error) sending.Result {
	if reply, ok := errors.AsType[*textproto.Error](err); ok && ctx.Err() == nil {
		return sending.Result{Class: sending.ClassStatus, Status: reply.Code, Response: outcome.CleanResponse(reply.Msg, to)}
	}
	class := outcome.ClassOf(ctx, err)
	if class == sending.ClassReset && err != nil && strings.Contains(err.Error(), "STARTTLS") { // the library has no type for this error
		return sending.Result{Class: sending.ClassTLS, Response: "the relay does not offer STARTTLS"}
	}
	return sending.Result{Class: class}
}

// answer returns the relay's response, without the address that the library adds.
func answer(err error) string {
	if refusal, ok := errors.AsType[*textproto.Error](err); ok {
		return refusal.Msg
	}
	return ""
}
