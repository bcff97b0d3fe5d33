package view

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Currency reports how current the partitions of a view are for readers.
type Currency struct {
	// Behind is the time since the view was last known to contain every input of the log, for the partition that is
	// furthest behind. Processors report once a second up to which instant the view is complete, so for a current
	// view, Behind is about a second. Partitions that were never written do not count. While Redis does not respond,
	// Behind is at least the time since its last response.
	Behind     time.Duration
	Unreadable int // partitions that cannot be read
}

// Currency returns how current the view of the partitions 0 to n-1 is.
func (b *View) Currency(ctx context.Context, n int32) Currency {
	return b.currency(ctx, b.headerKey, n, b.waitsAtMost)
}

// Currency returns how current the lists of the partitions 0 to n-1 are.
func (l *Lists) Currency(ctx context.Context, n int32) Currency {
	return l.view.currency(ctx, l.view.listedKey, n, DerivedAtMost)
}

func (c *connection) currency(ctx context.Context, key func(int32) string, n int32, most time.Duration) Currency {
	headers, _ := c.readHeaders(ctx, key, upTo(n)...) //nolint:errcheck // the headers say which nodes do not respond
	found := Currency{}
	for i := range headers {
		h := &headers[i]
		found.Behind = max(found.Behind, h.awayFor)
		if !h.asOf.IsZero() {
			found.Behind = max(found.Behind, h.readAt.Sub(h.asOf))
		}
		if h.fault(most) != nil {
			found.Unreadable++
		}
	}
	return found
}

func upTo(n int32) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// Positions returns the offset of the last input in the view, for each of the partitions 0 to n-1 whose view is
// complete and belongs to the given generation of the log. The error is [ErrAway].
func (b *View) Positions(ctx context.Context, n int32, generation string) (map[int32]int64, error) {
	headers, err := b.readHeaders(ctx, b.headerKey, upTo(n)...)
	if err != nil {
		return nil, err
	}
	found := map[int32]int64{}
	for i := range headers {
		if headers[i].whole && headers[i].generation == generation {
			found[int32(i)] = headers[i].position
		}
	}
	return found, nil
}

// ClockSkew returns how far the clock of Redis is ahead of the local clock; a negative result means that it is
// behind. In a cluster, the result is the skew of the primary whose clock differs most. Each clock is read at most
// once a second. The error is [ErrAway].
func (c *connection) ClockSkew(ctx context.Context) (time.Duration, error) {
	var mu sync.Mutex
	var most time.Duration
	err := c.eachNode(ctx, func(ctx context.Context, n *node) error {
		if err := c.readClock(ctx, n); err != nil {
			return err
		}
		r := n.reading.Load()
		if r == nil {
			return ErrAway
		}
		mu.Lock()
		defer mu.Unlock()
		if skew := r.theirs.Sub(r.ours); skew.Abs() > most.Abs() {
			most = skew
		}
		return nil
	})
	return most, err
}

// Memory is the memory usage of Redis.
type Memory struct {
	Used, Limit int64  // bytes; a Limit of 0 means no limit
	Policy      string // maxmemory-policy
}

// Memory returns the memory usage of Redis or, in a cluster, of the primary that uses the largest fraction of its
// limit. If Redis does not respond, does not report its memory, or denies the user INFO, the error is [ErrAway].
func (c *connection) Memory(ctx context.Context) (Memory, error) {
	var mu sync.Mutex
	var fullest *Memory
	err := c.eachNode(ctx, func(ctx context.Context, n *node) error {
		m, err := c.memoryOf(ctx, n)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if fullest == nil || m.share() > fullest.share() {
			fullest = &m
		}
		return nil
	})
	if err != nil || fullest == nil {
		return Memory{}, err
	}
	return *fullest, nil
}

// share returns the used fraction of the limit. Without a limit, it returns the number of used bytes, which is larger
// than any fraction.
func (m *Memory) share() float64 { return float64(m.Used) / float64(max(m.Limit, 1)) }

func (c *connection) memoryOf(ctx context.Context, n *node) (m Memory, err error) {
	var info string
	if err = c.call(ctx, n, func() (err error) { info, err = n.redis.Info(ctx, "memory").Result(); return err }); err != nil {
		return m, err
	}
	field := func(name string) string {
		_, rest, _ := strings.Cut(info, "\n"+name+":")
		text, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(text)
	}
	m.Policy = field("maxmemory_policy")
	for name, value := range map[string]*int64{"used_memory": &m.Used, "maxmemory": &m.Limit} {
		if *value, err = strconv.ParseInt(field(name), 10, 64); err != nil {
			return m, fmt.Errorf("%w: INFO has no %s", ErrAway, name)
		}
	}
	return m, nil
}
