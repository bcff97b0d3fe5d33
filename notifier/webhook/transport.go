package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// The limits of a transport. An idle connection uses about 30 KiB, including its buffers and TLS. Connections to
// endpoints with infrequent events are closed, so that memory does not grow with the number of endpoints.
const (
	keptAll     = 512              // maximum number of idle connections
	keptPerHost = 32               // the notifier's limit of requests in flight to one host
	keptFor     = 90 * time.Second // idle time before a connection is closed
	headersMost = 64 << 10         // maximum number of bytes in a response's headers
	sessions    = 512              // number of TLS sessions that can be resumed
)

// newTransport returns the transport for a hospital with an allow list or, if hospital is "", the transport for all
// other hospitals. It also returns the dialers that create the transport's connections.
func newTransport(c Config, hospital string, l limits) (*http.Transport, []*net.Dialer) {
	dialer := &net.Dialer{Timeout: l.dial, Resolver: c.Guard.Resolver(), ControlContext: c.Guard.Control(hospital, "https")}
	plain := &net.Dialer{Timeout: l.dial, Resolver: c.Guard.Resolver(), ControlContext: c.Guard.Control(hospital, "http")}
	trust := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: c.Roots, NextProtos: []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(sessions),
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:              nil, // requests to partners never use a proxy from the environment
		Protocols:          protocols,
		DisableCompression: true,
		DialContext:        plain.DialContext,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, dialer, trust, network, address, l.handshake)
		},
		MaxIdleConns:           keptAll,
		MaxIdleConnsPerHost:    keptPerHost,
		IdleConnTimeout:        keptFor,
		MaxResponseHeaderBytes: headersMost,
	}, []*net.Dialer{dialer, plain}
}

// handshakeError wraps an error of the TLS handshake. After such an error, no part of the request has been sent. The
// wrapper is needed because many errors of crypto/tls have no distinct type.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "tls: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

func dialTLS(ctx context.Context, dialer *net.Dialer, trust *tls.Config, network, address string, within time.Duration) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	config := trust.Clone()
	config.ServerName = host
	secure := tls.Client(conn, config)
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := secure.HandshakeContext(bounded); err != nil {
		conn.Close() //nolint:errcheck // the handshake error says more
		return nil, &handshakeError{err}
	}
	return secure, nil
}
