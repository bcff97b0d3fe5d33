package stream

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is what a topic must be. It gets 3 replicas, or as many as there are
// brokers if those are fewer, and min.insync.replicas 2 where there are 3.
type Topic struct {
	Name            string
	Partitions      int32
	Compact         bool          // cleanup.policy has compact; never on an embedded broker
	Retention       time.Duration // at least, and cleanup.policy has delete; 0: kept for ever
	CompactionLag   time.Duration // min.compaction.lag.ms, at least
	MaxMessageBytes int           // max.message.bytes, at least; 0: the broker's default
}

// Ensure creates the topics that are missing. It returns all that does not fit
// of those that exist, at once, and changes none of them.
func (c *Cluster) Ensure(ctx context.Context, topics ...Topic) error {
	names := make([]string, 0, len(topics))
	for _, t := range topics {
		names = append(names, t.Name)
		if t.MaxMessageBytes > 0 {
			c.limits.Store(t.Name, int32(min(t.MaxMessageBytes, maxRecordBytes)))
		}
	}
	have, err := c.admin.ListTopics(ctx, names...)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	var existing []Topic
	for _, t := range topics {
		switch err := have[t.Name].Err; {
		case err == nil && have.Has(t.Name):
			existing = append(existing, t)
		case errors.Is(err, kerr.UnknownTopicOrPartition) || !have.Has(t.Name):
			// Several roles may start at the same time.
			if err = c.create(ctx, t); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
				return fmt.Errorf("create topic %s: %w", t.Name, err)
			}
		default:
			return fmt.Errorf("look at topic %s: %w", t.Name, err)
		}
	}
	if err := c.settled(ctx, topics); err != nil {
		return err
	}
	return c.fit(ctx, existing, have)
}

func (c *Cluster) replicas() int16 { return int16(min(c.brokers, 3)) } //nolint:gosec // 1 to 3

func (c *Cluster) create(ctx context.Context, t Topic) error {
	policy, retention := "delete", int64(-1)
	if t.Retention > 0 && (!t.Compact || !c.embedded) {
		retention = t.Retention.Milliseconds()
	}
	conf := map[string]*string{}
	if t.Compact && !c.embedded {
		policy = "compact"
		if t.Retention > 0 {
			policy = "compact,delete"
		}
		conf["min.compaction.lag.ms"] = text(t.CompactionLag.Milliseconds())
	}
	conf["cleanup.policy"], conf["retention.ms"], conf["retention.bytes"] = &policy, text(retention), text(-1)
	if t.MaxMessageBytes > 0 {
		conf["max.message.bytes"] = text(int64(t.MaxMessageBytes))
	}
	if c.replicas() == 3 {
		conf["min.insync.replicas"] = text(2)
	}
	_, err := c.admin.CreateTopic(ctx, t.Partitions, c.replicas(), conf, t.Name)
	return err
}

func text(n int64) *string {
	s := strconv.FormatInt(n, 10)
	return &s
}

// settled waits until every topic is known and led: creation is asynchronous.
func (c *Cluster) settled(ctx context.Context, topics []Topic) error {
	for {
		names := make([]string, 0, len(topics))
		for _, t := range topics {
			names = append(names, t.Name)
		}
		have, err := c.admin.ListTopics(ctx, names...)
		if err == nil && !slices.ContainsFunc(topics, func(t Topic) bool { return !led(have[t.Name]) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for topics: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func led(t kadm.TopicDetail) bool {
	if t.Err != nil || len(t.Partitions) == 0 {
		return false
	}
	for _, p := range t.Partitions {
		if p.Leader < 0 {
			return false
		}
	}
	return true
}

// fit returns all that is wrong with existing topics.
func (c *Cluster) fit(ctx context.Context, topics []Topic, have kadm.TopicDetails) error {
	if len(topics) == 0 {
		return nil
	}
	names := make([]string, 0, len(topics))
	for _, t := range topics {
		names = append(names, t.Name)
	}
	described, err := c.admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return fmt.Errorf("describe topics: %w", err)
	}
	var faults []error
	for _, t := range topics {
		rc, err := described.On(t.Name, nil)
		if err = errors.Join(err, rc.Err); err != nil {
			return fmt.Errorf("describe topic %s: %w", t.Name, err)
		}
		conf := map[string]string{}
		for _, cf := range rc.Configs {
			conf[cf.Key] = cf.MaybeValue()
		}
		faults = append(faults, c.misfits(t, have[t.Name], conf)...)
	}
	return errors.Join(faults...)
}

// misfits lists what one topic has against what it must have.
func (c *Cluster) misfits(t Topic, have kadm.TopicDetail, conf map[string]string) []error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("topic %s: "+format, append([]any{t.Name}, args...)...))
	}
	if n := len(have.Partitions); n != int(t.Partitions) {
		fault("%d partitions, not %d", n, t.Partitions)
	}
	if n := have.Partitions.NumReplicas(); n < int(c.replicas()) {
		fault("replication factor %d, not at least %d", n, c.replicas())
	} else if n >= 3 && number(conf, "min.insync.replicas") < 2 {
		fault("min.insync.replicas %s, not at least 2", conf["min.insync.replicas"])
	}
	compacts, deletes := strings.Contains(conf["cleanup.policy"], "compact"), strings.Contains(conf["cleanup.policy"], "delete")
	kept := number(conf, "retention.ms")
	switch {
	case compacts && (!t.Compact || c.embedded):
		fault("cleanup.policy %s, not delete: records would be lost", conf["cleanup.policy"])
	case t.Compact && !compacts && !c.embedded:
		fault("cleanup.policy %s, not compact: it would grow for ever", conf["cleanup.policy"])
	case deletes && t.Retention == 0 && kept >= 0:
		fault("retention.ms %d, not -1: records would be lost", kept)
	case deletes && kept >= 0 && kept < t.Retention.Milliseconds():
		fault("retention.ms %d, not at least %d", kept, t.Retention.Milliseconds())
	}
	if deletes && number(conf, "retention.bytes") >= 0 {
		fault("retention.bytes %s, not -1: records would be lost", conf["retention.bytes"])
	}
	if lag := number(conf, "min.compaction.lag.ms"); compacts && lag < t.CompactionLag.Milliseconds() {
		fault("min.compaction.lag.ms %d, not at least %d", lag, t.CompactionLag.Milliseconds())
	}
	if size := number(conf, "max.message.bytes"); size >= 0 && size < int64(t.MaxMessageBytes) {
		fault("max.message.bytes %d, not at least %d", size, t.MaxMessageBytes)
	}
	return faults
}

// number reads an integer setting; -1 if it is absent or none.
func number(conf map[string]string, key string) int64 {
	n, err := strconv.ParseInt(conf[key], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Generation returns the topic's id in hexadecimal: it changes when a topic is
// deleted and created again, so that what was derived from the old one is known
// to be stale.
func (c *Cluster) Generation(ctx context.Context, topic string) (string, error) {
	have, err := c.admin.ListTopics(ctx, topic)
	if err = errors.Join(err, have.Error()); err != nil {
		return "", fmt.Errorf("look at topic %s: %w", topic, err)
	}
	id := have[topic].ID
	return hex.EncodeToString(id[:]), nil
}

// Partitions returns the number of partitions of topic.
func (c *Cluster) Partitions(ctx context.Context, topic string) (int32, error) {
	have, err := c.admin.ListTopics(ctx, topic)
	if err = errors.Join(err, have.Error()); err != nil {
		return 0, fmt.Errorf("look at topic %s: %w", topic, err)
	}
	return int32(len(have[topic].Partitions)), nil //nolint:gosec // Kafka counts them so
}

// batchBytes returns how large a batch topic takes.
func (c *Cluster) batchBytes(ctx context.Context, topic string) (int32, error) {
	described, err := c.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("describe topic %s: %w", topic, err)
	}
	rc, err := described.On(topic, nil)
	if err = errors.Join(err, rc.Err); err != nil {
		return 0, fmt.Errorf("describe topic %s: %w", topic, err)
	}
	for _, cf := range rc.Configs {
		if n, err := strconv.Atoi(cf.MaybeValue()); cf.Key == "max.message.bytes" && err == nil {
			return int32(min(n, maxRecordBytes)), nil //nolint:gosec // at most maxRecordBytes
		}
	}
	return 1 << 20, nil
}

// advise says what an operator should know of the brokers before transactions
// run. It is best effort: a cluster that forbids the questions still works.
func (c *Cluster) advise(ctx context.Context) {
	if c.embedded {
		return
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "svc", "1"
	if resp, err := req.RequestWith(ctx, c.client); err == nil {
		level := int16(0)
		for _, f := range resp.FinalizedFeatures {
			if f.Name == "transaction.version" {
				level = f.MaxVersionLevel
			}
		}
		if level < 2 {
			c.log.WarnContext(ctx, "TRANSACTIONS ARE NOT FENCED: set the cluster's feature transaction.version to 2, a torn transaction may otherwise be committed twice", "transaction_version", level)
		}
	}
	meta, err := c.admin.BrokerMetadata(ctx)
	if err != nil {
		return
	}
	described, err := c.admin.DescribeBrokerConfigs(ctx, meta.Controller)
	if err != nil {
		return
	}
	for _, rc := range described {
		for _, cf := range rc.Configs {
			if cf.Key == "add.partitions.to.txn.retry.backoff.ms" && cf.MaybeValue() == "20" {
				c.log.InfoContext(ctx, "add.partitions.to.txn.retry.backoff.ms=1 on the brokers makes commits faster", "now_ms", 20)
			}
		}
	}
}
