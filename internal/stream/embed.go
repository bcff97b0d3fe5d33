package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"svc/internal/stream/logfiles"
)

// embeddedID is the cluster id of an embedded broker.
const embeddedID = "svc-embedded"

// reserveBytes is the minimum free disk space for accepting a record: enough for several of the largest records, and
// for ending each transaction in progress.
const reserveBytes = 32 << 20

// BrokerOptions configure a [Broker]. All are optional.
type BrokerOptions struct {
	Dir  string // data folder, locked by the caller; "": data is not stored
	Port int    // port to listen on; 0: any free port
	Log  *slog.Logger

	free func(dir string) (uint64, error) // free bytes on the disk; nil: ask the operating system
}

// Broker is a Kafka broker within this process, for development. It is the only node of its cluster, listens only on
// 127.0.0.1, and does not replicate.
type Broker struct {
	cluster *kfake.Cluster
	dir     string
	log     *slog.Logger
	free    func(dir string) (uint64, error)
	full    atomic.Bool           // whether the disk was full when its state was last logged
	failed  atomic.Pointer[error] // first failed write
	sealed  bool                  // whether the sealed copy of the topic list is up to date; used only by the broker's goroutine
}

// Embed starts a broker. A record is acknowledged once the operating system has received it: it survives a crash of the
// process, but not of the machine. Embed returns a [logfiles.DamageError] for damaged files, and an error if the disk
// is full.
func Embed(o BrokerOptions) (*Broker, error) {
	b := &Broker{dir: o.Dir, log: o.Log, free: o.free}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.free == nil {
		b.free = freeBytes
	}
	opts := []kfake.Opt{
		kfake.ClusterID(embeddedID), kfake.Ports(o.Port), kfake.WithLogger(brokerLog{b}), kfake.MaxVersions(embeddedVersions()),
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return nil, err //nolint:wrapcheck // the error names the folder
		}
		if _, err := b.checkSpace(); err != nil {
			return nil, err
		}
		files := logfiles.Options{Dir: o.Dir, ClusterID: embeddedID, Filler: barrierKey, Log: b.log}
		if err := logfiles.Mend(files); err != nil {
			return nil, err //nolint:wrapcheck // the error names the file
		}
		opts = append(opts, kfake.DataDir(o.Dir))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	b.cluster = cluster
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, When: unlimited, Observe: true, TopLevel: true, Count: -1})
	if o.Dir != "" {
		cluster.Fault(b.faults()...)
	}
	return b, nil
}

// unlimited removes the total limit of a fetch and keeps the limits of its partitions. A response that is truncated at
// the total limit lacks the list of aborted transactions, so a read_committed reader would get aborted records.
func unlimited(req kmsg.Request) bool {
	if fetch, ok := req.(*kmsg.FetchRequest); ok {
		fetch.MaxBytes = math.MaxInt32
	}
	return false
}

// Addr returns the address of the broker, host:port.
func (b *Broker) Addr() string { return b.cluster.ListenAddrs()[0] }

// Close stops the broker.
func (b *Broker) Close() { b.cluster.Close() }

// Full returns why the broker accepts no records (the disk is full, or a write has failed), or nil. After a failed
// write, memory contains more than the files until the process restarts.
func (b *Broker) Full() error {
	if b.dir == "" {
		return nil
	}
	if err := b.failed.Load(); err != nil {
		return fmt.Errorf("a write to %s failed; restart svc dev: %w", b.dir, *err)
	}
	free, err := b.checkSpace()
	if full := err != nil; b.full.Swap(full) != full {
		if full {
			b.log.Error("no disk space", "dir", b.dir, "free_bytes", free, "needed_bytes", reserveBytes)
		} else {
			b.log.Info("disk space available again", "dir", b.dir, "free_bytes", free)
		}
	}
	return err
}

// checkSpace returns an error if the disk has too little space.
func (b *Broker) checkSpace() (free uint64, err error) {
	free, err = b.free(b.dir)
	switch {
	case err != nil:
		err = fmt.Errorf("measure the free space of %s: %w", b.dir, err)
	case free < reserveBytes:
		err = fmt.Errorf("no space left for %s: %d MiB free, %d MiB required", b.dir, free>>20, reserveBytes>>20)
	}
	return free, err
}

// embeddedVersions returns the requests and versions that the broker supports. The broker's response to
// DescribeTopicPartitions contains a null list that Java administration clients cannot parse, so this request is not
// supported. The clients then use the metadata request, as for older brokers.
func embeddedVersions() *kversion.Versions {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(kmsg.DescribeTopicPartitions.Int16(), -1)
	return versions
}

// faults returns the hooks of the broker. They refuse records and ends of transactions that cannot be written to the
// files; without the hooks, the broker would acknowledge them. They also keep the sealed copy of the list of topics
// up to date.
func (b *Broker) faults() []kfake.Fault {
	return []kfake.Fault{
		{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.KafkaStorageError, Count: -1, When: func(kmsg.Request) bool { return b.Full() != nil }},
		{
			Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.KafkaStorageError, TopLevel: true, Count: -1,
			When: func(kmsg.Request) bool { return b.failed.Load() != nil },
		},
		{
			Keys: []kmsg.Key{kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.CreatePartitions, kmsg.AlterConfigs, kmsg.IncrementalAlterConfigs},
			When: func(kmsg.Request) bool { return b.seal(false) }, Observe: true, Count: -1,
		},
		{Keys: []kmsg.Key{kmsg.Metadata, kmsg.Produce}, When: func(kmsg.Request) bool { return b.seal(true) }, Observe: true, Count: -1},
	}
}

// seal stores the sealed copy of the topic list if as is true, and removes the copy if as is false. It does nothing
// if that has already been done. It returns false, so the hook that calls it refuses no request.
func (b *Broker) seal(as bool) bool {
	if b.sealed == as {
		return false
	}
	change := logfiles.Unseal
	if as {
		change = logfiles.Seal
	}
	if err := change(b.dir); err != nil {
		b.log.Warn("copy of the topic list not updated", "error", err)
	}
	b.sealed = as
	return false
}

// brokerLog forwards the error messages of the broker, and records a failed write.
type brokerLog struct{ *Broker }

// Logf implements [kfake.Logger].
func (l brokerLog) Logf(level kfake.LogLevel, format string, args ...any) {
	if level > kfake.LogLevelWarn {
		return
	}
	l.log.Warn("embedded kafka", "event", fmt.Sprintf(format, args...))
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			if _, system := errors.AsType[syscall.Errno](err); system && l.failed.CompareAndSwap(nil, &err) {
				l.log.Error("disk write failed, no more records accepted", "dir", l.dir, "error", err)
			}
		}
	}
}
