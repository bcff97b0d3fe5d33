package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrBehind means that the view may lack inputs that were acknowledged to their senders.
var ErrBehind = errors.New("the view is behind the log, or nobody can tell")

// BehindError is an [ErrBehind] with its duration.
type BehindError struct {
	For time.Duration // how long the view may have lacked something; 0: always
	why string
}

func (e *BehindError) Error() string { return ErrBehind.Error() + ": " + e.why }

// Is reports whether the error asked for is [ErrBehind].
func (*BehindError) Is(target error) bool { return target == ErrBehind }

// The limits within which the view of a partition can be read. Healthy processors report each
// second that nothing is missing.
const (
	knownWithin = 5 * time.Second // since the instant up to which nothing is missing
	waitsAtMost = 2 * time.Second // for the oldest input that is known to wait
	// BesideAtMost is waitsAtMost for forecasts and lists. They are made from verdicts, a second
	// later.
	BesideAtMost = 3 * time.Second
)

// header describes the view of a partition. Its instants are of the clock of Redis, which all
// writers and readers share.
type header struct {
	generation string
	whole      bool
	position   int64 // of the last input in the view; -1: none yet
	signs
}

// signs are the fields that the processor of a partition writes each second.
type signs struct {
	pulse   time.Time     // when they were written; zero: never
	asOf    time.Time     // up to which the view has everything in the log
	waiting time.Duration // how long the oldest input that the view lacks has waited
}

// fault returns why a partition cannot be read, or nil. It is the only place that decides this. A
// view that is not current, or not known to be, is not read. An input may have waited no longer
// than most.
func (h *header) fault(now time.Time, most time.Duration) error {
	silent := now.Sub(h.pulse).Abs()
	switch {
	case !h.whole:
		return ErrNotWhole
	case h.pulse.IsZero():
		return &BehindError{0, "no processor has written yet"}
	case silent > knownWithin:
		return &BehindError{silent, fmt.Sprintf("no processor has written for %s", rounded(silent))}
	}
	return lacks(h.waiting, now.Sub(h.asOf).Abs(), most)
}

// lacks returns an error if an input has waited longer than most, or if the log has been
// unknown for longer than knownWithin.
func lacks(waiting, unknown, most time.Duration) error {
	switch {
	case waiting > most:
		return &BehindError{waiting, fmt.Sprintf("inputs have waited for %s", rounded(waiting))}
	case unknown > knownWithin:
		return &BehindError{unknown, fmt.Sprintf("the log has not said for %s what came", rounded(unknown))}
	}
	return nil
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// headerOf reads the fields of a header: generation, whole, position and signs. An absent field is
// zero. A field that cannot be read makes the view not whole.
func headerOf(fields []any) header {
	text := func(i int) string {
		s, _ := fields[i].(string) //nolint:errcheck // absent is empty
		return s
	}
	h := header{generation: text(0), whole: text(1) == "1", position: -1}
	if at := text(2); at != "" {
		n, err := strconv.ParseInt(at, 10, 64)
		h.position, h.whole = n, h.whole && err == nil
	}
	if written := text(3); written != "" {
		var ok bool
		h.signs, ok = decodeSigns(written)
		h.whole = h.whole && ok
	}
	return h
}

// decodeSigns reads three numbers of milliseconds: pulse and asOf since 1970, and waiting.
func decodeSigns(text string) (signs, bool) {
	pulse, rest, _ := strings.Cut(text, " ")
	asOf, waiting, _ := strings.Cut(rest, " ")
	var ms [3]int64
	for i, word := range []string{pulse, asOf, waiting} {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return signs{}, false
		}
		ms[i] = n
	}
	return signs{time.UnixMilli(ms[0]), time.UnixMilli(ms[1]), time.Duration(ms[2]) * time.Millisecond}, true
}

// headerQuestion asks for a header in a pipeline. Once the pipeline has run, header returns the
// answer.
type headerQuestion struct {
	view   *View
	fields *redis.SliceCmd
	clock  *redis.TimeCmd // nil: the time of Redis was read a moment ago
}

// askHeader asks for the header of a partition and, once a second, for the clock of Redis.
func (b *View) askHeader(ctx context.Context, pipe redis.Pipeliner, partition int32) headerQuestion {
	return b.ask(ctx, pipe, b.headerKey(partition))
}

func (b *View) ask(ctx context.Context, pipe redis.Pipeliner, key string) headerQuestion {
	q := headerQuestion{view: b, fields: pipe.HMGet(ctx, key, fieldGeneration, fieldWhole, fieldPosition, fieldSigns)}
	if b.clock.due(b.cfg.Now()) {
		q.clock = pipe.Time(ctx)
	}
	return q
}

func (q *headerQuestion) header() header {
	if q.clock != nil {
		if theirs, err := q.clock.Result(); err == nil {
			q.view.clock.reading.Store(&clockReading{theirs, q.view.cfg.Now()})
		}
	}
	return headerOf(q.fields.Val())
}

// clock keeps the time of Redis. Views on the same connections share it.
type clock struct {
	reading atomic.Pointer[clockReading]
	asked   atomic.Int64 // when it was last asked, in Unix ms by our clock
}

// clockReading is a time of Redis, and the time of our clock when it came.
type clockReading struct{ theirs, ours time.Time }

// clockEvery is how often the clock of Redis is read. By then the address may lead to another
// Redis.
const clockEvery = time.Second

// due tells whether the caller should ask.
func (c *clock) due(now time.Time) bool {
	if c.reading.Load() == nil {
		return true
	}
	last, ms := c.asked.Load(), now.UnixMilli()
	return (ms-last >= clockEvery.Milliseconds() || ms < last) && c.asked.CompareAndSwap(last, ms)
}

// readClock reads the clock of Redis when that is due.
func (b *View) readClock(ctx context.Context) error {
	if !b.clock.due(b.cfg.Now()) {
		return nil
	}
	return b.call(ctx, func() error {
		theirs, err := b.redis.Time(ctx).Result()
		if err == nil {
			b.clock.reading.Store(&clockReading{theirs, b.cfg.Now()})
		}
		return err
	})
}

// redisNow returns the time by the clock of Redis or, before its first reading, by ours.
func (b *View) redisNow() time.Time {
	now := b.cfg.Now()
	if r := b.clock.reading.Load(); r != nil {
		return r.theirs.Add(now.Sub(r.ours))
	}
	return now
}

// readable returns why the partition of a header cannot be read, or nil.
func (b *View) readable(h *header) error {
	switch {
	case b.cfg.Current:
		return h.fault(b.redisNow(), b.cfg.waitsAtMost())
	case !h.whole:
		return ErrNotWhole
	}
	return nil
}

func (c *Config) waitsAtMost() time.Duration { return cmp.Or(c.WaitsAtMost, waitsAtMost) }

// headers reads the headers of some partitions in one round trip.
func (b *View) headers(ctx context.Context, partitions []int32) ([]header, error) {
	return b.headersAt(ctx, b.headerKey, partitions)
}

// headersAt reads headers at other keys than those of the view.
func (b *View) headersAt(ctx context.Context, key func(int32) string, partitions []int32) ([]header, error) {
	pipe := b.redis.Pipeline()
	questions := make([]headerQuestion, len(partitions))
	for i, partition := range partitions {
		questions[i] = b.ask(ctx, pipe, key(partition))
	}
	if err := b.call(ctx, func() error { _, err := pipe.Exec(ctx); return err }); err != nil {
		return nil, err
	}
	all := make([]header, len(partitions))
	for i := range questions {
		all[i] = questions[i].header()
	}
	return all, nil
}

// Faults returns which of the partitions 0 to n-1 cannot be read, and why. The error is [ErrAway].
func (b *View) Faults(ctx context.Context, n int32) (map[int32]error, error) {
	return b.faultsAt(ctx, b.headerKey, n, b.cfg.waitsAtMost())
}

func (b *View) faultsAt(ctx context.Context, key func(int32) string, n int32, most time.Duration) (map[int32]error, error) {
	partitions := make([]int32, n)
	for i := range partitions {
		partitions[i] = int32(i)
	}
	headers, err := b.headersAt(ctx, key, partitions)
	if err != nil {
		return nil, err
	}
	faults := map[int32]error{}
	for i := range headers {
		if fault := headers[i].fault(b.redisNow(), most); fault != nil {
			faults[partitions[i]] = fault
		}
	}
	return faults, nil
}

// Progress is how far the view of a partition is.
type Progress struct {
	Partition int32
	Position  int64     // of the last input in the view; -1: none yet
	Pulse     time.Time // when a processor last wrote that it has the partition, by our clock; zero: never
}

// Progress returns how far the view of the partition of a hospital is. The error is [ErrAway].
func (b *View) Progress(ctx context.Context, hospital string) (Progress, error) {
	p := Progress{Partition: b.cfg.Partition(hospital), Position: -1}
	headers, err := b.headers(ctx, []int32{p.Partition})
	if err != nil {
		return p, err
	}
	h := &headers[0]
	p.Position = h.position
	if !h.pulse.IsZero() {
		p.Pulse = b.cfg.Now().Add(h.pulse.Sub(b.redisNow())).UTC()
	}
	return p, nil
}
