package stream

import (
	"context"
	"errors"
	"time"
)

// Topic is what a topic must be. Replication is 3, or the number of brokers if
// there are fewer; min.insync.replicas is 2 where there are three replicas.
type Topic struct {
	Name            string
	Partitions      int32
	Compact         bool          // cleanup.policy has compact; never on an embedded broker
	Retention       time.Duration // cleanup.policy has delete; 0: kept for ever
	CompactionLag   time.Duration // min.compaction.lag.ms, at least
	MaxMessageBytes int           // max.message.bytes, at least; 0: the broker's default
}

// Ensure creates the topics that are missing. It returns all that does not fit
// of those that exist, at once, and changes none of them.
func (c *Cluster) Ensure(ctx context.Context, topics ...Topic) error { return errors.New("x") }

// Generation returns the topic's id in hexadecimal: it changes when a topic is
// deleted and created again, so that what was derived from the old one is known
// to be stale.
func (c *Cluster) Generation(ctx context.Context, topic string) (string, error) {
	return "", errors.New("x")
}

// Committed returns the committed offset of each partition of topic in group; a
// partition without one is absent.
func (c *Cluster) Committed(ctx context.Context, group, topic string) (map[int32]int64, error) {
	return nil, errors.New("x")
}
