package view_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"svc/internal/view"
)

func config(url string) view.Config {
	return view.Config{URL: url, Partition: func(string) int32 { return 0 }, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

func TestFaultsOfTheConfiguration(t *testing.T) {
	for name, c := range map[string]view.Config{
		"no URL":               {URL: "canary-password@host"},
		"no name at Sentinel":  {URL: "redis://sentinel:26379?master_name=&password=canary"},
		"odd option":           {URL: "redis://sentinel:26379?master_name=svc&canary=1"},
		"several hosts":        {URL: "redis://user:canary@host:6379?addr=other:6379"},
		"CA, cluster, no TLS":  {URL: "redis://host:6379?cluster=true", CAFile: "ca.pem"},
		"odd option, cluster":  {URL: "redis://host:6379?cluster=true&canary=1"},
		"CA, Sentinel, no TLS": {URL: "redis://sentinel:26379?master_name=svc", CAFile: "ca.pem"},
		"CA without TLS":       {URL: "redis://host:6379", CAFile: "ca.pem"},
		"CA that is away":      {URL: "rediss://host:6379", CAFile: filepath.Join(t.TempDir(), "none.pem")},
		"CA of other kind":     {URL: "rediss://host:6379", CAFile: "access_test.go"},
	} {
		if _, err := view.Open(c); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTLSAndUser: a view connects over TLS, as a user with a password. It does not connect if the password is wrong,
// the certificate authority is not configured, or the URL does not request TLS.
func TestTLSAndUser(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	server := miniredis.NewMiniRedis()
	server.RequireUserAuth("svc", "secret")
	if err := server.StartTLS(&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		url, ca string
		ok      bool
	}{
		"right":          {"rediss://svc:secret@" + server.Addr(), file, true},
		"wrong password": {"rediss://svc:wrong@" + server.Addr(), file, false},
		"no authority":   {"rediss://svc:secret@" + server.Addr(), "", false},
		"no TLS":         {"redis://svc:secret@" + server.Addr(), "", false},

		"cluster":               {"rediss://svc:secret@" + server.Addr() + "?cluster=true", file, true},
		"cluster, no authority": {"rediss://svc:secret@" + server.Addr() + "?cluster=true", "", false},
	} {
		cfg := config(c.url)
		cfg.CAFile = c.ca
		b, err := view.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Ping(t.Context()); c.ok != (err == nil) || !c.ok && !errors.Is(err, view.ErrAway) {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
