package doctor

import (
	"errors"
	"testing"
)

// TestRemedyOfConnection: a host name that contains "tls" does not make an error one of TLS.
func TestRemedyOfConnection(t *testing.T) {
	for text, want := range map[string]string{
		"dial tcp: lookup redis-tls: no such host":                                  "check --redis, and the network to it",
		"connect to kafka-tls:9093: connection refused":                             "check --redis, and the network to it",
		"connect to kafka:9093: tls: first record does not look like a TLS":         "check --redis-ca",
		"tls: failed to verify certificate: x509: certificate signed by unknown":    "check --redis-ca",
		"the view is unreachable: remote error: tls: unknown certificate authority": "check --redis-ca",
	} {
		if got := remedyOfConnection(errors.New(text), "--redis", "--redis-ca"); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
