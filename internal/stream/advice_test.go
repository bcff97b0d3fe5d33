package stream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestAdvice: an error about authentication, a permission or a certificate names the option to check.
func TestAdvice(t *testing.T) {
	for want, err := range map[string]error{
		"; check --kafka-sasl, --kafka-sasl-user, --kafka-sasl-password":                      kerr.SaslAuthenticationFailed,
		"; grant the rights in docs/configuration.md#rights to the user of --kafka-sasl-user": kerr.TransactionalIDAuthorizationFailed,
		"; check --kafka-tls, --kafka-tls-ca":                                                 &tls.CertificateVerificationError{Err: errors.New("expired")},
	} {
		got := advised(fmt.Errorf("connect: %w", err))
		if !strings.HasSuffix(got.Error(), want) || !errors.Is(got, err) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	for _, err := range []error{nil, kerr.NotLeaderForPartition, errFetch} {
		if got := advised(err); got != err { //nolint:errorlint // unchanged
			t.Errorf("%v became %v", err, got)
		}
	}
}
