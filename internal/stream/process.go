package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrAlarm says that input and changelog do not belong together: one of
// them was deleted or recreated. A person must look.
var ErrAlarm = errors.New("input and changelog do not fit")

// Config says what to process.
type Config struct {
	Group     string // consumer group
	Instance  string // stable name of this process within the group
	Claim     *Claim // on the instance's name
	Input     string // topic
	Changelog string // topic with the same number of partitions
	// NewTask returns the task of a partition. It and the restore run beside
	// the work on other partitions.
	NewTask func(partition int32) Task

	// Sparse says that offsets of the input may be missing, because it is
	// compacted or written in transactions, and that not every input leaves
	// a trace in the changelog. Without it a missing offset, or a commit that
	// the changelog does not know, stops the loop.
	Sparse bool
	// Passed gets the offset up to which a partition is taken in, including records
	// without a task: transaction markers. It must return at once; nil: unused. It may
	// be set for a Sparse input.
	Passed func(partition int32, next int64)
	// Route names the topic of an output by its key; nil or "": the
	// changelog. Other topics must have the changelog's partitions.
	Route func(key []byte) string
	// CommitEvery is how long inputs are gathered after a commit; 0: 10 ms;
	// negative: each poll is committed.
	CommitEvery time.Duration
	// Keep returns the lowest changelog offset of a partition that another reader
	// still needs. Set it where the broker never compacts: records before it and
	// before the checkpoint are then deleted.
	Keep func(ctx context.Context, partition int32) (int64, error)
	// Leave is called when ctx ends. True gives the partitions to the others at
	// once; with false, or nil, they wait 10 s for a restart of this instance.
	Leave func() bool
	// CheckpointBytes is the least growth of a changelog partition between
	// two checkpoints; 0: 64 MB.
	CheckpointBytes int64
	// Stats takes the figures; nil: nobody looks.
	Stats *Stats
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
}

// errReopen ends a session, but not the loop.
var errReopen = errors.New("session is unusable")

// gapError ends a session. If the same one comes again and again, offsets are missing
// for good.
type gapError struct {
	partition  int32
	want, have int64
}

// Error says which offsets are missing.
func (e gapError) Error() string {
	return fmt.Sprintf("partition %d: offset %d follows on %d", e.partition, e.have, e.want-1)
}

// Process reads the input, drives a task per partition and writes what they
// say, until ctx ends (nil) or an error no restart of the loop can help:
// [ErrFenced], [ErrAlarm]. Instances of a group share the partitions and take
// over from each other.
func (c *Cluster) Process(ctx context.Context, cfg Config) error {
	if cfg.Stats == nil {
		cfg.Stats = new(Stats)
	}
	if cfg.CommitEvery == 0 {
		cfg.CommitEvery = 10 * time.Millisecond
	}
	cfg.CheckpointBytes = cmp.Or(cfg.CheckpointBytes, 64<<20)
	c.advise(ctx)
	id := cfg.Group + "-" + cfg.Instance
	if c.embedded {
		// After a crash this broker may take a known transactional id for
		// one with a transaction under way.
		id += "-" + unique()
	}
	batch, err := c.batchBytes(ctx, cfg.Changelog)
	if err != nil {
		return err
	}
	generation, err := c.Generation(ctx, cfg.Changelog)
	if err != nil {
		return err
	}
	var gap gapError
	for failures, gaps := 0, 0; ctx.Err() == nil; {
		l := &loop{
			cluster: c, cfg: cfg, id: id, batch: batch, generation: generation, log: c.log.With("group", cfg.Group),
			parts: map[int32]*part{}, ready: map[int32]*part{}, marks: map[int32]mark{}, wake: func() {},
		}
		err := cfg.Claim.Check(ctx)
		if err == nil {
			err = cfg.Claim.judge(ctx, l.run(ctx))
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // asked to end: the error of the session does not matter
		}
		if errors.Is(err, ErrFenced) || errors.Is(err, ErrAlarm) {
			return err
		}
		if failures++; l.commits > 0 {
			failures = 0
		}
		if found, ok := errors.AsType[gapError](err); !ok {
			gaps = 0
		} else if gaps++; found != gap {
			gap, gaps = found, 1
		} else if gaps >= 3 {
			return fmt.Errorf("%w: %w", ErrAlarm, err)
		}
		l.log.WarnContext(ctx, "stream session reopens", "error", err, "failures", failures)
		select {
		case <-ctx.Done():
		case <-time.After(min(20*time.Millisecond<<min(failures, 6), time.Second)):
		}
	}
	return nil
}
