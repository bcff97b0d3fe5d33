package stream

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// optionsOf returns the options that an operator must check to resolve an error.
func optionsOf(err error) string {
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case isAny(err, kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState):
		return "--kafka-sasl, --kafka-sasl-user, --kafka-sasl-password"
	case denied(err):
		return "--kafka-sasl-user"
	case errors.As(err, &untrusted), errors.As(err, &plain):
		return "--kafka-tls, --kafka-tls-ca"
	}
	return "--kafka"
}

// denied reports whether an error means that the Kafka user lacks a permission.
func denied(err error) bool {
	return isAny(err, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed,
		kerr.ClusterAuthorizationFailed)
}

func isAny(err error, all ...error) bool {
	for _, one := range all {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// advised adds advice for the operator to an authentication, authorization or TLS error. It returns other errors
// unchanged.
func advised(err error) error {
	switch options := optionsOf(err); {
	case err == nil:
		return nil
	case denied(err):
		return fmt.Errorf("%w; grant the rights in docs/configuration.md#rights to the user of %s", err, options)
	case options != "--kafka":
		return fmt.Errorf("%w; check %s", err, options)
	}
	return err
}
