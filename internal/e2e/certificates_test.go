package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// authority signs the certificates of a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newAuthority creates an authority that is valid for a day.
func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate, key}, err
}

// sign creates a key and signs a certificate for it. leaf is a template that contains only the validity period and
// the purpose; sign adds the other fields.
func (a *authority) sign(name string, leaf x509.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf.SerialNumber, leaf.Subject, leaf.KeyUsage = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}, x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, &leaf, a.certificate, &key.PublicKey, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// server returns a server certificate for 127.0.0.1 and its new key, both as PEM.
func (a *authority) server(from, until time.Time) (certificate, key []byte, err error) {
	pair, err := a.sign("test server", x509.Certificate{
		NotBefore: from, NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, nil, err
	}
	return encodePair(pair)
}

// encodePair returns a certificate and its key as PEM.
func encodePair(pair tls.Certificate) (certificate, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	return encodeCertificate(pair.Certificate[0]), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// keystore returns a new key and its server certificate for 127.0.0.1, in the format that Kafka reads.
func (a *authority) keystore(until time.Time) ([]byte, error) {
	certificate, key, err := a.server(until.Add(-48*time.Hour), until)
	return slices.Concat(key, certificate, encodeCertificate(a.certificate.Raw)), err
}

// trusted returns the TLS configuration of a client that trusts the authority.
func (a *authority) trusted(own ...tls.Certificate) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	return &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", Certificates: own, MinVersion: tls.VersionTLS12}
}

// bridge creates the client certificate of a sender. It also writes the certificate and the key to files for svc
// send.
func (a *authority) bridge(t *testing.T, name string) (pair tls.Certificate, certFile, keyFile string) {
	t.Helper()
	pair, err := a.sign(name, x509.Certificate{
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	must(t, err)
	certificate, key, err := encodePair(pair)
	must(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, os.WriteFile(certFile, certificate, 0o600))
	must(t, os.WriteFile(keyFile, key, 0o600))
	return pair, certFile, keyFile
}

// makeCertificates creates an authority and a server certificate for 127.0.0.1, and writes both certificates and the
// server's key to a folder. It returns the folder and the authority.
func makeCertificates(t *testing.T) (dir string, signer *authority) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	signer, err := newAuthority()
	must(t, err)
	cert, private, err := signer.server(time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	must(t, err)
	ca := encodeCertificate(signer.certificate.Raw)
	for name, content := range map[string][]byte{
		"ca.pem": ca, "cert.pem": cert, "key.pem": private, "keystore.pem": slices.Concat(private, cert, ca),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	return dir, signer
}
