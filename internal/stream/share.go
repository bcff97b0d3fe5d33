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
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Sharer is what a member of a group does with its share of the partitions. It
// writes nothing in transactions: what it does once more after a crash must be
// harmless. Its methods are called from several goroutines, but for one partition
// in the order Take, (Records, Side)*, Give or Lost.
type Sharer interface {
	// Take makes a partition ours. committed is the position that was committed
	// last (below 0: none) and note what was committed beside it. It returns where
	// Records begin, and Side. An error gives the assignment back for a moment.
	Take(ctx context.Context, partition int32, committed int64, note string) (next, side int64, err error)
	// Give ends the work on partitions that go to another member; what Positions
	// then says is committed.
	Give(ctx context.Context, partitions []int32)
	// Lost ends it without a word: they are another's already.
	Lost(partitions []int32)
	// Records takes records of the topic, in order. through is the offset behind
	// them; behind says that more lie in the log. No records and a negative offset
	// say that none lie in it.
	Records(partition int32, records []Record, through int64, behind bool)
	// Side takes a record of the topic beside it. One may come a moment after the
	// partition has gone, and once more when it comes back.
	Side(r Record)
	// Room waits until more records are wanted; false: not before ctx ended.
	Room(ctx context.Context) bool
	// Positions are what may be committed, of each partition that is ours.
	Positions() map[int32]Mark
	// Fault says that the session must end and all partitions be taken anew.
	Fault() error
}

// Mark is a position in a topic with a note.
type Mark struct {
	Offset int64
	Note   string
}

// ShareConfig says what is shared.
type ShareConfig struct {
	Group    string
	Instance string // stable name of this process within the group
	Topic    string
	Beside   string // topic with the same number of partitions, followed where we own the partition
	Leave    bool   // give the partitions to the others at once when ctx ends
	Every    time.Duration
}

// Share joins a group and hands its share of a topic to s, until ctx ends (nil)
// or another process takes our name ([ErrFenced]).
func (c *Cluster) Share(ctx context.Context, cfg ShareConfig, s Sharer) error {
	for failures := 0; ctx.Err() == nil; failures++ {
		m := &member{cluster: c, cfg: cfg, id: cfg.Group + "-" + cfg.Instance, sharer: s, log: c.log.With("group", cfg.Group), ours: map[int32]bool{}, committed: map[int32]Mark{}, notes: map[int32]string{}}
		err := m.run(ctx)
		if ctx.Err() != nil || errors.Is(err, ErrFenced) {
			return ended(ctx, err)
		}
		if m.worked {
			failures = 0
		}
		m.log.WarnContext(ctx, "share is taken anew", "error", err, "failures", failures)
		select {
		case <-ctx.Done():
		case <-time.After(min(20*time.Millisecond<<min(failures, 6), time.Second)):
		}
	}
	return nil
}

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
	committed map[int32]Mark
	notes     map[int32]string // as fetched with the offsets
}

const (
	shareEvery  = 200 * time.Millisecond // between commits
	shareAtOnce = 1000                   // records of one poll
	shareEnd    = 8 * time.Second        // to give all back at the end
)

func (m *member) run(ctx context.Context) error {
	side, err := kgo.NewClient(m.cluster.with(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(time.Second),
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

// end gives back what is ours and leaves.
func (m *member) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shareEnd)
	defer cancel()
	m.give(ctx, m.list())
	m.client.CloseAllowingRebalance()
	if m.cfg.Leave && !m.cluster.embedded {
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
			return fmt.Errorf("%w: %s", ErrFenced, m.id)
		case errors.Is(e.Err, kgo.ErrClientClosed):
			return e.Err
		default:
			m.log.WarnContext(ctx, "kafka reports", "error", e.Err, "topic", e.Topic, "partition", e.Partition)
		}
	}
	if fetches.NumRecords() == 0 && !time.Now().Before(until) && m.cluster.Away().IsZero() {
		for _, n := range m.list() {
			m.sharer.Records(n, nil, -1, false)
		}
	}
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		if len(fp.Records) == 0 || !m.owns(fp.Partition) {
			return
		}
		records := make([]Record, 0, len(fp.Records))
		for _, r := range fp.Records {
			if !isBarrier(r.Key) {
				records = append(records, recordOf(r))
			}
		}
		through := fp.Records[len(fp.Records)-1].Offset + 1
		// A transaction ends in a marker, which is no record.
		m.sharer.Records(fp.Partition, records, through, through+1 < fp.LastStableOffset)
		m.worked = true
	})
	return nil
}

// beside follows the other topic on the partitions that are ours.
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

// fetched takes the notes that came with the committed offsets.
func (m *member) fetched(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				delete(m.notes, p.Partition)
				if t.Topic == m.cfg.Topic && p.Metadata != nil {
					m.notes[p.Partition] = *p.Metadata
				}
			}
		}
	}
	return nil
}

// assigned takes the partitions that the group gives us, before their first
// record is fetched, in parallel.
func (m *member) assigned(ctx context.Context, all offsets) (offsets, error) {
	type taken struct {
		partition  int32
		next, side int64
	}
	var want []taken
	for n := range all[m.cfg.Topic] {
		want = append(want, taken{partition: n})
	}
	err := Parallel(len(want), func(i int) (err error) {
		w := &want[i]
		m.mu.Lock()
		note := m.notes[w.partition]
		m.mu.Unlock()
		w.next, w.side, err = m.sharer.Take(ctx, w.partition, all[m.cfg.Topic][w.partition].EpochOffset().Offset, note)
		return err
	})
	if err != nil {
		var partitions []int32
		for _, w := range want {
			partitions = append(partitions, w.partition)
		}
		m.sharer.Lost(partitions)
		m.log.WarnContext(ctx, "share is taken later", "error", err)
		return nil, fmt.Errorf("take: %w", err)
	}
	side := map[int32]kgo.Offset{}
	m.mu.Lock()
	for _, w := range want {
		all[m.cfg.Topic][w.partition] = kgo.NewOffset().At(w.next)
		side[w.partition] = kgo.NewOffset().At(w.side)
		m.ours[w.partition] = true
		delete(m.committed, w.partition)
	}
	m.mu.Unlock()
	m.side.AddConsumePartitions(map[string]map[int32]kgo.Offset{m.cfg.Beside: side})
	return all, nil
}

func (m *member) owns(partition int32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ours[partition]
}

func (m *member) list() (partitions []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.ours {
		partitions = append(partitions, n)
	}
	return partitions
}

// give ends the work on partitions and commits where it ended.
func (m *member) give(ctx context.Context, gone []int32) {
	if gone = m.only(gone); len(gone) == 0 {
		return
	}
	m.sharer.Give(ctx, gone)
	if err := m.commit(ctx); err != nil {
		m.log.WarnContext(ctx, "last positions are not committed", "error", err)
	}
	m.forget(gone)
	m.sharer.Lost(gone)
}

func (m *member) lose(gone []int32) {
	if gone = m.only(gone); len(gone) > 0 {
		m.sharer.Lost(gone)
		m.forget(gone)
	}
}

// only returns those that are ours.
func (m *member) only(partitions []int32) (ours []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range partitions {
		if m.ours[n] {
			ours = append(ours, n)
		}
	}
	return ours
}

func (m *member) forget(gone []int32) {
	m.mu.Lock()
	for _, n := range gone {
		delete(m.ours, n)
		delete(m.committed, n)
	}
	m.mu.Unlock()
	m.side.RemoveConsumePartitions(map[string][]int32{m.cfg.Beside: gone})
}

// commit writes the positions that have moved.
func (m *member) commit(ctx context.Context) error {
	marks := m.sharer.Positions()
	m.mu.Lock()
	for n, mark := range marks {
		if !m.ours[n] || m.committed[n] == mark {
			delete(marks, n)
		}
	}
	m.mu.Unlock()
	if len(marks) == 0 {
		return nil
	}
	at := map[int32]kgo.EpochOffset{}
	for n, mark := range marks {
		at[n] = kgo.EpochOffset{Epoch: -1, Offset: mark.Offset}
	}
	within, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	within = kgo.PreCommitFnContext(within, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				p := &req.Topics[i].Partitions[j]
				note := marks[p.Partition].Note
				p.Metadata = &note
			}
		}
		return nil
	})
	var fault error
	m.client.CommitOffsetsSync(within, map[string]map[int32]kgo.EpochOffset{m.cfg.Topic: at}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		fault = err
		if err != nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					fault = err
				} else {
					m.committed[p.Partition] = marks[p.Partition]
				}
			}
		}
	})
	if fault != nil {
		return fmt.Errorf("commit: %w", fault)
	}
	return nil
}
