package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"svc/ingest/mllp"
	"svc/internal/authorities"
)

// MLLP configures the MLLP listeners.
type MLLP struct {
	Senders     []MLLPSender
	Cert, Key   string
	ClientCA    string
	Connections int
	PerPeer     int
	Idle        time.Duration
}

// MLLPSender assigns an API key to the peers that connect to an address. MLLP has no field for a token, so the peer's
// network and certificate determine the key. If several senders match a peer, the first one is used.
type MLLPSender struct {
	Address string
	Key     string       // id as in svc keys list; after a rotation, the id still identifies the new key
	From    netip.Prefix // network of the peers; zero: any
	Client  string       // name in the peer's certificate; "": any, or no certificate
}

// Fits reports whether a peer matches the sender.
func (s *MLLPSender) Fits(p mllp.Peer) bool {
	return (!s.From.IsValid() || s.From.Contains(p.Address)) && (s.Client == "" || slices.Contains(p.Names, s.Client))
}

// setMLLP parses --mllp.
func (c *Config) setMLLP(value string) error {
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

func parseMLLPSender(text string) (s MLLPSender, err error) {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch name {
		case "addr":
			s.Address = value
		case "key":
			s.Key = value
		case "client":
			s.Client = value
		case "from":
			if s.From, err = netip.ParsePrefix(value); err != nil {
				one, fault := netip.ParseAddr(value)
				if fault != nil {
					return s, errors.New("from must be an address or a network such as 10.1.0.0/16")
				}
				s.From = netip.PrefixFrom(one, one.BitLen())
			}
		default:
			return s, fmt.Errorf("unknown option %q; a sender is addr=HOST:PORT,key=KEY[,from=NETWORK][,client=NAME]", name)
		}
	}
	if _, _, err = net.SplitHostPort(s.Address); err != nil {
		return s, errors.New("addr must be host:port")
	}
	if !strings.HasPrefix(s.Key, "key_") { // the error does not contain the value, because it may be a token
		return s, errors.New("key must be the id of an API key, key_…, as svc keys list shows it")
	}
	return s, nil
}

// faults returns the errors in all MLLP options.
func (m *MLLP) faults() (faults []error) {
	if (m.Cert == "") != (m.Key == "") {
		faults = append(faults, errors.New("--mllp-tls-cert, --mllp-tls-key: give both or neither"))
	}
	if m.ClientCA != "" && m.Cert == "" {
		faults = append(faults, errors.New("--mllp-tls-client-ca: requires --mllp-tls-cert and --mllp-tls-key"))
	}
	if m.ClientCA == "" && slices.ContainsFunc(m.Senders, func(s MLLPSender) bool { return s.Client != "" }) {
		faults = append(faults, errors.New("--mllp: client= requires --mllp-tls-client-ca"))
	}
	return faults
}

// TLS returns the TLS configuration of the listeners, or nil for plain TCP.
func (m *MLLP) TLS() (*tls.Config, error) {
	if m.Cert == "" {
		return nil, nil //nolint:nilnil // nil means that TLS is off
	}
	pair, err := tls.LoadX509KeyPair(m.Cert, m.Key)
	if err != nil {
		return nil, fmt.Errorf("MLLP certificate: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if m.ClientCA != "" {
		if c.ClientCAs, err = authorities.Read(m.ClientCA); err != nil {
			return nil, fmt.Errorf("MLLP certificate authorities, %s: %w", m.ClientCA, err)
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}
