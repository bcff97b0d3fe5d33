package stream

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is the required configuration of a topic. [Options] sets the number of replicas; with 3 or more,
// min.insync.replicas is 2.
type Topic struct {
	Name            string
	Partitions      int32
	Compact         bool          // whether cleanup.policy includes compact, except on an embedded broker
	Retention       time.Duration // minimum retention, with delete in cleanup.policy; 0: unlimited
	CompactionLag   time.Duration // minimum min.compaction.lag.ms
	MaxMessageBytes int           // minimum max.message.bytes; 0: the largest batch that svc writes to a topic by default
}

// leastMessageBytes returns the size of the largest batch that is written to the topic.
func (t *Topic) leastMessageBytes() int64 { return int64(max(t.MaxMessageBytes, defaultRecordBytes)) }

// Ensure creates missing topics and waits until every broker that responds knows all topics. It never changes an
// existing topic. The error names every setting that does not match.
func (c *Cluster) Ensure(ctx context.Context, topics ...Topic) error {
	names := make([]string, 0, len(topics))
	for _, t := range topics {
		names = append(names, t.Name)
		if t.MaxMessageBytes > 0 {
			c.limits.Store(t.Name, int32(min(t.MaxMessageBytes, maxRecordBytes)))
		}
	}
	var misfits error
	admin := topicAdmin{Cluster: c, began: time.Now()}
	failed := c.persist(ctx, "topics not verified yet", func() error {
		have, err := c.admin.ListTopics(ctx, names...)
		if err != nil {
			return fmt.Errorf("list topics: %w", err)
		}
		for _, t := range topics {
			if err = admin.createMissing(ctx, t, have[t.Name]); err != nil {
				return err
			}
		}
		if have, err = admin.awaitSettled(ctx, names); err != nil {
			return err
		}
		misfits, err = admin.checkSettings(ctx, topics, have)
		return err
	})
	return errors.Join(failed, misfits)
}

// topicAdmin creates topics and checks them.
type topicAdmin struct {
	*Cluster
	began time.Time
}

// createMissing creates the topic unless the cluster has it. If another role that starts at the same time creates the
// topic first, that topic is checked like any existing topic.
func (c topicAdmin) createMissing(ctx context.Context, t Topic, have kadm.TopicDetail) error {
	if have.Topic == t.Name && !errors.Is(have.Err, kerr.UnknownTopicOrPartition) {
		if have.Err != nil {
			return fmt.Errorf("describe topic %s: %w", t.Name, have.Err)
		}
		return nil
	}
	if err := c.enoughBrokers(ctx); err != nil {
		return err
	}
	if err := c.create(ctx, t); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %s: %w", t.Name, err)
	}
	return nil
}

// errFewBrokers means that topics would get too few replicas.
var errFewBrokers = errors.New("fewer brokers than replicas")

// brokersWithin is how long a new topic waits for as many brokers as the options list, at most maxReplicas.
const brokersWithin = 10 * time.Minute

// enoughBrokers returns an error if fewer brokers are known than a new topic needs for its replicas. When brokers
// start together, the first one responds before it knows the others. If the number of replicas is not set, the topic
// waits for brokersWithin and then gets a replica on each known broker, because an address may be out of date.
func (c topicAdmin) enoughBrokers(ctx context.Context) error {
	meta, err := c.admin.BrokerMetadata(ctx)
	if err != nil {
		return fmt.Errorf("list brokers: %w", err)
	}
	c.brokers = len(meta.Brokers)
	switch {
	case c.brokers >= c.wanted:
	case c.exact || time.Since(c.began) < brokersWithin:
		return fmt.Errorf("%w: %d brokers are known, but topics are created with %d replicas", errFewBrokers, c.brokers, c.wanted)
	default:
		c.log.WarnContext(ctx, "topic gets fewer replicas than brokers are configured", "brokers", c.brokers, "configured", c.wanted)
	}
	return nil
}

// maxReplicas is the default number of replicas of a topic.
const maxReplicas = 3

// replicas returns the number of replicas of a new topic, and the minimum for an existing topic.
func (c topicAdmin) replicas() int16 {
	if c.exact {
		return int16(c.wanted) //nolint:gosec // a small number
	}
	return int16(min(c.brokers, maxReplicas)) //nolint:gosec // 1 to 3
}

func (c topicAdmin) create(ctx context.Context, t Topic) error {
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
	conf["max.message.bytes"] = text(t.leastMessageBytes())
	if c.replicas() >= 3 {
		conf["min.insync.replicas"] = text(2)
	}
	_, err := c.admin.CreateTopic(ctx, t.Partitions, c.replicas(), conf, t.Name)
	return err
}

func text(n int64) *string {
	s := strconv.FormatInt(n, 10)
	return &s
}

// awaitSettled waits until every responding broker knows all topics and their leaders. A broker learns of a topic that
// another broker has created only after a delay, and until then responds that the topic does not exist.
func (c topicAdmin) awaitSettled(ctx context.Context, names []string) (have kadm.TopicDetails, err error) {
	for {
		have, err = c.admin.ListTopics(ctx, names...)
		if err == nil {
			if err = checkComplete(have, names); err == nil {
				err = c.checkEverywhere(ctx, names)
			}
		}
		if err == nil || !isTransient(err) {
			return have, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for topics: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// checkEverywhere queries each broker for the topics. It skips a broker that does not respond, because such a broker
// catches up with the others before it serves a topic again.
func (c topicAdmin) checkEverywhere(ctx context.Context, names []string) error {
	brokers, err := c.admin.ListBrokers(ctx)
	if err != nil {
		return fmt.Errorf("list brokers: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, brokerWithin)
	defer cancel()
	return Parallel(len(brokers), func(i int) error {
		req := kmsg.NewPtrMetadataRequest()
		for _, name := range names {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = &name
			req.Topics = append(req.Topics, t)
		}
		resp, err := req.RequestWith(within, c.client.Broker(int(brokers[i].NodeID)))
		if err != nil {
			return nil //nolint:nilerr // a broker that does not respond is skipped
		}
		for _, t := range resp.Topics {
			err := kerr.ErrorForCode(t.ErrorCode)
			for _, p := range t.Partitions {
				err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
			}
			if err != nil {
				return fmt.Errorf("topic %s at broker %d: %w", deref(t.Topic), brokers[i].NodeID, err)
			}
		}
		return nil
	})
}

// brokerWithin is the timeout of the query to each broker.
const brokerWithin = 2 * time.Second

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// checkComplete returns an error for the first topic that is missing or has a partition without a leader.
func checkComplete(have kadm.TopicDetails, names []string) error {
	for _, name := range names {
		if err := have[name].Err; err != nil {
			return fmt.Errorf("topic %s: %w", name, err)
		}
		if !led(have[name]) {
			return fmt.Errorf("topic %s: %w", name, kerr.LeaderNotAvailable)
		}
	}
	return nil
}

func led(t kadm.TopicDetail) bool {
	for _, p := range t.Partitions {
		if p.Leader < 0 {
			return false
		}
	}
	return len(t.Partitions) > 0
}

// checkSettings returns an error for every topic setting that does not match.
func (c topicAdmin) checkSettings(ctx context.Context, topics []Topic, have kadm.TopicDetails) (misfits, err error) {
	names := make([]string, 0, len(topics))
	for _, t := range topics {
		names = append(names, t.Name)
	}
	described, err := c.admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	var faults []error
	for _, t := range topics {
		rc, err := described.On(t.Name, nil)
		if err = errors.Join(err, rc.Err); err != nil {
			return nil, fmt.Errorf("describe topic %s: %w", t.Name, err)
		}
		conf := map[string]string{}
		for _, cf := range rc.Configs {
			conf[cf.Key] = cf.MaybeValue()
		}
		faults = append(faults, c.misfits(t, have[t.Name], conf)...)
	}
	return errors.Join(faults...), nil
}

// misfits returns an error for each setting of one topic that does not match.
func (c topicAdmin) misfits(t Topic, have kadm.TopicDetail, conf map[string]string) []error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("topic %s: "+format, append([]any{t.Name}, args...)...))
	}
	if n := len(have.Partitions); n != int(t.Partitions) {
		fault("has %d partitions, must have %d", n, t.Partitions)
	}
	if n := have.Partitions.NumReplicas(); n < int(c.replicas()) {
		fault("replication factor is %d, must be at least %d", n, c.replicas())
	} else if n >= 3 && number(conf, "min.insync.replicas") < 2 {
		fault("min.insync.replicas is %s, must be at least 2", conf["min.insync.replicas"])
	}
	compacts, deletes := strings.Contains(conf["cleanup.policy"], "compact"), strings.Contains(conf["cleanup.policy"], "delete")
	kept := number(conf, "retention.ms")
	switch {
	case compacts && (!t.Compact || c.embedded):
		fault("cleanup.policy is %s, must be delete: records would be lost", conf["cleanup.policy"])
	case t.Compact && !compacts && !c.embedded:
		fault("cleanup.policy is %s, must be compact: it would grow without limit", conf["cleanup.policy"])
	case deletes && t.Retention == 0 && kept >= 0:
		fault("retention.ms is %d, must be -1: records would be lost", kept)
	case deletes && kept >= 0 && kept < t.Retention.Milliseconds():
		fault("retention.ms is %d, must be at least %d", kept, t.Retention.Milliseconds())
	}
	if deletes && number(conf, "retention.bytes") >= 0 {
		fault("retention.bytes is %s, must be -1: records would be lost", conf["retention.bytes"])
	}
	if lag := number(conf, "min.compaction.lag.ms"); compacts && lag < t.CompactionLag.Milliseconds() {
		fault("min.compaction.lag.ms is %d, must be at least %d", lag, t.CompactionLag.Milliseconds())
	}
	if size := number(conf, "max.message.bytes"); size >= 0 && size < t.leastMessageBytes() {
		fault("max.message.bytes is %d, must be at least %d", size, t.leastMessageBytes())
	}
	return faults
}

// number returns an integer setting, or -1 if it is missing or not an integer.
func number(conf map[string]string, key string) int64 {
	n, err := strconv.ParseInt(conf[key], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Generation returns the id of a topic in hexadecimal. A topic that is deleted and created again has a different id, so
// data derived from the old topic is known to be stale.
func (c *Cluster) Generation(ctx context.Context, topic string) (string, error) {
	have, err := c.topicDetail(ctx, topic)
	if err != nil {
		return "", err
	}
	id := have.ID
	return hex.EncodeToString(id[:]), nil
}

// Partitions returns the number of partitions of topic.
func (c *Cluster) Partitions(ctx context.Context, topic string) (int32, error) {
	have, err := c.topicDetail(ctx, topic)
	if err != nil {
		return 0, err
	}
	return int32(len(have.Partitions)), nil //nolint:gosec // Kafka's number of partitions is an int32
}

// topicDetail describes a topic, which must exist.
func (c *Cluster) topicDetail(ctx context.Context, topic string) (have kadm.TopicDetail, err error) {
	err = c.persist(ctx, "describe topic "+topic, func() error {
		all, fault := c.admin.ListTopics(ctx, topic)
		have = all[topic]
		return errors.Join(fault, all.Error())
	})
	return have, err
}

// advise logs which broker settings an operator should change before transactions run. If the user may not read these
// settings, advise logs nothing.
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
			c.log.WarnContext(ctx, "transactions are not fenced: set the cluster's feature transaction.version to 2, "+
				"or a torn transaction may be committed twice", "transaction_version", level)
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
				c.log.InfoContext(ctx, "set add.partitions.to.txn.retry.backoff.ms=1 on the brokers for faster commits", "now_ms", 20)
			}
		}
	}
}
