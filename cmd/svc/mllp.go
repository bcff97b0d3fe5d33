package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"svc/ingest"
	"svc/ingest/mllp"
	"svc/internal/httpapi/access"
	"svc/internal/lifecycle"
)

// mllpConfig is the configuration of MLLP.
type mllpConfig struct {
	Senders     []mllpSender
	Cert, Key   string
	ClientCA    string
	Connections int
	PerPeer     int
	Idle        time.Duration
}

// mllpSender binds the peers of an address to an API key, by its id. MLLP has no place for a
// token, so the address and the certificate of a peer identify it. If several senders fit a peer,
// the first one is used.
type mllpSender struct {
	addr   string
	key    string       // id as in svc keys list; it stands for the key and its successors
	from   netip.Prefix // invalid: from everywhere
	client string       // name in the certificate of the peer; "": any, or no certificate
}

// fits reports whether the peer is the sender.
func (s *mllpSender) fits(p mllp.Peer) bool {
	return (!s.from.IsValid() || s.from.Contains(p.Address)) && (s.client == "" || slices.Contains(p.Names, s.client))
}

// mllpBindings parses --mllp.
func mllpBindings(c *config, value string) error {
	c.MLLP.Senders = nil
	for text := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ';' || r == '\n' }) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		sender, err := parseMLLPSender(text)
		if err != nil {
			return err
		}
		c.MLLP.Senders = append(c.MLLP.Senders, sender)
	}
	return nil
}

func parseMLLPSender(text string) (s mllpSender, err error) {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch name {
		case "addr":
			s.addr = value
		case "key":
			s.key = value
		case "client":
			s.client = value
		case "from":
			if s.from, err = netip.ParsePrefix(value); err != nil {
				one, fault := netip.ParseAddr(value)
				if fault != nil {
					return s, errors.New("from must be an address or a network such as 10.1.0.0/16")
				}
				s.from = netip.PrefixFrom(one, one.BitLen())
			}
		default:
			return s, fmt.Errorf("there is no %q; a sender is addr=HOST:PORT,key=KEY[,from=NETWORK][,client=NAME]", name)
		}
	}
	if _, _, err = net.SplitHostPort(s.addr); err != nil {
		return s, errors.New("addr must be host:port")
	}
	if !strings.HasPrefix(s.key, "key_") { // the value is not shown: it may be a token
		return s, errors.New("key must be the id of an API key, key_…, as svc keys list shows it")
	}
	return s, nil
}

// faults returns the faults of the options of MLLP together.
func (m *mllpConfig) faults() (faults []error) {
	if (m.Cert == "") != (m.Key == "") {
		faults = append(faults, errors.New("--mllp-tls-cert, --mllp-tls-key: give both or neither"))
	}
	if m.ClientCA != "" && m.Cert == "" {
		faults = append(faults, errors.New("--mllp-tls-client-ca: needs --mllp-tls-cert and --mllp-tls-key"))
	}
	if m.ClientCA == "" && slices.ContainsFunc(m.Senders, func(s mllpSender) bool { return s.client != "" }) {
		faults = append(faults, errors.New("--mllp: client= needs --mllp-tls-client-ca"))
	}
	return faults
}

// tls returns the configuration of the listeners; nil for plain TCP.
func (m *mllpConfig) tls() (*tls.Config, error) {
	if m.Cert == "" {
		return nil, nil //nolint:nilnil // nil is how TLS is said to be off
	}
	pair, err := tls.LoadX509KeyPair(m.Cert, m.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate of MLLP: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if m.ClientCA != "" {
		if c.ClientCAs, err = authorities(m.ClientCA); err != nil {
			return nil, err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// authorities reads a PEM file of certificates.
func authorities(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return pool, nil
}

// Limits for a peer that are not configured. They are those of HTTP.
const (
	mllpAnswerWithin = 10 * time.Second
	mllpPause        = time.Second // before a message that was not accepted may come again
	// How long a message waits for the rate of its key before it is accepted all the same. An
	// engine that waits longer for an acknowledgment, often 30 s, would send it again.
	mllpPatience = 10 * time.Second
	// A peer whose machine is gone is noticed after this time and four probes.
	keepAliveIdle     = time.Minute
	keepAliveInterval = 15 * time.Second
	keepAliveCount    = 4
)

// mllpFront is a listener for MLLP at one address.
type mllpFront struct {
	address  string
	senders  []mllpSender
	listener net.Listener      // an open listener; nil: run opens address
	drain    time.Duration     // as in server
	after    []<-chan struct{} // it accepts connections when all of these are closed
	opened   chan struct{}     // closed when it accepts connections
	server   *mllp.Server
}

// mllp adds a front for each address of --mllp.
func (h *service) mllp(messages *ingest.Messages) error {
	secured, err := h.config.MLLP.tls()
	if err != nil {
		return err
	}
	counts := &mllp.Counts{}
	h.metrics.mllp(counts)
	for _, sender := range h.config.MLLP.Senders {
		at := slices.IndexFunc(h.mllpFronts, func(f *mllpFront) bool { return f.address == sender.addr })
		if at >= 0 {
			h.mllpFronts[at].senders = append(h.mllpFronts[at].senders, sender)
			continue
		}
		front := &mllpFront{address: sender.addr, senders: []mllpSender{sender}, after: h.ready, opened: make(chan struct{}), drain: h.config.Drain}
		h.ports = append(h.ports, front.opened)
		front.server = &mllp.Server{
			Admit: func(p mllp.Peer) (mllp.Sender, error) { return h.admit(front.senders, p, messages) },
			TLS:   secured, Now: h.now, Log: h.log, Counts: counts,
			Limits: mllp.Limits{
				Connections: h.config.MLLP.Connections, ConnectionsPerPeer: h.config.MLLP.PerPeer,
				Message: ingest.MaxMessage, Idle: h.config.MLLP.Idle, Receive: lifecycle.DefaultPatience.Body,
				Answer: mllpAnswerWithin, Pause: mllpPause, Stop: h.config.ShutdownWithin,
			},
		}
		h.mllpFronts = append(h.mllpFronts, front)
	}
	return nil
}

// run serves until ctx ends, then lets messages that were begun finish.
func (f *mllpFront) run(ctx context.Context) error {
	for _, ready := range f.after {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	if f.listener == nil {
		var err error
		config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
		}}
		if f.listener, err = config.Listen(ctx, "tcp", f.address); err != nil {
			return fmt.Errorf("listen for MLLP: %w", err)
		}
	}
	close(f.opened)
	late, drained := lifecycle.Linger(ctx, f.drain)
	defer drained()
	if err := f.server.Serve(late, f.listener); err != nil {
		return fmt.Errorf("serve MLLP: %w", err)
	}
	return nil
}

// admit identifies a peer. Its key is looked up at every message, because it may be revoked or
// rotated meanwhile. After a rotation the successor is used.
func (h *service) admit(senders []mllpSender, p mllp.Peer, messages *ingest.Messages) (mllp.Sender, error) {
	at := slices.IndexFunc(senders, func(s mllpSender) bool { return s.fits(p) })
	if at < 0 {
		return mllp.Sender{}, fmt.Errorf("%w: no key is configured for it", mllp.ErrRefused)
	}
	id := senders[at].key
	now, err := h.validKey(id)
	if now.ID == "" {
		now.ID = id
	}
	return mllp.Sender{
		Key: now.ID, Hospital: now.Hospital,
		Take: func(ctx context.Context, message []byte) ([]byte, error) {
			key, refused := h.validKey(id)
			if refused != nil {
				return nil, refused
			}
			if h.shell.Used != nil {
				h.shell.Used(key.ID)
			}
			if ended := h.shell.Await(ctx, &key, mllpPatience); ended != nil {
				return nil, ended
			}
			if key, refused = h.validKey(id); refused != nil { // it may have been revoked during the wait
				return nil, refused
			}
			ack, fault := messages.TakeBody(ctx, key, message)
			if errors.Is(fault, ingest.ErrForbidden) {
				fault = fmt.Errorf("%w: %w", mllp.ErrRefused, fault)
			}
			return ack, fault
		},
	}, err
}

func (h *service) validKey(id string) (access.Key, error) {
	key, valid := h.settings.Register.Current(id)
	if !valid {
		return key, fmt.Errorf("%w: its key is unknown, expired or revoked", mllp.ErrRefused)
	}
	return key, nil
}

// mllp registers the metrics of the listeners.
func (m *metrics) mllp(c *mllp.Counts) {
	m.gauge("svc_mllp_connections", "MLLP connections now.", c.Open.Load)
	m.counter("svc_mllp_connections_total", "MLLP connections accepted.", c.Connections.Load)
	m.counter("svc_mllp_turned_away_total", "MLLP connections closed at once: too many.", c.TurnedAway.Load)
	m.counter("svc_mllp_messages_total", "Frames read whole over MLLP.", c.Messages.Load)
	m.counter("svc_mllp_answered_total", "Frames taken over MLLP, whatever the acknowledgment says.", c.Answered.Load)
	m.counter("svc_mllp_not_taken_total", "Frames not acknowledged over MLLP: the sender sends them again.", c.NotTaken.Load)
	for _, f := range mllp.Faults() {
		m.counter("svc_mllp_fault_"+f.String()+"_total", "Frames that depart from the standard: "+f.String()+".", c.Faults[f].Load)
	}
}
