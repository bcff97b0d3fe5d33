// Package view keeps the charts of the units in Redis. Processors write them, readers read them.
//
// The view is derived from the log. It can be deleted at any time, and is then written again.
//
// A hospital has three hashes of the same version. The first has the encoded unit chart and an
// encoded chart of each room. It also has the rooms that changed lately once more, the version and
// the input position. The second has what administrators see in lists, the third the codes of the
// worklist. No read of a unit touches these two.
//
// A partition of the log has one header. It says that all hospitals of the partition are in the
// view, and names the generation of the log. It also says up to which input, and up to which
// instant, nothing is missing. Without a header a read returns [ErrNotWhole], never [ErrNoUnit];
// with an old one, [ErrBehind].
//
// These rules keep hospitals and header consistent:
//
//   - A generation is the topic id of the log. The view of a partition has one. A write of another
//     one is refused until a whole projection claims the partition.
//   - A write of a hospital names the version it starts from. It is applied if the stored version
//     lies between that and its own. If the stored version is newer, the writer is a late zombie.
//     If it is older, Redis lost writes, and the partition is not whole any more.
//   - The position is announced only while the partition is whole, after the writes up to it.
//   - The header has the sum of the versions of its hospitals, which each write keeps. If it is below
//     the sum that the writer knows, Redis came back with an older state. Then the partition is
//     not whole, and is written again.
//   - A reader that has seen a header refuses an older one.
//   - Once a second the processor of a partition writes in the header that it lives. It adds up to
//     which instant the view has everything in the log.
//
// The package moves encoded bytes and does not know what is in them.
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

// The reasons why the view cannot be read.
var (
	ErrAway     = errors.New("the view is unreachable")       // Redis does not answer
	ErrNotWhole = errors.New("the view is being rebuilt")     // some hospitals may not be in it yet
	ErrNoUnit   = errors.New("the view has no such hospital") // nothing was ever applied for it
)

// Config says where the view is.
type Config struct {
	// URL of Redis: redis://user:password@host:6379/0, or rediss:// for TLS. With the parameter
	// master_name the host is a Sentinel, each addr is another one, and username and password are
	// parameters as well. The user needs keys ~svc:*, channels &svc:* and +hmget +hget +hgetall +hset
	// +hdel +del +sadd +srem +smembers +zadd +zrem +zcard +zrange +zrevrangebyscore +pexpire +time
	// +evalsha +script|load +publish +subscribe +unsubscribe +ping +multi +exec +hello +auth +select.
	URL string
	// CAFile holds the certificate authorities for rediss; empty: the authorities of the system.
	CAFile string
	// Prefix of all keys and channels; "svc:" if empty.
	Prefix string
	// Partition returns the partition of the log that a hospital belongs to.
	Partition func(hospital string) int32
	Now       func() time.Time
	Log       *slog.Logger
	// Patient gives each call 30 s. A command may run at the lowest priority of the machine, and
	// nobody waits for its answer.
	Patient bool
	// Current restricts reads of hospitals to partitions that are known to lack nothing, from the
	// reports by [Projector.Pulse]. Reads of others return [ErrBehind].
	Current bool
}

// The limits of one call. A Redis that is away costs a reader less than a second. After a failure,
// calls fail at once for the time of breather.
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
	waitsAtMost time.Duration // for an input that the view lacks
}

// Open prepares a view. It connects on first use, so Redis may be away.
func Open(cfg Config) (*View, error) {
	cfg.Prefix = cmp.Or(cfg.Prefix, "svc:")
	silence.Do(func() { redis.SetLogger(silent{}) })
	c := &connection{now: cfg.Now}
	var err error
	if c.redis, err = newClient(&cfg, c.meet); err != nil {
		return nil, err
	}
	return &View{c, keys{cfg.Prefix, cfg.Partition}, cfg, waitsAtMost}, nil
}

// Beside returns a view on the same connections, with one more word in the prefix of its keys. It
// shares no keys with this one. It is for what is made from verdicts.
func (b *View) Beside(word string) *View {
	beside := *b
	beside.prefix += word
	beside.waitsAtMost = BesideAtMost
	return &beside
}

// Dated returns a view on the same connections and keys that can be read when it is not current.
// Its readers compare versions.
func (b *View) Dated() *View {
	dated := *b
	dated.cfg.Current = false
	return &dated
}

// go-redis logs errors to standard error, although its callers get them.
var silence sync.Once

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// The fields. A header has generation, whole, position, signs and versions. The hash of a hospital has
// generation, version, position, chart, what changed lately, and one field per room.
const (
	fieldGeneration = "g"
	fieldVersion    = "v"
	fieldPosition   = "p"
	fieldWhole      = "w"
	fieldSigns      = "s"
	fieldVersions   = "n"
	fieldChart      = "u"
	fieldRecent     = "d" // what changed lately, see recent
	fieldRoom       = "r" // and the room's id
)

// keys names the keys and channels of a view in Redis. The braces put all keys of a partition into
// one slot of a cluster, so that one script may touch them.
type keys struct {
	prefix      string
	partitionOf func(hospital string) int32
}

func (k *keys) key(partition int32, what string) string {
	return k.prefix + "{" + strconv.Itoa(int(partition)) + "}" + what
}

// of returns a key of a hospital.
func (k *keys) of(hospital, what string) string {
	return k.key(k.partitionOf(hospital), what+":"+hospital)
}

// channel is where positions are announced, changed where new versions of a hospital are.
func (k *keys) channel() string                { return k.prefix + "at" }
func (k *keys) changed(hospital string) string { return k.prefix + "changed:" + hospital }

// The keys of the charts.
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

// The keys of the lists. An endpoint of "" is all of the hospital.
func (k *keys) listedKey(partition int32) string { return k.key(partition, "listed") }

func (k *keys) orderKey(hospital, endpoint string) string {
	if endpoint == "" {
		return k.of(hospital, "sent")
	}
	return k.of(hospital, "sent") + ":" + endpoint
}

// noteKey is the key of a hash with notes of a kind. A command and a link have a hash of their own,
// because each expires by itself.
func (k *keys) noteKey(n note) string {
	key := k.of(n.hospital, n.kind)
	if n.kind == noteCommand || n.kind == noteLink {
		key += ":" + n.id
	}
	return key
}

// The keys of the feeds.
func (k *keys) feedsKey(hospital string) string { return k.of(hospital, "feeds") }

func (k *keys) blockKey(hospital string, l feeds.Level, at time.Time) string {
	return k.feedsKey(hospital) + ":" + l.Name + strconv.FormatInt(at.UnixMilli()/l.Block.Milliseconds(), 10)
}

// noticesKey is the key of the set of feeds of a hospital that have notices. The keys of the
// notices of a feed begin with it.
func (k *keys) noticesKey(hospital string) string { return k.feedsKey(hospital) + ":notices" }

// usedKey is the key of the hash with the last use of each API key, in Unix ms.
func (k *keys) usedKey() string { return k.prefix + "used" }

// Embedded is a Redis inside this process, on a port of the loopback address. It keeps nothing
// after Close.
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
