// Package view stores the charts of the units in Redis for readers. Processors write them.
//
// The view is derived from the log. It can be deleted at any time, and is then rebuilt.
//
// A hospital has three hashes of the same version. The first contains the encoded unit chart, an encoded chart of each
// room, a copy of the recently changed rooms, the version and the input position. The second contains the records that
// administrators see in lists, and the third contains the codes of the worklist. Reads of a unit do not access the
// second and the third.
//
// A partition of the log has one header. The header states whether all hospitals of the partition are in the view. It
// also contains the generation of the log, the last input in the view, and the instant up to which the view is
// complete. If the header is missing, a read returns [ErrNotWhole], never [ErrNoUnit]. If the header is outdated, a
// read returns [ErrBehind].
//
// These rules keep the hospitals and the header consistent:
//
//   - A generation is the topic id of the log. The view of a partition belongs to one generation. Writes of another
//     generation are refused until a whole projection claims the partition.
//   - A write of a hospital names the version from which it starts and the version to which it leads. It is applied
//     if the stored version is between these two. If the stored version is newer, the writer has been replaced. If the
//     stored version is older, Redis lost writes, and the partition is no longer whole.
//   - The position is announced only while the partition is whole, after the writes up to it.
//   - The header contains the sum of the versions of its hospitals, which each write updates. If the sum is less than
//     the writer expects, Redis was restored to an older state. The partition is then not whole, and is rewritten.
//   - A reader that has read a header refuses an older one.
//   - Once a second, the processor of a partition writes a sign of life to the header, with the instant up to which
//     the view has everything in the log.
//
// The package does not interpret the encoded bytes.
package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"svc/internal/feeds"
)

// These are the reasons why the view cannot be read.
var (
	ErrAway     = errors.New("the view is unreachable")       // Redis does not respond
	ErrNotWhole = errors.New("the view is being rebuilt")     // some hospitals may be missing
	ErrNoUnit   = errors.New("the view has no such hospital") // no input was ever applied for the hospital
)

// Config configures the view.
type Config struct {
	// URL is the address of Redis: redis://user:password@host:6379/0, or rediss:// for TLS. With the parameter
	// master_name, the host is a Sentinel, each addr parameter is a further Sentinel, and username and password are
	// parameters, too. With cluster=true, the host and each addr parameter are nodes of a Redis Cluster, whose other
	// nodes are discovered through them. The user needs access to the keys ~svc:* and the channels &svc:*, and the
	// commands +hmget +hget +hgetall +hset +hdel +del +sadd +srem +smembers +zadd +zrem +zcard +zrange
	// +zrevrangebyscore +pexpire +time +info +evalsha +script|load +publish +subscribe +unsubscribe +ping +multi
	// +exec +hello +auth +select; for a cluster also +cluster|slots.
	URL string
	// CAFile is the file with the certificate authorities for rediss; if it is empty, the system's are used.
	CAFile string
	// Prefix is the prefix of all keys and channels; if empty, it is "svc:".
	Prefix string
	// Partition returns the partition of the log that a hospital belongs to.
	Partition func(hospital string) int32
	Now       func() time.Time
	Log       *slog.Logger
	// Patient gives each call 30 s, for commands that may run at the machine's lowest priority.
	Patient bool
	// Current restricts reads of hospitals to partitions that are known to be current, according to
	// [Projector.Pulse]. A read returns [ErrBehind] if its partition may be outdated.
	Current bool
}

// These are the limits of one call. An unavailable Redis delays a reader by less than a second. After a call without
// a response, further calls to the same node fail immediately for the duration of breather.
const (
	dialTimeout    = 400 * time.Millisecond
	callTimeout    = 500 * time.Millisecond
	patientTimeout = 30 * time.Second
	breather       = 200 * time.Millisecond
)

// View reads and writes the view. It is safe for concurrent use.
type View struct {
	*connection
	keys
	cfg         Config
	waitsAtMost time.Duration // maximum age of an input that the view lacks
}

// Open prepares a view. It connects on first use, so Redis may be unavailable.
func Open(cfg Config) (*View, error) {
	cfg.Prefix = cmp.Or(cfg.Prefix, "svc:")
	silence.Do(func() { redis.SetLogger(silent{}) })
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &connection{now: cfg.Now, log: cfg.Log}
	if err := c.connect(&cfg); err != nil {
		return nil, err
	}
	return &View{c, keys{cfg.Prefix, cfg.Partition}, cfg, waitsAtMost}, nil
}

// Derived returns a view on the same connections with an additional word in the prefix of its keys. The new view does
// not share keys with this view, and is used for data that is derived from verdicts.
func (b *View) Derived(word string) *View {
	derived := *b
	derived.prefix += word
	derived.waitsAtMost = DerivedAtMost
	return &derived
}

// Dated returns a view on the same connections and keys that can be read even if it is not current. It is for readers
// that compare versions.
func (b *View) Dated() *View {
	dated := *b
	dated.cfg.Current = false
	return &dated
}

// silence turns off the log of go-redis, which writes errors to standard error although the callers get them, too.
var silence sync.Once

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// The fields of the hashes. A header contains generation, whole, position, signs of life and versions. The hash of a
// hospital contains generation, version, position, chart, recent changes, and one field per room.
const (
	fieldGeneration = "g"
	fieldVersion    = "v"
	fieldPosition   = "p"
	fieldWhole      = "w"
	fieldSigns      = "s"
	fieldVersions   = "n"
	fieldChart      = "u"
	fieldRecent     = "d" // recent changes, see recent
	fieldRoom       = "r" // followed by the room's id
)

// keys builds the names of the keys and channels of a view in Redis. The braces put all keys of a partition into one
// hash slot of a cluster, so that one script may access them.
type keys struct {
	prefix      string
	partitionOf func(hospital string) int32
}

func (k *keys) key(partition int32, what string) string {
	return k.prefix + "{" + strconv.Itoa(int(partition)) + "}" + what
}

// of returns the key of a hospital for the given kind of data.
func (k *keys) of(hospital, what string) string {
	return k.key(k.partitionOf(hospital), what+":"+hospital)
}

// channel returns the channel that announces positions; changed returns the channel that announces new versions of a
// hospital.
func (k *keys) channel() string                { return k.prefix + "at" }
func (k *keys) changed(hospital string) string { return k.prefix + "changed:" + hospital }

// These are the keys of the charts.
func (k *keys) headerKey(partition int32) string  { return k.key(partition, "whole") }
func (k *keys) membersKey(partition int32) string { return k.key(partition, "units") }
func (k *keys) unitKey(partition int32, hospital string) string {
	return k.key(partition, "unit:"+hospital)
}

func (k *keys) localSettingsKey(partition int32, hospital string) string {
	return k.key(partition, "site:"+hospital)
}

func (k *keys) codesKey(partition int32, hospital string) string {
	return k.key(partition, "codes:"+hospital)
}

// These are the keys of the lists. An empty endpoint means all endpoints of the hospital.
func (k *keys) listedKey(partition int32) string { return k.key(partition, "listed") }

func (k *keys) orderKey(hospital, endpoint string) string {
	if endpoint == "" {
		return k.of(hospital, "sent")
	}
	return k.of(hospital, "sent") + ":" + endpoint
}

// noteKey returns the key of the hash with the notes of a kind. A command and a link have separate hashes, because each
// expires independently.
func (k *keys) noteKey(n note) string {
	key := k.of(n.hospital, n.kind)
	if n.kind == noteCommand || n.kind == noteLink {
		key += ":" + n.id
	}
	return key
}

// endedKey returns the key of the ids of a hospital's alert runs that have ended, sorted by when they ended.
func (k *keys) endedKey(hospital string) string { return k.of(hospital, noteEpisode) + ":ended" }

// These are the keys of the feeds.
func (k *keys) feedsKey(hospital string) string { return k.of(hospital, "feeds") }

func (k *keys) blockKey(hospital string, l feeds.Level, at time.Time) string {
	return k.feedsKey(hospital) + ":" + l.Name + strconv.FormatInt(at.UnixMilli()/l.Block.Milliseconds(), 10)
}

// noticesKey returns the key of the set of a hospital's feeds that have notices. The keys of each feed's notices
// begin with this key.
func (k *keys) noticesKey(hospital string) string { return k.feedsKey(hospital) + ":notices" }

// usedKey returns the key of the hash with the last use of each API key, in Unix ms.
func (k *keys) usedKey() string { return k.prefix + "used" }

// Embedded is a Redis in this process, on a loopback port. It loses its data on Close.
type Embedded struct{ server *miniredis.Miniredis }

// Embed starts an embedded Redis.
func Embed() (*Embedded, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start embedded Redis: %w", err)
	}
	return &Embedded{server: server}, nil
}

// URL returns the address of the Redis.
func (e *Embedded) URL() string { return "redis://" + e.server.Addr() }

// Close stops the Redis.
func (e *Embedded) Close() { e.server.Close() }
