package stream

import (
	"context"
	"errors"
	"time"
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
	// Room waits until more records are wanted; false: not before ctx ended.
	Room(ctx context.Context) bool
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
	Every    time.Duration
}

// Share joins a group and hands its share of a topic to s, until ctx ends (nil)
// or another process takes our name ([ErrFenced]).
func (c *Cluster) Share(ctx context.Context, cfg ShareConfig, s Sharer) error {
	for failures := 0; ctx.Err() == nil; failures++ {
		m := &member{cluster: c, cfg: cfg, id: cfg.Group + "-" + cfg.Instance, sharer: s, log: c.log.With("group", cfg.Group), ours: map[int32]bool{}, read: map[int32]int64{}, committed: map[int32]Mark{}, notes: map[int32]string{}}
		err := cfg.Claim.Check(ctx)
		if err == nil {
			err = cfg.Claim.judge(ctx, m.run(ctx))
		}
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
