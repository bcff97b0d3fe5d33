package view

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// complainEvery is the interval between log lines about the same failure.
const complainEvery = 5 * time.Minute

// errCluster means that Redis is a cluster, but the URL does not say so.
//
//nolint:staticcheck // begins with a name
var errCluster = errors.New("Redis is a cluster: add cluster=true to the URL in --redis, as in redis://host:6379?cluster=true")

// complain logs a failure that an operator must fix, with the option to check. It ignores responses that have nothing
// to do with the configuration.
func (c *connection) complain(ctx context.Context, err error) {
	message, which, option := "redis unavailable", "", "--redis"
	answer, untrusted := redis.Error(nil), (*tls.CertificateVerificationError)(nil)
	switch {
	case errors.Is(err, errCluster):
		message = "redis is a cluster, but --redis does not say so"
	case redis.HasErrorPrefix(err, "WRONGPASS"), redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "NOPERM"):
		message = "redis refuses a command; check user, password and rights (docs/configuration.md#rights)"
		which = err.Error() // the error names the refused command
	case errors.As(err, &answer), errors.Is(err, redis.ErrPoolTimeout):
		return
	case errors.As(err, &untrusted):
		option = "--redis, --redis-ca"
	}
	now := c.now()
	if last, known := c.complained.Load(message + which); known {
		if now.Sub(last.(time.Time)).Abs() < complainEvery { //nolint:errcheck // only times are stored
			return
		}
	}
	c.complained.Store(message+which, now)
	c.log.WarnContext(ctx, message, "option", option, "error", err) //nolint:sloglint // one of three constant messages
}
