package stream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Sharer processes the partitions of a group member. A Sharer does not write in transactions, so its work must be
// idempotent. Its methods are called from several goroutines, but the calls for one partition come in the order
// Assign, (Records, Side)*, Revoke (unless the partition is already lost), Lost.
type Sharer interface {
	// Assign adds a partition. committed is the last committed position (negative: none), and note is the metadata
	// committed with it. Assign returns the offsets at which Records and Side start. If Assign returns an error, Lost
	// is called for all partitions of the assignment, and the assignment is retried.
	Assign(ctx context.Context, partition int32, committed int64, note string) (next, side int64, err error)
	// Revoke ends the work on partitions that this member is about to give up. Afterwards, Positions is called and
	// its result is committed.
	Revoke(ctx context.Context, partitions []int32)
	// Lost ends the work without a further commit: after Revoke, or because another member already owns the partitions
	// or the session has failed.
	Lost(partitions []int32)
	// Records processes zero or more records of the topic, in order. through is the offset after the records. behind
	// reports whether the log had more records at the time of the fetch. Records is called at least once for each
	// Assign, even if there are no records to read.
	Records(partition int32, records []Record, through int64, behind bool)
	// Side processes a record of the SideTopic. It may be called shortly after the partition was revoked, and
	// again when the partition is reassigned.
	Side(r Record)
	// WaitForCapacity waits until the Sharer can process more records. It returns false if ctx ends first.
	WaitForCapacity(ctx context.Context) bool
	// Positions returns the positions to commit, for each owned partition.
	Positions() map[int32]Mark
	// Fault returns why the session must end and all partitions must be reassigned, or nil.
	Fault() error
}

// Mark is a position in a topic, with the note that is committed with it.
type Mark struct {
	Offset int64
	Note   string
}

// ShareConfig configures Share.
type ShareConfig struct {
	Group     string
	Instance  string // stable name of this process within the group
	Claim     *Claim // claim of the instance name
	Topic     string
	SideTopic string      // optional topic with the same number of partitions, which is read for the owned partitions
	Leave     func() bool // see [Config]
}

// Share joins a group and passes the records of its assigned partitions to s. It returns nil when ctx ends, or
// [ErrFenced] when another process claims the instance name.
func (c *Cluster) Share(ctx context.Context, cfg ShareConfig, s Sharer) error {
	all := membership{
		cluster: c, group: cfg.Group, topic: cfg.Topic, id: cfg.Group + "-" + cfg.Instance,
		claim: cfg.Claim, leave: cfg.Leave, log: c.log.With("group", cfg.Group),
	}
	return all.sessions(ctx, func(ctx context.Context) (worked bool, err error) {
		m := &member{
			membership: all, sideTopic: cfg.SideTopic, sharer: s,
			ours: map[int32]bool{}, read: map[int32]int64{}, committed: map[int32]Mark{}, notes: map[int32]string{},
		}
		err = m.run(ctx)
		return m.worked, err
	})
}

// member is one session of a group.
type member struct {
	membership
	sideTopic string
	sharer    Sharer
	client    *kgo.Client
	side      *kgo.Client // reads the SideTopic
	worked    bool        // whether records were received

	mu        sync.Mutex
	ours      map[int32]bool
	read      map[int32]int64 // positions of the partitions that had nothing to read when assigned, until they are reported
	committed map[int32]Mark
	notes     map[int32]string // metadata of the committed offsets
}

const (
	shareEvery  = 200 * time.Millisecond // interval between commits
	shareAtOnce = 1000                   // maximum records per poll
	sideAtOnce  = 64 << 10               // minimum bytes per fetch of the SideTopic
	sideWait    = 50 * time.Millisecond  // maximum wait for sideAtOnce
	shareEnd    = 8 * time.Second        // time limit for revoking all partitions at the end
)

func (m *member) run(ctx context.Context) error {
	side, err := m.cluster.reader(offsets{},
		// The sharer itself writes most of these records, one after another. A fetch for each of them would cost the
		// broker as much as the write.
		kgo.FetchMinBytes(sideAtOnce),
		kgo.FetchMaxWait(sideWait),
	)
	if err != nil {
		return err
	}
	m.side = side
	defer side.Close()
	m.client, err = kgo.NewClient(m.options(
		// A marker follows the last record of a transaction, and is all that an aborted transaction leaves behind.
		// Without markers, a reader cannot know that it has read the whole log.
		kgo.KeepControlRecords(),
		kgo.DisableAutoCommit(),
		// The records of a poll are processed before their partition can be revoked, because a batch from an earlier
		// period of ownership would look like a gap in the current one.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnOffsetsFetched(m.storeNotes),
		kgo.AdjustFetchOffsetsFn(m.addAssigned),
		kgo.OnPartitionsRevoked(func(ctx context.Context, _ *kgo.Client, gone map[string][]int32) { m.revoke(ctx, gone[m.topic]) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.lose(gone[m.topic]) }),
	)...)
	if err != nil {
		return fmt.Errorf("open member: %w", err)
	}
	follow, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); m.followSide(follow) }()
	err = m.work(ctx)
	stop()
	<-done
	m.end(ctx)
	return err
}

// end revokes the owned partitions and ends the session. If the process stops and should leave the group, end also
// removes the member from the group.
func (m *member) end(ended context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), shareEnd)
	defer cancel()
	m.revoke(ctx, m.list())
	m.client.CloseAllowingRebalance()
	m.leaveGroup(ended)
}

// work polls until the session breaks or ctx ends.
func (m *member) work(ctx context.Context) error {
	next := time.Now().Add(shareEvery)
	for ctx.Err() == nil {
		if err := m.sharer.Fault(); err != nil {
			m.lose(m.list())
			return err
		}
		if err := m.turn(ctx, next); err != nil {
			return err
		}
		if now := time.Now(); !now.Before(next) {
			next = now.Add(shareEvery)
			if err := m.commit(ctx); err != nil {
				m.log.WarnContext(ctx, "positions not committed yet", "error", advised(err))
			}
		}
	}
	return nil
}

// turn waits until the sharer has capacity, and then processes the records of one poll. Neither the wait nor the poll
// extends beyond the deadline.
func (m *member) turn(ctx context.Context, until time.Time) error {
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if !m.sharer.WaitForCapacity(wait) {
		return nil
	}
	fetches := m.client.PollRecords(wait, shareAtOnce)
	defer m.client.AllowRebalance()
	if err := m.checkErrors(ctx, fetches); err != nil {
		return err
	}
	for n, at := range m.assignedAtEnd() { // these partitions have no record that would trigger a call
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

// followSide reads the SideTopic on the owned partitions.
func (m *member) followSide(ctx context.Context) {
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
