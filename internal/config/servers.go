package config

import (
	"log/slog"
	"net"
	"net/url"

	"svc/internal/stream"
)

// Cluster returns the options of the client of Kafka.
func (c *Config) Cluster(log *slog.Logger) stream.Options {
	return stream.Options{
		Brokers: c.Kafka, ClientID: "svc", Log: log, Replicas: c.Replicas,
		TLS: c.KafkaTLS, CAFile: c.KafkaTLSCA, CertFile: c.KafkaTLSCert, KeyFile: c.KafkaTLSKey,
		Mechanism: c.KafkaSASL, User: c.KafkaUser, Password: c.KafkaPassword,
		Full: c.KafkaFull,
	}
}

// ServesLoopback reports whether the pages are for browsers of this machine, without TLS. It
// looks at --public-url, and without one at the address of the listener.
func (c *Config) ServesLoopback() bool {
	host, _, _ := net.SplitHostPort(c.Listen) //nolint:errcheck // it was checked with the configuration
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		if u.Scheme == "https" {
			return false
		}
		host = u.Hostname()
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
