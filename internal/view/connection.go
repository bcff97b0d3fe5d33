package view

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// connection holds the connections to Redis. All views that use them share its state: whether Redis responds, and the
// clock of Redis.
type connection struct {
	redis      *redis.Client
	now        func() time.Time
	log        *slog.Logger
	complained sync.Map // when each failure was last logged: string to time.Time
	// closedUntil is set after a call without a response, in Unix ms. Until then, calls fail immediately instead of
	// each waiting for its timeout.
	closedUntil atomic.Int64
	awaySince   atomic.Int64 // when the first call of the current series without a response ended, in Unix ms; 0: the last call had a response
	reading     atomic.Pointer[clockReading]
	asked       atomic.Int64 // when the clock of Redis was last queried, in Unix ms of the local clock
	furthest    sync.Map     // the newest known header, by key: string to *atomic.Pointer[header]

	meeting sync.Mutex
	process string                   // id of the Redis process; "": Redis does not report one
	another atomic.Pointer[newcomer] // the process that responds; nil: no process has responded, or it does not report an id
}

// newcomer is a Redis process that this connection has met. It may just have replaced another process, after a restart
// or a failover to a replica, and its data may be older than its predecessor's.
type newcomer struct {
	at    time.Time // when the process was first met, by the clock of that process
	first sync.Map  // pulse of the header that was first read at a key: string to time.Time
}

// recordProcess records which Redis process responds on a new connection. The process remains unknown if the user has
// no permission for INFO, or if Redis is embedded.
func (c *connection) recordProcess(ctx context.Context, conn *redis.Conn) error {
	info, err := conn.Info(ctx, "server").Result()
	if answer := redis.Error(nil); errors.As(err, &answer) {
		c.complain(ctx, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("connect to Redis: %w", err)
	}
	if strings.Contains(info, "redis_mode:sentinel") {
		return nil // the connection serves no reads
	}
	_, rest, _ := strings.Cut(info, "run_id:")
	id, _, _ := strings.Cut(rest, "\r")
	if id == "" {
		return nil
	}
	c.meeting.Lock()
	defer c.meeting.Unlock()
	if c.process != id {
		at, err := conn.Time(ctx).Result()
		if err != nil {
			return fmt.Errorf("connect to Redis: %w", err)
		}
		c.another.Store(&newcomer{at: at})
	}
	c.process = id
	return nil
}

// proves reports whether a header that was last written at pulse proves that a processor has checked the data of the
// newcomer. Processors check the data with every pulse, once a second. So a header qualifies if it differs from the
// first one that was read, or if it is newer than any that the predecessor can have written.
func (n *newcomer) proves(key string, pulse time.Time) bool {
	if n == nil || pulse.Sub(n.at) > knownWithin {
		return true
	}
	first, _ := n.first.LoadOrStore(key, pulse)
	return pulse.After(first.(time.Time)) //nolint:errcheck // only times are stored
}

// Close ends the connections.
func (c *connection) Close() error {
	if err := c.redis.Close(); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	return nil
}

// Ping returns [ErrAway] if Redis does not respond.
func (c *connection) Ping(ctx context.Context) error {
	return c.call(ctx, func() error { return c.redis.Ping(ctx).Err() })
}

// call makes one round trip, unless a recent round trip has failed. A timeout of the caller, or of the connection pool,
// is no evidence about Redis. Only if a call fails within its own limits do later calls fail immediately.
func (c *connection) call(ctx context.Context, do func() error) error {
	now := c.now()
	if until := c.closedUntil.Load(); until != 0 && now.UnixMilli() < until {
		return ErrAway
	}
	err := do()
	if err == nil || errors.Is(err, redis.Nil) {
		if c.awaySince.Load() != 0 {
			c.awaySince.Store(0)
		}
		return nil
	}
	for _, moved := range []string{"MOVED", "ASK", "CROSSSLOT", "CLUSTERDOWN"} {
		if redis.HasErrorPrefix(err, moved) {
			err = fmt.Errorf("%w: %w", errCluster, err)
		}
	}
	deadline, limited := ctx.Deadline()
	impatient := ctx.Err() != nil || limited && deadline.Before(now.Add(dialTimeout+callTimeout))
	answer := redis.Error(nil)
	if answered := errors.As(err, &answer); answered || !impatient {
		c.complain(ctx, err)
	}
	if !impatient && !errors.As(err, &answer) && !errors.Is(err, redis.ErrPoolTimeout) {
		now = c.now()
		c.closedUntil.Store(now.Add(breather).UnixMilli())
		c.awaySince.CompareAndSwap(0, now.UnixMilli())
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// awayFor returns how long calls have gone without a response, or 0 if the last call had one.
func (c *connection) awayFor() time.Duration {
	since := c.awaySince.Load()
	if since == 0 {
		return 0
	}
	return c.now().Sub(time.UnixMilli(since))
}

// exec runs the commands of a pipeline in one round trip.
func (c *connection) exec(ctx context.Context, pipe redis.Pipeliner) error {
	return c.call(ctx, func() error { _, err := pipe.Exec(ctx); return err })
}

// runScript runs a script. If Redis has lost it in a restart, runScript loads it and runs it again.
func (c *connection) runScript(ctx context.Context, s *redis.Script, keys []string, args ...any) (answer *redis.Cmd, err error) {
	err = c.call(ctx, func() error {
		answer = s.EvalSha(ctx, c.redis, keys, args...)
		if redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") {
			if lost := s.Load(ctx, c.redis).Err(); lost != nil {
				return lost
			}
			answer = s.EvalSha(ctx, c.redis, keys, args...)
		}
		return answer.Err()
	})
	return answer, err
}

// clockReading is a time by the Redis clock, and the local time when it arrived.
type clockReading struct{ theirs, ours time.Time }

// clockEvery is the interval between readings of the Redis clock. The clock is read repeatedly, because the address
// may have moved to another Redis.
const clockEvery = time.Second

// clockIsDue reports whether the caller should read the clock of Redis.
func (c *connection) clockIsDue() bool {
	if c.reading.Load() == nil {
		return true
	}
	last, ms := c.asked.Load(), c.now().UnixMilli()
	return (ms-last >= clockEvery.Milliseconds() || ms < last) && c.asked.CompareAndSwap(last, ms)
}

// setClock stores the response to a TIME command.
func (c *connection) setClock(answer *redis.TimeCmd) {
	if theirs, err := answer.Result(); err == nil {
		c.reading.Store(&clockReading{theirs, c.now()})
	}
}

// readClock reads the clock of Redis if a reading is due.
func (c *connection) readClock(ctx context.Context) error {
	if !c.clockIsDue() {
		return nil
	}
	return c.call(ctx, func() error {
		answer := c.redis.Time(ctx)
		c.setClock(answer)
		return answer.Err()
	})
}

// redisNow returns the time of the Redis clock or, before its first reading, the local time.
func (c *connection) redisNow() time.Time {
	now := c.now()
	if r := c.reading.Load(); r != nil {
		return r.theirs.Add(now.Sub(r.ours))
	}
	return now
}

// headerQuestion requests a header in a pipeline. Once the pipeline has run, header returns the result.
type headerQuestion struct {
	connection *connection
	fields     *redis.SliceCmd
	clock      *redis.TimeCmd // nil: the clock of Redis was read recently
	furthest   *atomic.Pointer[header]
	least      *header // newest header known before the request; nil: none
	key        string
	another    *newcomer // process that responded before the request
}

// askHeader requests the header at a key and, once a second, the time of Redis.
func (c *connection) askHeader(ctx context.Context, pipe redis.Pipeliner, key string) headerQuestion {
	q := headerQuestion{
		connection: c, furthest: c.furthestOf(key), key: key, another: c.another.Load(),
		fields: pipe.HMGet(ctx, key, fieldGeneration, fieldWhole, fieldPosition, fieldSigns, fieldVersions),
	}
	q.least = q.furthest.Load()
	if c.clockIsDue() {
		q.clock = pipe.Time(ctx)
	}
	return q
}

func (q *headerQuestion) header() header {
	if q.clock != nil {
		q.connection.setClock(q.clock)
	}
	h := headerOf(q.fields.Val())
	h.older = h.isBefore(q.least)
	another := q.connection.another.Load() // if the process changed in the meantime, it is unknown which one responded
	h.unproved = another != q.another || !another.proves(q.key, h.pulse)
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

// storeFurthest stores a header unless a newer one is known.
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

// readHeaders reads the headers of some partitions in one round trip. key returns the header key of a partition.
func (c *connection) readHeaders(ctx context.Context, key func(int32) string, partitions ...int32) ([]header, error) {
	pipe := c.redis.Pipeline()
	questions := make([]headerQuestion, len(partitions))
	for i, partition := range partitions {
		questions[i] = c.askHeader(ctx, pipe, key(partition))
	}
	if err := c.exec(ctx, pipe); err != nil {
		return nil, err
	}
	all := make([]header, len(partitions))
	for i := range questions {
		all[i] = questions[i].header()
	}
	return all, nil
}

// faults returns why the partitions 0 to n-1 cannot be read, according to their headers. most is the longest time that
// an input may have been pending.
func (c *connection) faults(ctx context.Context, key func(int32) string, n int32, most time.Duration) (map[int32]error, error) {
	partitions := make([]int32, n)
	for i := range partitions {
		partitions[i] = int32(i)
	}
	headers, err := c.readHeaders(ctx, key, partitions...)
	if err != nil {
		return nil, err
	}
	faults := map[int32]error{}
	for i := range headers {
		if fault := headers[i].fault(c.redisNow(), most); fault != nil {
			faults[partitions[i]] = fault
		}
	}
	return faults, nil
}

// writer is the loop of a component that writes to Redis. A signal starts a write.
type writer struct {
	what string // name in the log
	log  *slog.Logger
	wake chan struct{} // holds a token while there is something to write
	last atomic.Pointer[error]
}

// These are the intervals of a writer.
const (
	retryMin   = 50 * time.Millisecond // after a failure, doubled each time
	retryMax   = time.Second
	untilWoken = time.Hour
)

func newWriter(what string, log *slog.Logger) writer {
	return writer{what: what, log: log, wake: make(chan struct{}, 1)}
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

// run writes until ctx ends, and returns the error of ctx. It calls the function write after a signal, once the
// duration that the function returned has passed, and again after a failure. uncertain says whether Redis may lack
// data that was written before. It is true for the first call and after a failed call.
func (w *writer) run(ctx context.Context, write func(uncertain bool) (next time.Duration, err error)) error {
	retry := time.Duration(0)
	for uncertain := true; ; {
		next, err := write(uncertain)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if uncertain = err != nil; uncertain {
			w.last.Store(&err)
			if retry == 0 {
				w.log.WarnContext(ctx, "view not written; the latest charts are kept", "what", w.what, "error", err)
			}
			retry = min(max(2*retry, retryMin), retryMax)
			pause(ctx, retry, nil)
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
