package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// member is one session of a group.
type member struct {
	cluster *Cluster
	cfg     ShareConfig
	id      string
	sharer  Sharer
	log     logger
	client  *kgo.Client
	side    *kgo.Client
	worked  bool

	mu        sync.Mutex
	ours      map[int32]bool
	read      map[int32]int64 // partitions assigned at the end of their log and not reported yet, with their positions
	committed map[int32]Mark
	notes     map[int32]string // as fetched with the offsets
}

const (
	shareEvery  = 200 * time.Millisecond // between commits
	shareAtOnce = 1000                   // records of one poll
	sideAtOnce  = 64 << 10               // bytes of the topic beside, or
	sideWait    = 50 * time.Millisecond  // whatever came until then
	shareEnd    = 8 * time.Second        // to give all back at the end
)

func (m *member) run(ctx context.Context) error {
	side, err := kgo.NewClient(m.cluster.with(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// Most records there are the sharer's own: a request for each would cost the
		// broker as much as the work itself.
		kgo.FetchMinBytes(sideAtOnce),
		kgo.FetchMaxWait(sideWait),
	)...)
	if err != nil {
		return fmt.Errorf("open reader: %w", err)
	}
	m.side = side
	defer side.Close()
	opts := m.cluster.with(
		kgo.WithHooks(m.cluster.health),
		kgo.ConsumerGroup(m.cfg.Group),
		kgo.ConsumeTopics(m.cfg.Topic),
		kgo.SessionTimeout(10*time.Second),
		kgo.HeartbeatInterval(2*time.Second),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// A marker follows the last record of a transaction, and is all that an aborted
		// one leaves: without markers a reader cannot know that it read the whole log.
		kgo.KeepControlRecords(),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.DisableAutoCommit(),
		// Records of a poll are handed over before their partition can go: a batch
		// of an earlier ownership would look like a gap in this one.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnOffsetsFetched(m.fetched),
		kgo.AdjustFetchOffsetsFn(m.assigned),
		kgo.OnPartitionsRevoked(func(ctx context.Context, _ *kgo.Client, gone map[string][]int32) { m.give(ctx, gone[m.cfg.Topic]) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.lose(gone[m.cfg.Topic]) }),
	)
	if !m.cluster.embedded {
		opts = append(opts, kgo.InstanceID(m.id))
	}
	if m.client, err = kgo.NewClient(opts...); err != nil {
		return fmt.Errorf("open member: %w", err)
	}
	follow, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); m.beside(follow) }()
	err = m.work(ctx)
	stop()
	<-done
	m.end(ctx)
	return err
}

// end gives back our partitions and leaves.
func (m *member) end(ended context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), shareEnd)
	defer cancel()
	m.give(ctx, m.list())
	m.client.CloseAllowingRebalance()
	if m.cfg.Leave != nil && ended.Err() != nil && !m.cluster.embedded && m.cfg.Leave() && m.cfg.Claim.Check(ctx) == nil {
		leave, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if _, err := m.cluster.admin.LeaveGroup(leave, kadm.LeaveGroup(m.cfg.Group).InstanceIDs(m.id)); err != nil {
			m.log.WarnContext(ctx, "leave group", "error", err)
		}
	}
}

// work polls until the session breaks.
func (m *member) work(ctx context.Context) error {
	every := m.cfg.Every
	if every == 0 {
		every = shareEvery
	}
	next := time.Now().Add(every)
	for ctx.Err() == nil {
		if err := m.sharer.Fault(); err != nil {
			m.lose(m.list())
			return err
		}
		if err := m.turn(ctx, next); err != nil {
			return err
		}
		if now := time.Now(); !now.Before(next) {
			next = now.Add(every)
			if err := m.commit(ctx); err != nil {
				m.log.WarnContext(ctx, "positions are committed later", "error", err)
			}
		}
	}
	return nil
}

// turn hands over what a poll has, if it is wanted, until an instant.
func (m *member) turn(ctx context.Context, until time.Time) error {
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if !m.sharer.Room(wait) {
		return nil
	}
	fetches := m.client.PollRecords(wait, shareAtOnce)
	defer m.client.AllowRebalance()
	for _, e := range fetches.Errors() {
		switch {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled):
		case errors.Is(e.Err, kerr.FencedInstanceID):
			return fmt.Errorf("%w: %s", errThrownOut, m.id)
		case errors.Is(e.Err, kgo.ErrClientClosed):
			return e.Err
		default:
			m.log.WarnContext(ctx, "kafka reports", "error", e.Err, "topic", e.Topic, "partition", e.Partition)
		}
	}
	for n, at := range m.takenAtTheEnd() { // no record will say so
		m.sharer.Records(n, nil, at, false)
	}
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		if len(fp.Records) == 0 || !m.owns(fp.Partition) {
			return
		}
		records := make([]Record, 0, len(fp.Records))
		for _, r := range fp.Records {
			if !r.Attrs.IsControl() && !isBarrier(r.Key) {
				records = append(records, recordOf(r))
			}
		}
		through := fp.Records[len(fp.Records)-1].Offset + 1
		m.sharer.Records(fp.Partition, records, through, through < fp.LastStableOffset)
		m.worked = true
	})
	return nil
}

// beside follows the Beside topic on our partitions.
func (m *member) beside(ctx context.Context) {
	for {
		fetches := m.side.PollFetches(ctx)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			if r := iter.Next(); !isBarrier(r.Key) && m.owns(r.Partition) {
				m.sharer.Side(recordOf(r))
			}
		}
	}
}
