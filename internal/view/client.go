package view

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"svc/internal/authorities"
)

const (
	poolSize    = 64 // connections, each with one round trip at a time; enough for 50,000 reads per second
	poolMinIdle = 2
)

// newClient returns a client of one Redis or, if the URL has the parameter master_name, of the primary that Sentinel
// names. met is called with each new connection, including connections to Sentinel. Errors do not quote the URL,
// because it may contain a password.
func newClient(cfg *Config, met func(context.Context, *redis.Conn) error) (*redis.Client, error) {
	dial, call := dialTimeout, callTimeout
	if cfg.Patient {
		dial, call = patientTimeout, patientTimeout
	}
	address, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		return nil, errURL
	case address.Query().Has("master_name"):
		return newSentinelClient(cfg, met, dial, call)
	case address.Query().Has("addr"):
		return nil, fmt.Errorf("the URL of Redis has several hosts, but no master_name: %w", errCluster)
	}
	options, err := redis.ParseURL(cfg.URL)
	if err != nil {
		return nil, errURL
	}
	if err := cfg.secure(options.TLSConfig); err != nil {
		return nil, err
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = dial, call, call, call
	options.MaxRetries = -1   // readers want the error immediately; writers retry in their own loop
	options.DialerRetries = 1 // for the same reason as MaxRetries
	options.PoolSize, options.MinIdleConns = poolSize, poolMinIdle
	options.DisableIdentity = true
	options.ContextTimeoutEnabled = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.OnConnect = met
	return redis.NewClient(options), nil
}

// newSentinelClient returns a client that asks the Sentinels for the primary before each dial, and closes its
// connections to the old primary when the Sentinels announce a new one.
func newSentinelClient(cfg *Config, met func(context.Context, *redis.Conn) error, dial, call time.Duration) (*redis.Client, error) {
	options, err := redis.ParseFailoverURL(cfg.URL)
	if err != nil || options.MasterName == "" {
		return nil, errURL
	}
	if options.TLSConfig != nil {
		options.TLSConfig.ServerName = "" // each host has a certificate with the host's name
	}
	if err := cfg.secure(options.TLSConfig); err != nil {
		return nil, err
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = dial, call, call, call
	options.MaxRetries, options.DialerRetries = -1, 1 // same as for a single Redis
	options.PoolSize, options.MinIdleConns = poolSize, poolMinIdle
	options.DisableIdentity = true
	options.ContextTimeoutEnabled = true
	options.ReplicaOnly = false // a replica may lag
	options.OnConnect = met
	return redis.NewFailoverClient(options), nil
}

var errURL = errors.New("the URL of Redis must look like redis://user:password@host:6379/0 or rediss://…, " +
	"with Sentinel redis://sentinel-1:26379/0?master_name=NAME&addr=sentinel-2:26379&username=USER&password=PASSWORD")

// secure adds the configured certificate authorities to conf, the TLS configuration from the URL. A nil conf means that
// the URL does not request TLS.
func (cfg *Config) secure(conf *tls.Config) error {
	if conf != nil {
		conf.MinVersion = tls.VersionTLS12
	}
	if cfg.CAFile == "" {
		return nil
	}
	if conf == nil {
		return errors.New("a certificate authority for Redis needs a URL that starts with rediss://")
	}
	roots, err := authorities.Read(cfg.CAFile)
	if err != nil {
		return fmt.Errorf("certificate authority of Redis, %s: %w", cfg.CAFile, err)
	}
	conf.RootCAs = roots
	return nil
}
