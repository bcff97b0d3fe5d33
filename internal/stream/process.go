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
	"github.com/twmb/franz-go/pkg/kmsg"
)

// errAlarm means that input and changelog do not match, because one of them was deleted or recreated. An operator must
// investigate.
var errAlarm = errors.New("input and changelog topics do not match")

// Config configures the processing of a topic.
type Config struct {
	Group     string // consumer group
	Instance  string // stable name of this process within the group
	Claim     *Claim // claim of the instance name
	Input     string // input topic
	Changelog string // changelog topic, with as many partitions as the input
	// Former is the input topic of the previous build, if it is a different topic. Process begins once no member of the
	// group subscribes to it, so that two builds never write the same changelog.
	Former string
	// NewTask returns the task of a partition. NewTask and the restore of the task run concurrently with the work on
	// other partitions.
	NewTask func(partition int32) Task

	// Sparse means that offsets of the input may be missing, because the input is compacted or written in
	// transactions, and that some inputs do not cause a record in the changelog. If Sparse is false, the loop stops
	// if an offset is missing, or if the committed offset is beyond the last input in the changelog.
	Sparse bool
	// Passed is called with the offset up to which a partition has been processed, including records that no task
	// gets, such as transaction markers. It must not block and may be nil. It may be set only for a Sparse input.
	Passed func(partition int32, next int64)
	// Route returns the topic of an output from the output's key. If Route is nil or returns "", the topic is
	// the changelog. Other topics must have as many partitions as the changelog.
	Route func(key []byte) string
	// CommitEvery is the time after a commit during which inputs are collected. If it is 0, each poll is committed.
	CommitEvery time.Duration
	// Keep returns the lowest changelog offset of a partition that another reader still needs. Set it if the broker
	// never compacts: records before both that offset and the checkpoint are then deleted.
	Keep func(ctx context.Context, partition int32) (int64, error)
	// Leave is called when ctx ends. If it returns true, the partitions are reassigned immediately. If it returns
	// false, or if Leave is nil, the partitions remain assigned for 6 s, so that this instance can restart.
	Leave func() bool
	// Committed is called with the inputs of each committed transaction of a partition, and with the time of the
	// commit. It must return immediately and must not retain the slice; it may be nil.
	Committed func(partition int32, inputs []Input, at time.Time)
	// Trace starts the span of an input with a traceparent, before the input is applied. If Trace is nil, inputs are
	// not traced. Committed gets the span with its input. If a transaction is not committed, the spans of its inputs
	// are dropped, so each input has one span, no matter how often its transaction is retried. Calls for different
	// partitions run in parallel. Trace is used only if Committed is set.
	Trace func(r Record) interface{ Traceparent() string }
	// Cause returns the offset of the input that caused an output, and reports whether there is such an input. The
	// output gets the traceparent of that input's span. If Cause is nil, outputs are not traced.
	Cause func(key, value []byte) (offset int64, ok bool)
	// Restored is called with the duration of each restore of one or more partitions; it may be nil.
	Restored func(took time.Duration)
	// Stats receives the metrics; it may be nil.
	Stats *Stats

	checkpointBytes int64 // for tests; 0: the constant with the same name
}

// Stats are the metrics of a loop. Any goroutine may read them.
type Stats struct {
	Partitions    atomic.Int64 // number of partitions that the process owns and has restored
	Lag           atomic.Int64 // unapplied inputs of the owned partitions, as of the last fetch
	Records       atomic.Int64 // inputs applied and committed
	Rejected      atomic.Int64 // inputs passed to Reject, including those of aborted transactions
	Commits       atomic.Int64 // committed transactions
	Aborts        atomic.Int64 // aborted transactions
	Restores      atomic.Int64 // restores, counted per partition
	RestoredBytes atomic.Int64 // bytes of keys and values that restores have read
	Checkpoints   atomic.Int64 // complete checkpoints
	Sessions      atomic.Int64 // opened sessions; each after the first is a recovery
	LastCommit    atomic.Int64 // time of the last commit in unix ms; 0: none yet
	Restoring     atomic.Int64 // start of the current restore in unix ms; 0: none
}

// Input is one input of a committed transaction.
type Input struct {
	Offset    int64
	Timestamp time.Time                         // set by the producer, in milliseconds
	Span      interface{ Traceparent() string } // from Trace; nil: the input is not traced
}

// gapError means that offsets of the input are missing, and ends the session. If it recurs in maxGaps consecutive
// sessions, the offsets count as permanently missing.
type gapError struct {
	partition  int32
	want, have int64
}

// Error names the partition and the offsets before and after the gap.
func (e gapError) Error() string {
	return fmt.Sprintf("partition %d: offset %d follows offset %d", e.partition, e.have, e.want-1)
}

// Process reads the input, runs a task for each partition and writes the outputs of the tasks. It returns nil when ctx
// ends, or an error that a restart of the loop cannot fix: [ErrFenced], [errAlarm]. The instances of a group share the
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
		// After a crash, the embedded broker may attribute an open transaction to a transactional id that it knows,
		// so each start uses a new id.
		m.id += "-" + uuid.NewString()
	}
	if cfg.Former != "" {
		m.awaitFormer(ctx, cfg.Former)
	}
	var gap gapError
	gaps := 0 // consecutive sessions that ended with a gapError
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
			err = fmt.Errorf("%w: %w", errAlarm, err)
		}
		return l.commits > 0, err
	})
}

// maxGaps is the number of consecutive sessions that must end with a gapError before the missing offsets count as
// permanently missing.
const maxGaps = 3

const (
	// fetchBytes limits one fetch, in encoded bytes. A poll takes records from one partition after another, while the
	// loop applies partitions in parallel, so a fetch must contain several partitions. Therefore the records of one
	// partition in a fetch are limited to fetchPartitionBytes, or to fetchBatchBytes if the input is Sparse. A Sparse
	// input may consist of another loop's transactions. Each of these writes one batch to a partition, and a partial
	// batch is useless, so the limit is larger.
	fetchBytes          = 512 << 10
	fetchPartitionBytes = 32 << 10
	fetchBatchBytes     = 256 << 10
)

// loop is one session. The state that it holds in memory is dropped when the session ends.
type loop struct {
	membership
	cfg        Config
	generation string // topic id of the changelog

	session     *kgo.GroupTransactSession
	parts       map[int32]*part // owned partitions; used only by the loop's goroutine
	lastCommit  time.Time       // end of the last commit
	commitTook  time.Duration   // duration of the last commit
	awaitsFetch bool            // whether the transaction waits for a second fetch
	commits     int
	abortsInRow int  // aborted transactions since the last commit
	revokedAny  bool // whether a partition was revoked since the last transaction
	applied     int  // inputs of the current transaction
	lagged      bool // whether the loop was behind during the current transaction

	mu    sync.Mutex
	ready map[int32]*part    // restored by the group's goroutine, not yet assigned
	marks map[int32]mark     // checkpoints, fetched with the offsets
	fatal error              // error found by the group's goroutine
	woken bool               // whether the next poll returns immediately
	wake  context.CancelFunc // ends the current poll
}

// part is one partition that this member owns.
type part struct {
	task     Task
	next     int64     // offset of the next input to apply
	end      int64     // newest known high watermark of the input
	reported int64     // position last passed to Passed
	dirty    bool      // whether the current transaction changes the partition
	since    time.Time // when the restore of the partition began
	clock    clock

	mark    mark     // checkpoint that the last commit stored
	grown   int64    // bytes written to the changelog since the checkpoint
	rewrite *rewrite // checkpoint in progress

	out    []*kgo.Record // records of the current transaction
	inputs []Input       // inputs of the current transaction, if Committed is set
	traced bool          // whether one of the inputs has a span
}

// run opens the session and runs one transaction after another until the session breaks or ctx ends.
func (l *loop) run(ctx context.Context) error {
	if err := l.open(); err != nil {
		return err
	}
	defer l.close(ctx)
	// When ctx ends, requests in progress are not canceled, because a partial transaction is worse than a late one. But
	// an unavailable cluster must not block the shutdown forever.
	free, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(3*time.Second, cancel) })()
	for ctx.Err() == nil {
		if err := l.runTurn(ctx, free); err != nil {
			return err
		}
	}
	return nil
}

// retryTimeoutOfProcess is [retryTimeout], except that a member keeps its partitions even if its heartbeats fail for
// longer than sessionTimeout. The members of a group that has lost its coordinator get a new session from the next one.
// If another member already owns the partitions, its transactional id fences this one, so neither writes twice.
func retryTimeoutOfProcess(key int16) time.Duration {
	if kmsg.Key(key) == kmsg.Heartbeat {
		return transactionTimeout
	}
	return retryTimeout(key)
}

// open starts the session under the stable name of the instance. The restores run in the group's goroutine, before
// the first record of a partition is fetched.
func (l *loop) open() error {
	opts := l.options(
		kgo.TransactionalID(l.id),
		kgo.TransactionTimeout(transactionTimeout),
		kgo.RetryTimeoutFn(retryTimeoutOfProcess),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		// The client keeps prefetched records decoded, at several times their encoded size, so these limits are low.
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(l.cfg.fetchPartition()),
		kgo.ProducerLinger(0),
		// The records of a transaction are in memory anyway. Above the default of 50,000, each record would wait in a
		// separate goroutine.
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.ProducerBatchMaxBytesFn(l.cluster.limit),
		kgo.ConcurrentTransactionsBackoff(time.Millisecond),
		// First fence the killed predecessor and the former owners of the partitions, because an open transaction would
		// block the offset fetch and the restore until it times out.
		kgo.OnPartitionsAssigned(func(ctx context.Context, cl *kgo.Client, all map[string][]int32) {
			if len(all) > 0 {
				l.fenceFormer(ctx)
			}
			if _, _, err := cl.ProducerID(ctx); err != nil {
				l.log.WarnContext(ctx, "producer id delayed", "error", advised(err))
			}
			l.wakePoll() // revoked partitions must be dropped now
		}),
		kgo.OnOffsetsFetched(l.storeMarks),
		kgo.AdjustFetchOffsetsFn(l.restoreAssigned),
	)
	if l.cfg.Passed != nil { // Passed also reports the marker that follows the last record of a transaction
		opts = append(opts, kgo.KeepControlRecords())
	}
	session, err := kgo.NewGroupTransactSession(opts...)
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	l.session = session
	l.cfg.Stats.Sessions.Add(1)
	return nil // run closes the session
}

// fetchPartition returns the maximum size of one partition in a fetch, in bytes.
func (c *Config) fetchPartition() int32 {
	if c.Sparse {
		return fetchBatchBytes
	}
	return fetchPartitionBytes
}

// close drops the state in memory and ends the session. A static member remains in its group unless it leaves
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
