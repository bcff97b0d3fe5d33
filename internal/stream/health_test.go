package stream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestPassing checks isTransient: a process retries after a transient error, and exits after an error that only a
// change of its options can fix.
func TestPassing(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		want bool
	}{
		"a network error":           {errors.New("connection refused"), true},
		"no leader":                 {kerr.NotLeaderForPartition, true},
		"a transaction is ending":   {kerr.ConcurrentTransactions, true},
		"a right is missing":        {kerr.TopicAuthorizationFailed, false},
		"an expired certificate":    {x509.CertificateInvalidError{Reason: x509.Expired}, true},
		"an unsuitable certificate": {x509.CertificateInvalidError{Reason: x509.IncompatibleUsage}, false},
		"another host":              {x509.HostnameError{Certificate: &x509.Certificate{}, Host: "kafka"}, false},
		"an unknown authority":      {x509.UnknownAuthorityError{}, false},
		"no TLS":                    {tls.RecordHeaderError{}, false},
	} {
		if got := isTransient(fmt.Errorf("dial: %w", row.err)); got != row.want {
			t.Errorf("%s: passing %v, want %v", name, got, row.want)
		}
	}
}
