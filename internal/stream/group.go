package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// membership contains what the two kinds of group members have in common: the members that [Cluster.Process] runs,
// which write in transactions, and the members that [Cluster.Share] runs.
type membership struct {
	cluster *Cluster
	group   string
	topic   string
	id      string // id of the static member; for Process also the transactional id
	claim   *Claim
	leave   func() bool // see Config
	log     *slog.Logger
}

const (
	// sessionTimeout is how long partitions remain assigned to a dead or frozen process. Its value is the minimum that
	// brokers accept by default.
	sessionTimeout = 6 * time.Second
	// transactionTimeout is how long a transaction may remain open. At 20 s, a transaction survives the loss of a
	// broker (whose default session timeout is 9 s) and the move of its coordinators; at 10 s, all members had to
	// rejoin and restore their partitions. Members that die are fenced, so no other member waits for this timeout.
	transactionTimeout = 20 * time.Second
	// heartbeatEvery is the maximum delay until a member notices a rebalance of the group.
	heartbeatEvery = 500 * time.Millisecond
	// requestRetries is so large that only retryTimeout limits the retries of a request. With the default of 20 retries,
	// a request failed after 4 s, because the pauses between retries are short. If the coordinator of a transaction had
	// failed, the session then ended and all partitions were restored, although another broker was about to take over.
	requestRetries = 1000
)

// retryTimeout returns how long a member retries a request with the given key.
func retryTimeout(key int16) time.Duration {
	switch kmsg.Key(key) { //nolint:exhaustive // the default case holds for all other requests
	case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat:
		return sessionTimeout // then the partitions belong to another member
	case kmsg.InitProducerID, kmsg.LeaveGroup, kmsg.FindCoordinator:
		return 4 * time.Second // the client sends these requests even while the process stops, and waits for the response
	default:
		return transactionTimeout
	}
}

type offsets = map[string]map[int32]kgo.Offset

// sessions runs one session after another. It returns nil when ctx ends, or an error that a new session cannot fix:
// [ErrFenced] or [errAlarm]. The function session reports whether it has done any work; if it has not, the pause
// before the next session grows.
func (m *membership) sessions(ctx context.Context, session func(context.Context) (worked bool, err error)) error {
	for failures := 0; ctx.Err() == nil; {
		worked, err := false, m.claim.Check(ctx)
		if err == nil {
			worked, err = session(ctx)
			err = m.claim.judge(ctx, err)
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ended on request, so the session's error does not matter
		}
		if errors.Is(err, ErrFenced) || errors.Is(err, errAlarm) {
			return err
		}
		if failures++; worked {
			failures = 0
		}
		m.log.WarnContext(ctx, "group session reopened", "error", advised(err), "failures", failures)
		select {
		case <-ctx.Done():
		case <-time.After(min(20*time.Millisecond<<min(failures, 6), time.Second)):
		}
	}
	return nil
}

// options returns the options of every member, followed by additional ones.
func (m *membership) options(more ...kgo.Opt) []kgo.Opt {
	opts := m.cluster.with(
		kgo.WithHooks(m.cluster.health),
		kgo.ConsumerGroup(m.group),
		kgo.ConsumeTopics(m.topic),
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(heartbeatEvery),
		kgo.RequestRetries(requestRetries),
		kgo.RetryTimeoutFn(retryTimeout),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
	)
	if !m.cluster.embedded {
		opts = append(opts, kgo.InstanceID(m.id))
	}
	return append(opts, more...)
}

// eachNote calls fn with the metadata of every committed offset in a response; "" means none.
func (m *membership) eachNote(resp *kmsg.OffsetFetchResponse, fn func(partition int32, note string)) {
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			if t.Topic != m.topic {
				continue
			}
			for _, p := range t.Partitions {
				fn(p.Partition, deref(p.Metadata))
			}
		}
	}
}

// checkErrors returns an error if one of the errors of a poll must end the session. Other errors are transient, because
// the client rejoins the group and repeats the fetches. Of the transient errors of a partition, checkErrors logs only
// the last, because dozens may accumulate while a transaction is ending.
func (m *membership) checkErrors(ctx context.Context, fetches kgo.Fetches) error {
	type topicPartition struct {
		topic     string
		partition int32
	}
	transient := map[topicPartition]error{}
	for _, e := range fetches.Errors() {
		switch {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled):
		case errors.Is(e.Err, kerr.FencedInstanceID):
			return fmt.Errorf("%w: %s", errThrownOut, m.id)
		case errors.Is(e.Err, kgo.ErrClientClosed):
			return e.Err
		default:
			transient[topicPartition{e.Topic, e.Partition}] = e.Err
		}
	}
	for at, err := range transient {
		m.log.WarnContext(ctx, "kafka reported an error", "error", advised(err), "topic", at.topic, "partition", at.partition)
	}
	return nil
}

// leaveGroup removes the static member from its group if the session has ended because the process stops, and if the
// member should leave. Otherwise, the member keeps its partitions until its session times out.
func (m *membership) leaveGroup(ended context.Context) {
	if m.leave == nil || ended.Err() == nil || m.cluster.embedded || !m.leave() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), 2*time.Second)
	defer cancel()
	err := m.claim.Check(ctx) // the member with that name may belong to a newer process
	if err == nil {
		_, err = m.cluster.admin.LeaveGroup(ctx, kadm.LeaveGroup(m.group).InstanceIDs(m.id))
	}
	if err != nil {
		m.log.WarnContext(ctx, "group not left", "error", err)
	}
}
