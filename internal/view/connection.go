package view

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// connection holds the connections to Redis. All views that use it share its state: which nodes respond, and the
// clocks of the nodes.
type connection struct {
	client     redis.UniversalClient // for subscriptions and Close; all commands are sent to a node
	cluster    *redis.ClusterClient  // client that knows which node has a key; nil: there is only one node
	only       *node                 // the only node; nil: a cluster
	nodes      sync.Map              // the nodes of a cluster: *redis.Client to *node
	unknown    *node                 // placeholder for nodes of a cluster that cannot be found; nil: there is only one node
	now        func() time.Time
	log        *slog.Logger
	complained sync.Map                 // when each failure was last logged: string to time.Time
	furthest   sync.Map                 // the newest known header, by key: string to *atomic.Pointer[header]
	newcomer   atomic.Pointer[newcomer] // the Redis process that responds; nil: none has responded, or it does not report an id
	newcomers  sync.Map                 // newcomer for each slot of a cluster: string to *atomic.Pointer[newcomer]
}

// Close ends the connections.
func (c *connection) Close() error {
	if err := c.client.Close(); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	return nil
}

// Ping returns [ErrAway] if Redis, or a primary of the cluster, does not respond.
func (c *connection) Ping(ctx context.Context) error {
	return c.eachNode(ctx, func(ctx context.Context, n *node) error {
		return c.call(ctx, n, func() error { return n.redis.Ping(ctx).Err() })
	})
}

// call makes one round trip to a node. Every error, including an error response, is an [ErrAway]. After a round trip
// without a response, calls to the node fail immediately for a short time. A failure that the caller's deadline or
// the timeout of the connection pool may have caused does not have this effect, because it says nothing about the
// node.
func (c *connection) call(ctx context.Context, n *node, do func() error) error {
	now := c.now()
	switch until := n.closedUntil.Load(); {
	case errors.Is(n.fault, ErrAway):
		return ErrAway
	case n.fault != nil:
		return fmt.Errorf("%w: %w", ErrAway, n.fault)
	case until != 0 && now.UnixMilli() < until:
		return ErrAway
	}
	err := do()
	if err == nil || errors.Is(err, redis.Nil) {
		n.open()
		return nil
	}
	err = c.findMoved(ctx, err)
	deadline, limited := ctx.Deadline()
	impatient := ctx.Err() != nil || limited && deadline.Before(now.Add(dialTimeout+callTimeout))
	answer := redis.Error(nil)
	if answered := errors.As(err, &answer); answered || !impatient {
		c.complain(ctx, err)
	}
	if !impatient && !errors.As(err, &answer) && !errors.Is(err, redis.ErrPoolTimeout) {
		n.close()
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// findMoved reloads the slot map of a cluster if an error states, or may mean, that keys have moved to another node.
// Calls do not follow a redirection, because the caller must know which node responded. If the error shows that Redis
// is a cluster although --redis does not say so, findMoved returns the error together with [errCluster].
func (c *connection) findMoved(ctx context.Context, err error) error {
	moved := slices.ContainsFunc([]string{"MOVED", "ASK", "CROSSSLOT", "CLUSTERDOWN"}, func(prefix string) bool {
		return redis.HasErrorPrefix(err, prefix)
	})
	answer := redis.Error(nil)
	switch {
	case c.cluster == nil && moved:
		return fmt.Errorf("%w: %w", errCluster, err)
	case c.cluster != nil && (moved || !errors.As(err, &answer) || redis.HasErrorPrefix(err, "READONLY")):
		c.cluster.ReloadState(ctx)
	}
	return err
}

// exec runs the commands of a pipeline in one round trip to a node.
func (c *connection) exec(ctx context.Context, n *node, pipe redis.Pipeliner) error {
	return c.call(ctx, n, func() error { _, err := pipe.Exec(ctx); return err })
}

// runScript runs a script on the node that has the keys. If the node has lost the script in a restart, runScript
// loads the script and runs it again.
func (c *connection) runScript(ctx context.Context, s *redis.Script, keys []string, args ...any) (answer *redis.Cmd, err error) {
	n := c.nodeOf(ctx, keys[0])
	err = c.call(ctx, n, func() error {
		answer = s.EvalSha(ctx, n.redis, keys, args...)
		if redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") {
			if lost := s.Load(ctx, n.redis).Err(); lost != nil {
				return lost
			}
			answer = s.EvalSha(ctx, n.redis, keys, args...)
		}
		return answer.Err()
	})
	return answer, err
}

// readClock reads the clock of a node if a reading is due.
func (c *connection) readClock(ctx context.Context, n *node) error {
	if !n.clockIsDue() {
		return nil
	}
	return c.call(ctx, n, func() error {
		answer := n.redis.Time(ctx)
		n.setClock(answer)
		return answer.Err()
	})
}

// headerQuestion requests a header in a pipeline. Once the pipeline has run, header returns the result.
type headerQuestion struct {
	connection *connection
	node       *node
	fields     *redis.SliceCmd
	clock      *redis.TimeCmd // nil: the clock of the node was read recently
	furthest   *atomic.Pointer[header]
	least      *header // newest header known before the request; nil: none
	key        string
	newcomer   *newcomer // process that responded before the request
}

// askHeader requests the header at a key of a node and, once a second, the node's time.
func (c *connection) askHeader(ctx context.Context, n *node, pipe redis.Pipeliner, key string) headerQuestion {
	q := headerQuestion{
		connection: c, node: n, furthest: c.furthestOf(key), key: key, newcomer: c.servedBy(n, key),
		fields: pipe.HMGet(ctx, key, fieldGeneration, fieldWhole, fieldPosition, fieldSigns, fieldVersions),
	}
	q.least = q.furthest.Load()
	if n.clockIsDue() {
		q.clock = pipe.Time(ctx)
	}
	return q
}

func (q *headerQuestion) header() header {
	if q.clock != nil {
		q.node.setClock(q.clock)
	}
	h := headerOf(q.fields.Val())
	h.readAt = q.node.redisNow()
	h.older = h.isBefore(q.least)
	newcomer := q.connection.servedBy(q.node, q.key) // if another process responds now, it is unknown which of the two sent the header
	h.unproved = newcomer != q.newcomer || newcomer != nil && !newcomer.proves(q.key, h.pulse)
	if h.whole {
		storeFurthest(q.furthest, &h)
	}
	return h
}

func (c *connection) furthestOf(key string) *atomic.Pointer[header] {
	known, there := c.furthest.Load(key)
	if !there {
		known, _ = c.furthest.LoadOrStore(key, new(atomic.Pointer[header]))
	}
	return known.(*atomic.Pointer[header]) //nolint:errcheck // only headers are stored
}

// storeFurthest updates the newest known header with a header that was read. The position and the versions never
// decrease, unless the generation has changed.
func storeFurthest(furthest *atomic.Pointer[header], h *header) {
	for {
		known := furthest.Load()
		more := header{generation: h.generation, position: h.position, versions: h.versions}
		if known != nil && known.generation == h.generation {
			more.position, more.versions = max(known.position, h.position), max(known.versions, h.versions)
		}
		if known != nil && *known == more || furthest.CompareAndSwap(known, &more) {
			return
		}
	}
}

// readHeaders reads the headers of some partitions, in one round trip to each node. key returns the key of the header
// of a partition. If a node does not respond, the headers of its partitions contain the error; if no node responds,
// readHeaders also returns an error.
func (c *connection) readHeaders(ctx context.Context, key func(int32) string, partitions ...int32) ([]header, error) {
	keys := make([]string, len(partitions))
	for i, partition := range partitions {
		keys[i] = key(partition)
	}
	all := make([]header, len(partitions))
	groups := c.byNode(ctx, keys)
	parallel(groups, func(n *node, indexes []int) {
		pipe := n.redis.Pipeline()
		questions := make([]headerQuestion, len(indexes))
		for i, index := range indexes {
			questions[i] = c.askHeader(ctx, n, pipe, keys[index])
		}
		err := c.exec(ctx, n, pipe)
		for i, index := range indexes {
			if err != nil {
				all[index] = header{position: -1, away: err, awayFor: n.awayFor()}
				continue
			}
			all[index] = questions[i].header()
		}
	})
	for i := range all {
		if all[i].away == nil {
			return all, nil
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, all[0].away
}

// faults returns which of the partitions 0 to n-1 cannot be read according to their headers, and why. most is the
// longest time that an input may have been pending.
func (c *connection) faults(ctx context.Context, key func(int32) string, n int32, most time.Duration) (map[int32]error, error) {
	headers, err := c.readHeaders(ctx, key, upTo(n)...)
	if err != nil {
		return nil, err
	}
	faults := map[int32]error{}
	for i := range headers {
		if fault := headers[i].fault(most); fault != nil {
			faults[int32(i)] = fault
		}
	}
	return faults, nil
}

// writer is the loop of a component that writes to Redis. A signal starts a write.
type writer struct {
	what string // name in the log
	log  *slog.Logger
	wake chan struct{} // holds a token while there is something to write
	// retryOn is the channel that ends the pause after a failure. It is nil or, in a cluster, wake, because the nodes
	// that respond must not wait for a node that does not.
	retryOn <-chan struct{}
	last    atomic.Pointer[error]
}

// These are the intervals of a writer.
const (
	retryMin   = 50 * time.Millisecond // pause after the first failure; each further failure doubles it
	retryMax   = time.Second
	untilWoken = time.Hour
)

func (b *View) newWriter(what string) writer {
	wake := make(chan struct{}, 1)
	var retryOn <-chan struct{}
	if b.cluster != nil {
		retryOn = wake
	}
	return writer{what: what, log: b.cfg.Log, wake: wake, retryOn: retryOn}
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// lastFault returns the error of the last attempt to write, or nil if it succeeded.
func (w *writer) lastFault() error {
	if err := w.last.Load(); err != nil {
		return *err
	}
	return nil
}

// run calls the function write repeatedly until ctx ends, and returns the error of ctx. The next call comes after a
// signal or after the duration that write has returned or, if write has failed, after a pause.
func (w *writer) run(ctx context.Context, write func() (next time.Duration, err error)) error {
	for retry := time.Duration(0); ; {
		next, err := write()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.last.Store(&err)
			if retry == 0 {
				w.log.WarnContext(ctx, "view not written; the latest changes are kept in memory and written later", "what", w.what, "error", err)
			}
			retry = min(max(2*retry, retryMin), retryMax)
			pause(ctx, retry, w.retryOn)
			continue
		}
		w.last.Store(nil)
		if retry != 0 {
			w.log.InfoContext(ctx, "view written again", "what", w.what)
			retry = 0
		}
		pause(ctx, next, w.wake)
	}
}

// pause waits until a duration has passed, a signal arrives or the context ends.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	if d <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-wake:
	case <-ctx.Done():
	}
}
