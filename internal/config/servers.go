package config

import (
	"log/slog"
	"net"
	"net/url"

	"svc/internal/stream"
	"svc/schemas"
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

// Topic returns the name that a topic has in this installation.
func (c *Config) Topic(t schemas.Topic) string { return c.TopicPrefix + t.Name }

// Topics returns topics as they are created. Co-partitioned topics get the configured number of
// partitions, the others one.
func (c *Config) Topics(wanted ...schemas.Topic) []stream.Topic {
	all := make([]stream.Topic, 0, len(wanted))
	for _, t := range wanted {
		topic := stream.Topic{
			Name: c.Topic(t), Partitions: 1, Compact: t.Compacted, Retention: t.Retention,
			CompactionLag: t.CompactionLag, MaxMessageBytes: t.MaxRecord,
		}
		if t.Copartitioned {
			topic.Partitions = int32(c.Partitions) //nolint:gosec // at most 10,000
		}
		all = append(all, topic)
	}
	return all
}
