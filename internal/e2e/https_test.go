package e2e

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc/internal/testkit/certificate"
)

// serveHTTPS serves on a private address of this machine, like an endpoint in a hospital's network. The allow list
// permits such an address, but never loopback. ca is a file with the server's certificate.
func serveHTTPS(t testing.TB, handler http.Handler) (server *httptest.Server, ca string) {
	t.Helper()
	at := privateAddress(t)
	listener, err := net.Listen("tcp", net.JoinHostPort(at.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	certificate, ca := selfSigned(t, at)
	server = httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, ca
}

// privateAddress returns an address of this machine that is not loopback.
func privateAddress(t testing.TB) net.IP {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsPrivate() {
			return n.IP
		}
	}
	t.Fatal("this machine has no private address; start Docker's network or another")
	return nil
}

// selfSigned creates a self-signed certificate for an address, and writes it to the file ca for clients that should
// trust it.
func selfSigned(t testing.TB, at net.IP) (pair tls.Certificate, ca string) {
	t.Helper()
	pair, _ = certificate.SelfSigned(t, at.String(), time.Now().Add(24*time.Hour))
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, encodeCertificate(pair.Certificate[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	return pair, path
}
