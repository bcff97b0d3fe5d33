package stream

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type logger = *slog.Logger

const (
	// Limits of one fetch, as stored, and of one partition in it. A poll hands out one
	// partition after the other, and partitions are applied in parallel, so a poll must
	// bring several. But a transaction writes one batch to a partition, and a part of a
	// batch is useless: a reader of another loop's output asks for more of each.
	fetchBytes          = 512 << 10
	fetchPartitionBytes = 32 << 10
	fetchBatchBytes     = 256 << 10
)

// loop is one session: its memory is dropped with it.
type loop struct {
	cluster *Cluster
	cfg     Config
	id      string // transactional id and static member
	batch   int32  // bytes, at most, of a batch

	generation string // of the changelog
	log        logger

	session *kgo.GroupTransactSession
	parts   map[int32]*part // owned; only the loop's goroutine
	last    time.Time       // end of the last commit
	took    time.Duration   // by the last commit
	second  bool            // the transaction waits for a second fetch
	commits int
	faults  int  // transactions given up since the last commit
	shrunk  bool // a partition was revoked since the last transaction
	applied int  // inputs of the transaction
	lagged  bool // we were behind during the transaction

	mu    sync.Mutex
	ready map[int32]*part    // restored by the group's goroutine, not assigned yet
	marks map[int32]mark     // checkpoints, fetched with the offsets
	fatal error              // found by the group's goroutine
	woken bool               // the next poll returns at once
	wake  context.CancelFunc // ends the poll under way
}

// part is one partition that we own.
type part struct {
	task     Task
	next     int64     // input offset to apply next
	end      int64     // newest known high watermark of the input
	reported int64     // position that Passed was given
	dirty    bool      // touched by the transaction under way
	since    time.Time // of the restore
	clock    clock

	mark    mark     // of the last commit
	grown   int64    // bytes written to the changelog since the checkpoint
	rewrite *rewrite // a checkpoint under way

	out []*kgo.Record // of the transaction
}

// run opens the session and runs turns until it breaks or ctx ends.
func (l *loop) run(ctx context.Context) error {
	if err := l.open(); err != nil {
		return err
	}
	defer l.close(ctx)
	// Requests under way are not cancelled by the end of ctx: half a
	// transaction is worse than a late one. A cluster that is away must not
	// hold the shutdown for ever, though.
	free, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(3*time.Second, cancel) })()
	for ctx.Err() == nil {
		if err := l.turn(ctx, free); err != nil {
			return err
		}
	}
	return nil
}

// open starts the session of the stable name; the restores run in its group's
// goroutine, before the first record of a partition is fetched.
func (l *loop) open() error {
	opts := l.cluster.with(
		kgo.WithHooks(l.cluster.health),
		kgo.ConsumerGroup(l.cfg.Group),
		kgo.ConsumeTopics(l.cfg.Input),
		kgo.TransactionalID(l.id),
		kgo.SessionTimeout(10*time.Second),
		kgo.HeartbeatInterval(2*time.Second),
		kgo.TransactionTimeout(10*time.Second),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		// What is fetched ahead is held decoded, several times its size.
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(l.cfg.fetchPartition()),
		kgo.ProducerLinger(0),
		// The records of a transaction are in memory anyway; beyond the default
		// of 50,000 each would wait for a goroutine of its own.
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.ProducerBatchMaxBytes(l.batch),
		kgo.ConcurrentTransactionsBackoff(time.Millisecond),
		// Fence our killed predecessor first: its open transaction would
		// hold the offset fetch and the restore until it times out.
		kgo.OnPartitionsAssigned(func(ctx context.Context, cl *kgo.Client, _ map[string][]int32) {
			if _, _, err := cl.ProducerID(ctx); err != nil {
				l.log.WarnContext(ctx, "producer id is late", "error", err)
			}
			l.wakePoll() // revoked partitions must be dropped now
		}),
		kgo.OnOffsetsFetched(l.fetched),
		kgo.AdjustFetchOffsetsFn(l.assigned),
	)
	if !l.cluster.embedded {
		opts = append(opts, kgo.InstanceID(l.id))
	}
	if l.cfg.Passed != nil { // the marker follows the last record of a transaction
		opts = append(opts, kgo.KeepControlRecords())
	}
	session, err := kgo.NewGroupTransactSession(opts...)
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	l.session = session
	l.cfg.Stats.Sessions.Add(1)
	return nil // a session that must end by now is closed like any other
}

// fetchPartition is how many bytes of a partition one fetch asks for.
func (c *Config) fetchPartition() int32 {
	if c.Sparse {
		return fetchBatchBytes
	}
	return fetchPartitionBytes
}

// close drops all memory and ends the session. A static member stays in its
// group unless it says that it leaves.
func (l *loop) close(ctx context.Context) {
	l.session.Close()
	if l.cfg.Leave != nil && ctx.Err() != nil && !l.cluster.embedded && l.cfg.Leave() {
		l.leave(context.WithoutCancel(ctx))
	}
	for p := range l.parts {
		l.revoke(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.ready {
		p.task.Close()
	}
}

// leave takes a static member out of its group, so that the others need not wait for its
// session to time out.
func (l *loop) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := l.cfg.Claim.Check(ctx); err != nil { // the member of that name may be a newer process
		l.log.WarnContext(ctx, "leave group", "error", err)
		return
	}
	if _, err := l.cluster.admin.LeaveGroup(ctx, kadm.LeaveGroup(l.cfg.Group).InstanceIDs(l.id)); err != nil {
		l.log.WarnContext(ctx, "leave group", "error", err)
	}
}
