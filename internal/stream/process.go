package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrAlarm means that input and changelog do not belong together: one of them was deleted or recreated. An operator
// must investigate.
var ErrAlarm = errors.New("input and changelog topics do not match")

// Config configures the processing of a topic.
type Config struct {
	Group     string // consumer group
	Instance  string // stable name of this process within the group
	Claim     *Claim // on the instance's name
	Input     string // topic
	Changelog string // topic with the same number of partitions
	// NewTask returns the task of a partition. It and the restore run concurrently with the work on other partitions.
	NewTask func(partition int32) Task

	// Sparse means that offsets of the input may be missing, because it is compacted or written in transactions, and
	// that some inputs cause no record in the changelog. If it is false, a missing offset, or a commit that is not in
	// the changelog, stops the loop.
	Sparse bool
	// Passed is called with the offset up to which a partition has been processed, including records without a task,
	// such as transaction markers. It must not block and may be nil. It may be set only for a Sparse input.
	Passed func(partition int32, next int64)
	// Route names the topic of an output by its key; nil or "": the
	// changelog. Other topics must have the changelog's partitions.
	Route func(key []byte) string
	// CommitEvery is how long inputs are gathered after a commit; 0: each poll is committed.
	CommitEvery time.Duration
	// Keep returns the lowest changelog offset of a partition that another reader
	// still needs. Set it where the broker never compacts: records before it and
	// before the checkpoint are then deleted.
	Keep func(ctx context.Context, partition int32) (int64, error)
	// Leave is called when ctx ends. True gives the partitions to the others at
	// once; with false, or nil, they wait 6 s for a restart of this instance.
	Leave func() bool
	// Committed gets the inputs of each committed transaction of a partition. It must return at
	// once and keep none of the slice; nil: unused.
	Committed func(partition int32, inputs []Input, at time.Time)
	// Restored gets the duration of each restore, of one or more partitions; nil: unused.
	Restored func(took time.Duration)
	// Stats receives the metrics; it may be nil.
	Stats *Stats

	checkpointBytes int64 // for tests; 0: the constant of the same name
}

// Stats are the figures of a loop, free to read at any time.
type Stats struct {
	Partitions    atomic.Int64 // owned and restored now
	Lag           atomic.Int64 // unapplied inputs of the owned partitions, at the last fetch
	Records       atomic.Int64 // inputs applied and committed
	Rejected      atomic.Int64 // inputs handed to Reject, aborted transactions included
	Commits       atomic.Int64 // transactions
	Aborts        atomic.Int64 // transactions
	Restores      atomic.Int64 // of one partition each
	RestoredBytes atomic.Int64 // keys and values read by them
	Checkpoints   atomic.Int64 // of one partition each
	Sessions      atomic.Int64 // opened; each beyond the first is a recovery
	LastCommit    atomic.Int64 // unix ms; 0: none yet
	Restoring     atomic.Int64 // unix ms since which a restore is under way; 0: none is
}

// Input is one input of a committed transaction.
type Input struct {
	Offset    int64
	Timestamp time.Time // the producer's, to the millisecond
}

// gapError ends a session. If it recurs, offsets are permanently missing.
type gapError struct {
	partition  int32
	want, have int64
}

// Error names the missing offsets.
func (e gapError) Error() string {
	return fmt.Sprintf("partition %d: offset %d follows on %d", e.partition, e.have, e.want-1)
}

// Process reads the input, runs a task for each partition and writes their outputs, until ctx ends (nil) or an error
// occurs that a restart of the loop cannot fix: [ErrFenced], [ErrAlarm]. The instances of a group share the
// partitions and fail over to each other.
func (c *Cluster) Process(ctx context.Context, cfg Config) error {
	if cfg.Stats == nil {
		cfg.Stats = new(Stats)
	}
	cfg.checkpointBytes = cmp.Or(cfg.checkpointBytes, checkpointBytes)
	c.advise(ctx)
	generation, err := c.Generation(ctx, cfg.Changelog)
	if err != nil {
		return err
	}
	m := membership{
		cluster: c, group: cfg.Group, topic: cfg.Input, id: cfg.Group + "-" + cfg.Instance,
		claim: cfg.Claim, leave: cfg.Leave, log: c.log.With("group", cfg.Group),
	}
	if c.embedded {
		// After a crash, this broker may attribute an open transaction to a known transactional id.
		m.id += "-" + uuid.NewString()
	}
	var gap gapError
	gaps := 0 // sessions in a row that ended with it
	return m.sessions(ctx, func(ctx context.Context) (worked bool, err error) {
		l := &loop{
			membership: m, cfg: cfg, generation: generation,
			parts: map[int32]*part{}, ready: map[int32]*part{}, marks: map[int32]mark{}, wake: func() {},
		}
		err = l.run(ctx)
		switch found, ok := errors.AsType[gapError](err); {
		case !ok:
			gaps = 0
		case found != gap:
			gap, gaps = found, 1
		default:
			gaps++
		}
		if gaps >= maxGaps {
			err = fmt.Errorf("%w: %w", ErrAlarm, err)
		}
		return l.commits > 0, err
	})
}

// maxGaps is after how many sessions in a row a missing offset is missing for good.
const maxGaps = 3

const (
	// The limits of one fetch, and of one partition within it, in bytes as stored. A poll processes partitions
	// sequentially, and partitions are applied in parallel, so a poll must return several. A transaction writes one
	// batch to a partition, and a part of a batch is useless, so a reader of another loop's output requests more of
	// each.
	fetchBytes          = 512 << 10
	fetchPartitionBytes = 32 << 10
	fetchBatchBytes     = 256 << 10
)

// loop is one session: its memory is dropped with it.
type loop struct {
	membership
	cfg        Config
	generation string // of the changelog

	session     *kgo.GroupTransactSession
	parts       map[int32]*part // owned; only the loop's goroutine
	lastCommit  time.Time       // its end
	commitTook  time.Duration   // of the last one
	awaitsFetch bool            // the transaction waits for a second fetch
	commits     int
	abortsInRow int  // transactions given up since the last commit
	revokedAny  bool // a partition was revoked since the last transaction
	applied     int  // inputs of the transaction
	lagged      bool // the loop was behind during the transaction

	mu    sync.Mutex
	ready map[int32]*part    // restored by the group's goroutine, not assigned yet
	marks map[int32]mark     // checkpoints, fetched with the offsets
	fatal error              // found by the group's goroutine
	woken bool               // the next poll returns at once
	wake  context.CancelFunc // ends the current poll
}

// part is one partition that this member owns.
type part struct {
	task     Task
	next     int64     // input offset to apply next
	end      int64     // newest known high watermark of the input
	reported int64     // position that Passed was given
	dirty    bool      // changed by the current transaction
	since    time.Time // of the restore
	clock    clock

	mark    mark     // of the last commit
	grown   int64    // bytes written to the changelog since the checkpoint
	rewrite *rewrite // a checkpoint in progress

	out    []*kgo.Record // of the transaction
	inputs []Input       // of the transaction, if Committed wants them
}

// run opens the session and runs turns until it breaks or ctx ends.
func (l *loop) run(ctx context.Context) error {
	if err := l.open(); err != nil {
		return err
	}
	defer l.close(ctx)
	// Requests in progress are not cancelled by the end of ctx, because a partial transaction is worse than a late
	// one. An unavailable cluster must not block the shutdown forever, though.
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
	opts := l.options(
		kgo.TransactionalID(l.id),
		kgo.TransactionTimeout(10*time.Second),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		// What is fetched ahead is held decoded, several times its size.
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(l.cfg.fetchPartition()),
		kgo.ProducerLinger(0),
		// The records of a transaction are in memory anyway. Beyond the default of 50,000, each would wait for a
		// separate goroutine.
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.ProducerBatchMaxBytesFn(l.cluster.limit),
		kgo.ConcurrentTransactionsBackoff(time.Millisecond),
		// Fence our killed predecessor first, and the former owners of the partitions: an open
		// transaction would hold the offset fetch and the restore until it times out.
		kgo.OnPartitionsAssigned(func(ctx context.Context, cl *kgo.Client, all map[string][]int32) {
			if len(all) > 0 {
				l.fenceFormer(ctx)
			}
			if _, _, err := cl.ProducerID(ctx); err != nil {
				l.log.WarnContext(ctx, "producer id delayed", "error", err)
			}
			l.wakePoll() // revoked partitions must be dropped now
		}),
		kgo.OnOffsetsFetched(l.fetched),
		kgo.AdjustFetchOffsetsFn(l.assigned),
	)
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

// fetchPartition is the maximum size of one partition in a fetch, in bytes.
func (c *Config) fetchPartition() int32 {
	if c.Sparse {
		return fetchBatchBytes
	}
	return fetchPartitionBytes
}

// close drops the state in memory and ends the session. A static member stays in its group unless it leaves
// explicitly.
func (l *loop) close(ctx context.Context) {
	l.session.Close()
	l.leaveGroup(ctx)
	for p := range l.parts {
		l.revoke(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.ready {
		p.task.Close()
	}
}
