package config

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"
)

// Certificates returns the configured PEM files that contain certificates, by the name of the option.
func (c *Config) Certificates() map[string]string {
	files := map[string]string{
		"kafka-tls-ca": c.KafkaTLSCA, "kafka-tls-cert": c.KafkaTLSCert, "redis-ca": c.RedisCA,
		"mllp-tls-cert": c.MLLP.Cert, "mllp-tls-client-ca": c.MLLP.ClientCA, "schema-registry-ca": c.Registry.CAFile,
	}
	for option, file := range files {
		if file == "" {
			delete(files, option)
		}
	}
	return files
}

// Expiry returns when the certificates in a PEM file expire. If the file begins with the certificate of a server or
// client, Expiry returns the earliest expiry of the chain. If it begins with a certificate authority, Expiry returns
// the latest expiry of the authorities.
func Expiry(file string) (expires time.Time, err error) {
	content, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return expires, fmt.Errorf("read certificate: %w", err)
	}
	var chain []*x509.Certificate
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return expires, fmt.Errorf("read certificate: %w", err)
		}
		chain = append(chain, one)
	}
	if len(chain) == 0 {
		return expires, errors.New("the file contains no certificate")
	}
	expires = chain[0].NotAfter
	for _, one := range chain[1:] {
		if chain[0].IsCA == one.NotAfter.After(expires) {
			expires = one.NotAfter
		}
	}
	return expires, nil
}
