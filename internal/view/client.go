package view

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"svc/internal/authorities"
)

const (
	poolSize    = 64 // connections, each with one round trip at a time; enough for 50,000 reads per second
	poolMinIdle = 2
)

// connect sets the nodes of the connection: one Redis or, depending on the parameters of the URL, the primary that
// Sentinel names, or the primaries of a cluster. Errors do not quote the URL, because it may contain a password.
func (c *connection) connect(cfg *Config) error {
	address, err := url.Parse(cfg.URL)
	if err != nil {
		return errURL
	}
	switch query := address.Query(); {
	case query.Has("cluster"):
		return c.connectCluster(cfg, address)
	case query.Has("addr") && !query.Has("master_name"):
		return fmt.Errorf("the URL of Redis has several hosts, but neither master_name nor cluster=true: %w", errURL)
	case query.Has("master_name"):
		return c.connectSentinel(cfg)
	}
	options, err := redis.ParseURL(cfg.URL)
	if err != nil {
		return errURL
	}
	if err := cfg.secure(options.TLSConfig); err != nil {
		return err
	}
	options.DialTimeout, options.ReadTimeout = cfg.timeouts()
	options.WriteTimeout, options.PoolTimeout = options.ReadTimeout, options.ReadTimeout
	options.MaxRetries = -1   // readers want the error immediately; writers retry in their own loop
	options.DialerRetries = 1 // for the same reason as MaxRetries
	options.PoolSize, options.MinIdleConns = poolSize, poolMinIdle
	options.DisableIdentity = true
	options.ContextTimeoutEnabled = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	c.only = &node{now: c.now}
	options.OnConnect = c.meet(c.only)
	c.only.redis = redis.NewClient(options)
	c.client = c.only.redis
	return nil
}

// meet returns the function that is called with each new connection to a node, including connections to Sentinel. The
// function records which Redis process responds.
func (c *connection) meet(n *node) func(context.Context, *redis.Conn) error {
	return func(ctx context.Context, conn *redis.Conn) error { return c.recordProcess(ctx, conn, n) }
}

// timeouts returns the timeout for connecting, and the timeout of a call.
func (cfg *Config) timeouts() (dial, call time.Duration) {
	if cfg.Patient {
		return patientTimeout, patientTimeout
	}
	return dialTimeout, callTimeout
}

// connectSentinel creates a client that asks the Sentinels for the primary before each dial, and closes its
// connections to the old primary when the Sentinels announce a new one.
func (c *connection) connectSentinel(cfg *Config) error {
	options, err := redis.ParseFailoverURL(cfg.URL)
	if err != nil || options.MasterName == "" {
		return errURL
	}
	if err := cfg.secure(options.TLSConfig); err != nil {
		return err
	}
	options.DialTimeout, options.ReadTimeout = cfg.timeouts()
	options.WriteTimeout, options.PoolTimeout = options.ReadTimeout, options.ReadTimeout
	options.MaxRetries, options.DialerRetries = -1, 1 // same as for a single Redis
	options.PoolSize, options.MinIdleConns = poolSize, poolMinIdle
	options.DisableIdentity = true
	options.ContextTimeoutEnabled = true
	options.ReplicaOnly = false // a replica may lag
	c.only = &node{now: c.now}
	options.OnConnect = c.meet(c.only)
	c.only.redis = redis.NewFailoverClient(options)
	c.client = c.only.redis
	return nil
}

// connectCluster creates a client that knows which node of a cluster has which keys. Replicas are not read, because
// they may lag.
func (c *connection) connectCluster(cfg *Config, address *url.URL) error {
	query := address.Query()
	if query.Get("cluster") != "true" || query.Has("master_name") || strings.Trim(address.Path, "/0") != "" {
		return errURL
	}
	query.Del("cluster")
	seeds := *address
	seeds.RawQuery, seeds.Path = query.Encode(), ""
	options, err := redis.ParseClusterURL(seeds.String())
	if err != nil {
		return errURL
	}
	if err := cfg.secure(options.TLSConfig); err != nil {
		return err
	}
	options.DialTimeout, options.ReadTimeout = cfg.timeouts()
	options.WriteTimeout, options.PoolTimeout = options.ReadTimeout, options.ReadTimeout
	options.MaxRetries, options.DialerRetries = -1, 1 // same as for a single Redis
	options.PoolSize, options.MinIdleConns = poolSize, poolMinIdle
	options.DisableIdentity = true
	options.ContextTimeoutEnabled = true
	options.ClusterStateReloadInterval = slotsEvery
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.NewClient = c.addNode
	c.unknown = &node{now: c.now, redis: redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		return nil, ErrAway
	}})}
	c.cluster = redis.NewClusterClient(options)
	c.client = c.cluster
	return nil
}

// addNode returns a client for a node that has joined the cluster, and forgets the nodes whose clients have been closed
// since they left the cluster.
func (c *connection) addNode(options *redis.Options) *redis.Client {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	c.nodes.Range(func(client, _ any) bool {
		if left := client.(*redis.Client); errors.Is(left.Ping(over).Err(), redis.ErrClosed) { //nolint:errcheck // only clients are keys
			c.nodes.Delete(left)
		}
		return true
	})
	n := &node{now: c.now}
	options.OnConnect = c.meet(n)
	n.redis = redis.NewClient(options)
	c.nodes.Store(n.redis, n)
	return n.redis
}

// slotsEvery is the interval at which the slot map of a cluster is reloaded, even if no call has failed.
const slotsEvery = 10 * time.Second

var errURL = errors.New("the URL of Redis must look like redis://user:password@host:6379/0 or rediss://…, " +
	"with Sentinel redis://sentinel-1:26379/0?master_name=NAME&addr=sentinel-2:26379&username=USER&password=PASSWORD, " +
	"with Redis Cluster redis://user:password@node-1:6379?cluster=true&addr=node-2:6379")

// secure adds the configured certificate authorities to conf, the TLS configuration from the URL. A nil conf means that
// the URL does not request TLS.
func (cfg *Config) secure(conf *tls.Config) error {
	if conf != nil {
		conf.MinVersion = tls.VersionTLS12
		conf.ServerName = "" // that of the first host in the URL; the certificate of each host contains its own name
	}
	if cfg.CAFile == "" {
		return nil
	}
	if conf == nil {
		return errors.New("a certificate authority for Redis needs a URL that starts with rediss://")
	}
	roots, err := authorities.Read(cfg.CAFile)
	if err != nil {
		return fmt.Errorf("certificate authority for Redis (%s): %w", cfg.CAFile, err)
	}
	conf.RootCAs = roots
	return nil
}
