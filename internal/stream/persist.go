package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const persistEvery = 250 * time.Millisecond

// persist calls try until it succeeds, until trying again cannot help, or until ctx
// ends. Brokers that start answer for a while that they do not know a topic, or not at all.
func (c *Cluster) persist(ctx context.Context, what string, try func() error) error {
	for said := ""; ; {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w: %w", what, ctx.Err(), err)
		}
		if !passing(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err.Error() != said {
			said = err.Error()
			c.log.WarnContext(ctx, "kafka cannot do it yet", "what", what, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(persistEvery):
		}
	}
}

// passing says that an error may go away by itself: of the network, and what a
// broker answers while it starts, elects or is short of other brokers.
func passing(err error) bool {
	if answer, is := errors.AsType[*kerr.Error](err); is {
		return answer.Retriable || errors.Is(answer, kerr.InvalidReplicationFactor)
	}
	if errors.Is(err, kgo.ErrClientClosed) {
		return false
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	return !errors.As(err, &unknown) && !errors.As(err, &name) && !errors.As(err, &invalid) && !errors.As(err, &record)
}
