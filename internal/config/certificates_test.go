package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestExpiry: a chain expires with the certificate that expires first, and a list of authorities with the one that
// expires last.
func TestExpiry(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	base := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	made := func(authority bool, days int) []byte {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: base.AddDate(0, 0, days),
			IsCA: authority, BasicConstraintsValid: true,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	for name, tt := range map[string]struct {
		content [][]byte
		days    int // -1: an error
	}{
		"a certificate":                    {[][]byte{made(false, 10)}, 10},
		"a chain":                          {[][]byte{made(false, 10), made(true, 90)}, 10},
		"a chain whose authority is older": {[][]byte{made(false, 10), made(true, 5)}, 5},
		"authorities":                      {[][]byte{made(true, 5), made(true, 90), made(true, 10)}, 90},
		"no certificate":                   {[][]byte{[]byte("text")}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.pem")
			var content []byte
			for _, one := range tt.content {
				content = append(content, one...)
			}
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Expiry(file)
			if (err != nil) != (tt.days < 0) || err == nil && !got.Equal(base.AddDate(0, 0, tt.days)) {
				t.Errorf("expires %v, %v", got, err)
			}
		})
	}
	if _, err := Expiry(filepath.Join(t.TempDir(), "none.pem")); err == nil {
		t.Error("a missing file expires")
	}
	c := &Config{KafkaTLSCert: "a.pem"}
	if all := c.Certificates(); len(all) != 1 || all["kafka-tls-cert"] != "a.pem" {
		t.Errorf("certificates %v", all)
	}
}
