package stream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Sharer is the work of a member of a group on its share of the partitions. It writes
// nothing in transactions, so its work must be harmless when repeated after a crash. Its
// methods are called from several goroutines, but for one partition in the order Assign,
// (Records, Side)*, Give or Lost.
type Sharer interface {
	// Assign makes a partition ours. committed is the last committed position (below
	// 0: none) and note its metadata. It returns where Records begin, and Side. An
	// error gives the assignment back for a moment.
	Assign(ctx context.Context, partition int32, committed int64, note string) (next, side int64, err error)
	// Give ends the work on partitions that go to another member. The Positions after
	// it are committed.
	Revoke(ctx context.Context, partitions []int32)
	// Lost ends the work without a commit: another member has the partitions already.
	Lost(partitions []int32)
	// Records takes records of the topic, in order, maybe none. through is the
	// offset after them; behind: the log has more, or had when the partition was
	// assigned. It is called at least once for each Assign.
	Records(partition int32, records []Record, through int64, behind bool)
	// Side takes a record of the Beside topic. One may come a moment after the
	// partition has gone, and again when it comes back.
	Side(r Record)
	// WaitForCapacity waits until more records are wanted. It returns false if ctx ends first.
	WaitForCapacity(ctx context.Context) bool
	// Positions are what may be committed, of each partition that is ours.
	Positions() map[int32]Mark
	// Fault returns why the session must end and all partitions be assigned anew.
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
	Claim    *Claim // on the instance's name
	Topic    string
	Beside   string      // topic with the same number of partitions, followed where we own the partition
	Leave    func() bool // as in [Config]
}

// Share joins a group and hands its share of a topic to s, until ctx ends (nil)
// or another process takes our name ([ErrFenced]).
func (c *Cluster) Share(ctx context.Context, cfg ShareConfig, s Sharer) error {
	all := membership{
		cluster: c, group: cfg.Group, topic: cfg.Topic, id: cfg.Group + "-" + cfg.Instance,
		claim: cfg.Claim, leave: cfg.Leave, log: c.log.With("group", cfg.Group),
	}
	return all.sessions(ctx, func(ctx context.Context) (worked bool, err error) {
		m := &member{
			membership: all, beside: cfg.Beside, sharer: s,
			ours: map[int32]bool{}, read: map[int32]int64{}, committed: map[int32]Mark{}, notes: map[int32]string{},
		}
		err = m.run(ctx)
		return m.worked, err
	})
}

// member is one session of a group.
type member struct {
	membership
	beside string // topic
	sharer Sharer
	client *kgo.Client
	side   *kgo.Client // reads the topic beside
	worked bool        // records came

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
	side, err := m.cluster.reader(offsets{},
		// Most records there are the sharer's own: a request for each would cost the
		// broker as much as the work itself.
		kgo.FetchMinBytes(sideAtOnce),
		kgo.FetchMaxWait(sideWait),
	)
	if err != nil {
		return err
	}
	m.side = side
	defer side.Close()
	m.client, err = kgo.NewClient(m.options(
		// A marker follows the last record of a transaction, and is all that an aborted
		// one leaves: without markers a reader cannot know that it read the whole log.
		kgo.KeepControlRecords(),
		kgo.DisableAutoCommit(),
		// Records of a poll are handed over before their partition can go: a batch
		// of an earlier ownership would look like a gap in this one.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnOffsetsFetched(m.fetched),
		kgo.AdjustFetchOffsetsFn(m.assigned),
		kgo.OnPartitionsRevoked(func(ctx context.Context, _ *kgo.Client, gone map[string][]int32) { m.give(ctx, gone[m.topic]) }),
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

// end gives back our partitions and leaves.
func (m *member) end(ended context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), shareEnd)
	defer cancel()
	m.give(ctx, m.list())
	m.client.CloseAllowingRebalance()
	m.leaveGroup(ended)
}

// work polls until the session breaks.
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
				m.log.WarnContext(ctx, "positions not committed yet", "error", err)
			}
		}
	}
	return nil
}

// turn hands over what a poll has, if it is wanted, until an instant.
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

// followSide follows the topic beside on our partitions.
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
