// Package authorities reads the certificate authorities that an operator names in a PEM file.
package authorities

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Read returns the certificates in a file.
func Read(file string) (*x509.CertPool, error) { return add(x509.NewCertPool(), file) }

// ReadWithSystem returns the certificate authorities of the system and those in a file. If file is "", it returns
// nil, which crypto/tls interprets as the authorities of the system.
func ReadWithSystem(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // as in crypto/tls, nil means the system's authorities
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificate authorities: %w", err)
	}
	return add(pool, file)
}

func add(pool *x509.CertPool, file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("read certificate authorities: %w", err)
	}
	if !pool.AppendCertsFromPEM(content) {
		return nil, errors.New("the file contains no PEM certificate")
	}
	return pool, nil
}
