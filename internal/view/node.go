package view

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// node is one Redis: the only one, or one primary of a Redis Cluster. A failure of one node does not affect calls to
// the others.
type node struct {
	redis *redis.Client
	now   func() time.Time
	fault error // why the node of a key is unknown; nil: it is known
	// closedUntil is set after a call without a response, in Unix ms. Until then, calls fail immediately instead of
	// each waiting for its timeout.
	closedUntil atomic.Int64
	awaySince   atomic.Int64           // end of the first of consecutive calls without a response, in Unix ms; 0: the last call had a response
	process     atomic.Pointer[string] // id of the process that responds; nil: Redis does not report one
	reading     atomic.Pointer[clockReading]
	asked       atomic.Int64 // when the node's clock was last queried, in Unix ms of the local clock
	loaded      atomic.Bool  // whether the node probably still has the scripts of the projector
}

// clockReading is a time by the clock of a node, and the local time when it arrived.
type clockReading struct{ theirs, ours time.Time }

// clockEvery is the interval between readings of a node's clock. The clock is read repeatedly, because the address may
// have moved to another Redis.
const clockEvery = time.Second

// recordProcess records which Redis process responds on a new connection to a node. The process is unknown if the
// user has no permission for INFO, or if Redis is embedded.
func (c *connection) recordProcess(ctx context.Context, conn *redis.Conn, n *node) error {
	info, err := conn.Info(ctx, "server").Result()
	if answer := redis.Error(nil); errors.As(err, &answer) {
		c.complain(ctx, err)
		return nil
	}
	switch {
	case err != nil:
		return fmt.Errorf("connect to Redis: %w", err)
	case strings.Contains(info, "redis_mode:sentinel"):
		return nil // connections to a Sentinel serve no reads
	case strings.Contains(info, "redis_mode:cluster") && c.cluster == nil:
		return errCluster
	}
	_, rest, _ := strings.Cut(info, "run_id:")
	id, _, _ := strings.Cut(rest, "\r")
	if known := n.process.Load(); id == "" || known != nil && *known == id {
		return nil
	}
	at, err := conn.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("connect to Redis: %w", err)
	}
	n.reading.Store(&clockReading{at, n.now()})
	n.process.Store(&id)
	return nil
}

// awayFor returns how long calls to the node have gone without a response, or 0 if the last call had one.
func (n *node) awayFor() time.Duration {
	since := n.awaySince.Load()
	if since == 0 {
		return 0
	}
	return n.now().Sub(time.UnixMilli(since))
}

// clockIsDue reports whether the caller should read the clock of the node.
func (n *node) clockIsDue() bool {
	if n.reading.Load() == nil {
		return true
	}
	last, ms := n.asked.Load(), n.now().UnixMilli()
	return (ms-last >= clockEvery.Milliseconds() || ms < last) && n.asked.CompareAndSwap(last, ms)
}

// setClock stores the response to a TIME command.
func (n *node) setClock(answer *redis.TimeCmd) {
	if theirs, err := answer.Result(); err == nil {
		n.reading.Store(&clockReading{theirs, n.now()})
	}
}

// redisNow returns the time of the node's clock or, before its first reading, the local time.
func (n *node) redisNow() time.Time {
	now := n.now()
	if r := n.reading.Load(); r != nil {
		return r.theirs.Add(now.Sub(r.ours))
	}
	return now
}

// newcomer is the Redis process that responds for a partition. It may just have replaced another process, after a
// restart or a failover to a replica, and its data may be older than its predecessor's.
type newcomer struct {
	node    *node
	process *string
	at      time.Time // when the process was first queried for the partition, by its own clock
	first   sync.Map  // the pulse of the header at a key, as first read: string to time.Time
}

// proves reports whether a header that was last written at pulse proves that a processor has checked the data of the
// newcomer. Processors check the data with every pulse, once a second. A pulse is a proof if it is later than the
// first pulse that was read at this key, or so late that the newcomer's predecessor cannot have stored it.
func (m *newcomer) proves(key string, pulse time.Time) bool {
	if pulse.Sub(m.at) > knownWithin {
		return true
	}
	first, _ := m.first.LoadOrStore(key, pulse)
	return pulse.After(first.(time.Time)) //nolint:errcheck // only times are stored
}

// servedBy returns the process that responds for the partition of a key, or nil if nothing identifies it.
func (c *connection) servedBy(n *node, key string) *newcomer {
	process := n.process.Load()
	if process == nil && c.cluster == nil {
		return nil
	}
	current := &c.newcomer
	if c.cluster != nil {
		found, there := c.newcomers.Load(slotOf(key))
		if !there {
			found, _ = c.newcomers.LoadOrStore(slotOf(key), new(atomic.Pointer[newcomer]))
		}
		current = found.(*atomic.Pointer[newcomer]) //nolint:errcheck // only newcomers are stored
	}
	for {
		known := current.Load()
		if known != nil && known.node == n && known.process == process {
			return known
		}
		if fresh := (&newcomer{node: n, process: process, at: n.redisNow()}); current.CompareAndSwap(known, fresh) {
			return fresh
		}
	}
}

// slotOf returns the part of a key that determines which node of a cluster stores the key. For the keys of a
// partition, this part is the partition.
func slotOf(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// nodeOf returns the node that has a key. While the nodes of a cluster are unknown, all calls to the returned node
// fail.
func (c *connection) nodeOf(ctx context.Context, key string) *node {
	if c.cluster == nil {
		return c.only
	}
	if until := c.unknown.closedUntil.Load(); until != 0 && c.unknown.now().UnixMilli() < until {
		return c.failing(ErrAway)
	}
	client, err := c.cluster.MasterForKey(ctx, key)
	if err != nil {
		if ctx.Err() == nil {
			c.complain(ctx, err)
			c.unknown.close()
		}
		return c.failing(err)
	}
	c.unknown.open()
	n, there := c.nodes.Load(client)
	if !there {
		return c.failing(ErrAway)
	}
	return n.(*node) //nolint:errcheck // only nodes are stored
}

// failing returns a node on which all calls fail with the given error.
func (c *connection) failing(why error) *node {
	n := &node{redis: c.unknown.redis, now: c.now, fault: why}
	n.awaySince.Store(c.unknown.awaySince.Load())
	return n
}

// close records that the node did not respond. Until closedUntil, further calls to the node fail immediately.
func (n *node) close() {
	now := n.now()
	n.closedUntil.Store(now.Add(breather).UnixMilli())
	n.awaySince.CompareAndSwap(0, now.UnixMilli())
}

// open records that the node responded.
func (n *node) open() {
	if n.awaySince.Load() != 0 {
		n.awaySince.Store(0)
	}
}

// eachNode calls the function do for every primary, in parallel, and returns the first error.
func (c *connection) eachNode(ctx context.Context, do func(ctx context.Context, n *node) error) error {
	if c.cluster == nil {
		return do(ctx, c.only)
	}
	err := c.cluster.ForEachMaster(ctx, func(ctx context.Context, client *redis.Client) error {
		if n, there := c.nodes.Load(client); there {
			return do(ctx, n.(*node)) //nolint:errcheck // only nodes are stored
		}
		return ErrAway
	})
	if err != nil && !errors.Is(err, ErrAway) {
		c.complain(ctx, err)
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return err
}

// byNode groups the indexes of keys by the node that has the key.
func (c *connection) byNode(ctx context.Context, keys []string) map[*node][]int {
	groups := map[*node][]int{}
	for i, key := range keys {
		n := c.nodeOf(ctx, key)
		groups[n] = append(groups[n], i)
	}
	return groups
}

// parallel calls the function do for every group, in parallel if there are several groups.
func parallel(groups map[*node][]int, do func(n *node, indexes []int)) {
	var all sync.WaitGroup
	for n, indexes := range groups {
		if len(groups) == 1 {
			do(n, indexes)
			return
		}
		all.Go(func() { do(n, indexes) })
	}
	all.Wait()
}
