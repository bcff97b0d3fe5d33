package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

var (
	// ErrFenced says that another process runs under our instance name.
	ErrFenced = errors.New("another process has the instance's name")
	// ErrAlarm says that input and changelog do not belong together: one of
	// them was deleted or recreated. A person must look.
	ErrAlarm = errors.New("input and changelog do not fit")
)

// Config says what to process.
type Config struct {
	Group     string // consumer group
	Instance  string // stable name of this process within the group
	Input     string // topic
	Changelog string // topic with the same number of partitions
	NewTask   func(partition int32) Task

	// Gaps allows offsets of the input to be missing: it is compacted, or
	// written in transactions. Without it a missing offset stops the
	// partition.
	Gaps bool
	// Route names the topic of an output by its key; nil: all go to the
	// changelog. Other topics must have the changelog's partitions.
	Route func(key []byte) string
	// CommitEvery is how long inputs are gathered after a commit; 0: 10 ms;
	// negative: each poll is committed.
	CommitEvery time.Duration
	// Keep returns the lowest changelog offset of a partition that somebody
	// else still reads. Set it where the broker never compacts: what lies
	// before it and before the checkpoint is then deleted.
	Keep func(ctx context.Context, partition int32) (int64, error)
	// Leave gives the partitions to the others at once when ctx ends. Without
	// it a restart within 10 s keeps them.
	Leave bool
	// CheckpointBytes is the least growth of a changelog between two
	// checkpoints; 0: 64 MB.
	CheckpointBytes int64
	// Stats takes the figures; nil: nobody looks.
	Stats *Stats
}

// Stats are the figures of a loop, free to read at any time.
type Stats struct {
	Partitions    atomic.Int64 // owned and restored now
	Lag           atomic.Int64 // inputs not yet applied on those
	Records       atomic.Int64 // inputs applied and committed
	Rejected      atomic.Int64 // of those, poison
	Commits       atomic.Int64 // transactions
	Aborts        atomic.Int64
	Restores      atomic.Int64 // of a partition
	RestoredBytes atomic.Int64
	Checkpoints   atomic.Int64
	Sessions      atomic.Int64 // opened; each beyond the first is a recovery
	LastCommit    atomic.Int64 // unix ms
}

// Process reads the input, drives a task per partition and writes what they
// say, until ctx ends (nil) or an error no restart of the loop can help:
// [ErrFenced], [ErrAlarm]. Several instances of a group share the partitions.
func (c *Cluster) Process(ctx context.Context, cfg Config) error { return nil }
