package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Watermark tracks the position of each partition's view from the announcements of projectors. A server that has
// stored an input waits for the input's position before it responds, so that later reads include the input.
type Watermark struct {
	view *View

	mu         sync.Mutex
	partitions map[int32]*progress
}

// progress is the progress of one partition, with its waiters.
type progress struct {
	generation string
	position   int64
	waiting    map[*waiter]struct{}
	reading    bool // whether one of the waiters is reading the header for all waiters
}

type waiter struct {
	position int64
	reached  chan struct{}
}

// nowhere means that the position of a partition is unknown. A complete view without inputs has position -1.
const nowhere = -2

// headerAfter is how long a waiter trusts announcements, which may get lost,
// before it reads the header itself.
const headerAfter = 25 * time.Millisecond

// Watermark returns a watermark without positions. The watermark learns the positions from announcements while Run
// runs, and in Wait by reading headers.
func (b *View) Watermark() *Watermark {
	return &Watermark{view: b, partitions: map[int32]*progress{}}
}

// Run receives announcements until ctx ends, and returns the error of ctx. While Redis is unavailable, Run retries.
func (f *Watermark) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		listen(ctx, f.view.client.Subscribe(ctx, f.view.channel()), func(message any) {
			if m, ok := message.(*redis.Message); ok {
				f.applyAnnouncement(m.Payload)
			}
		})
		pause(ctx, 4*retryMin, nil)
	}
	return ctx.Err()
}

// applyAnnouncement records the position in an announcement, which consists of generation, partition and position.
func (f *Watermark) applyAnnouncement(announcement string) {
	words := strings.Fields(announcement)
	if len(words) != 3 {
		return
	}
	partition, err1 := strconv.ParseInt(words[1], 10, 32)
	position, err2 := strconv.ParseInt(words[2], 10, 64)
	if errors.Join(err1, err2) == nil {
		f.recordPosition(int32(partition), words[0], position)
	}
}

// recordPosition records a position and releases the waiters for it.
func (f *Watermark) recordPosition(partition int32, generation string, position int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progressOf(partition)
	if p.generation != generation {
		p.generation, p.position = generation, -1
	}
	p.position = max(p.position, position)
	for w := range p.waiting {
		if w.position <= p.position {
			close(w.reached)
			delete(p.waiting, w)
		}
	}
}

// progressOf returns the progress of a partition. The caller must hold the mutex.
func (f *Watermark) progressOf(partition int32) *progress {
	p := f.partitions[partition]
	if p == nil {
		p = &progress{position: nowhere, waiting: map[*waiter]struct{}{}}
		f.partitions[partition] = p
	}
	return p
}

// Wait returns when the view of the partition includes the input at the position, or when ctx ends. If Redis has not
// responded for more than 5 s, it returns [ErrAway]; if no processor has written for more than 5 s, it returns
// [ErrBehind]. During shorter interruptions, it continues to wait.
func (f *Watermark) Wait(ctx context.Context, partition int32, position int64) error {
	f.mu.Lock()
	p := f.progressOf(partition)
	if p.position >= position {
		f.mu.Unlock()
		return nil
	}
	w := &waiter{position: position, reached: make(chan struct{})}
	p.waiting[w] = struct{}{}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(p.waiting, w)
		f.mu.Unlock()
	}()
	for {
		pause(ctx, headerAfter, w.reached)
		select {
		case <-w.reached:
			return nil
		default:
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the view: %w", ctx.Err())
		}
		err := f.readHeader(ctx, p, partition)
		if errors.Is(err, ErrBehind) || err != nil && f.view.nodeOf(ctx, f.view.headerKey(partition)).awayFor() > knownWithin {
			return err
		}
	}
}

// readHeader reads the header, unless another waiter is reading it, and records its position. It returns [ErrAway] if
// Redis does not respond, and [ErrBehind] if no processor has written to the view for 5 s.
func (f *Watermark) readHeader(ctx context.Context, p *progress, partition int32) error {
	f.mu.Lock()
	busy := p.reading
	p.reading = true
	f.mu.Unlock()
	if busy {
		return nil
	}
	found, err := f.view.readHeaders(ctx, f.view.headerKey, partition)
	f.mu.Lock()
	p.reading = false
	f.mu.Unlock()
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the caller handles the error
		}
		return err
	}
	h := &found[0]
	if h.whole {
		f.recordPosition(partition, h.generation, h.position)
	}
	return h.silence()
}

// listen calls fn for every message of a subscription until the connection is lost or ctx ends.
func listen(ctx context.Context, messages *redis.PubSub, fn func(message any)) {
	stop := context.AfterFunc(ctx, func() { messages.Close() }) //nolint:errcheck // closing the subscription ends a read in progress
	defer func() {
		if stop() {
			messages.Close() //nolint:errcheck // the connection has failed already
		}
	}()
	asked := false
	for {
		message, err := messages.ReceiveTimeout(ctx, silenceAtMost)
		if err == nil {
			asked = false
			fn(message)
			continue
		}
		var slow net.Error
		if asked || !errors.As(err, &slow) || !slow.Timeout() || ctx.Err() != nil {
			return
		}
		if asked = true; messages.Ping(ctx) != nil { // checks whether the connection still exists
			return
		}
	}
}

// silenceAtMost is the maximum time without messages on a subscription before the connection is checked.
const silenceAtMost = 5 * time.Second

// Changed notifies watchers that a hospital has a new version, when a projector announces one. Announcements may get
// lost, so a watcher that must not miss a version must also compare tokens.
type Changed struct {
	view *View

	mu       sync.Mutex
	watchers map[string]map[chan string]struct{} // by hospital
	messages *redis.PubSub                       // nil: not connected
	wanted   chan struct{}                       // signals that there are watchers, which need a connection
}

// mostNotices is the maximum number of pending notices of one watcher. Further notices are dropped.
const mostNotices = 1024

// NewChanged returns a Changed. A Changed sends notices only while Run runs.
func NewChanged(b *View) *Changed {
	return &Changed{view: b, watchers: map[string]map[chan string]struct{}{}, wanted: make(chan struct{}, 1)}
}

// Watch returns a channel that receives the id of a hospital when the hospital has, or may have, a new version. The
// watch ends when ctx ends. The channel is not closed.
func (c *Changed) Watch(ctx context.Context, hospitals ...string) <-chan string {
	w := make(chan string, min(2*len(hospitals), mostNotices))
	c.mu.Lock()
	defer c.mu.Unlock()
	var fresh []string
	for _, hospital := range hospitals {
		if c.watchers[hospital] == nil {
			c.watchers[hospital] = map[chan string]struct{}{}
			fresh = append(fresh, c.view.changed(hospital))
		}
		c.watchers[hospital][w] = struct{}{}
	}
	if c.messages != nil && len(fresh) > 0 {
		c.messages.Subscribe(ctx, fresh...) //nolint:errcheck // the listener notices a lost connection
	}
	select {
	case c.wanted <- struct{}{}:
	default:
	}
	context.AfterFunc(ctx, func() { c.leave(w, hospitals) }) //nolint:contextcheck // ctx has ended
	return w
}

// leave removes a watcher.
func (c *Changed) leave(w chan string, hospitals []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var last []string
	for _, hospital := range hospitals {
		delete(c.watchers[hospital], w)
		if len(c.watchers[hospital]) == 0 {
			delete(c.watchers, hospital)
			last = append(last, c.view.changed(hospital))
		}
	}
	if c.messages != nil && len(last) > 0 {
		c.messages.Unsubscribe(context.Background(), last...) //nolint:errcheck // the listener notices a lost connection
	}
}

// Run receives announcements until ctx ends, and returns the error of ctx. While Redis is unavailable, Run retries. It
// does not connect before the first watch.
func (c *Changed) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-c.wanted:
	}
	for ctx.Err() == nil {
		c.follow(ctx)
		pause(ctx, 4*retryMin, nil)
	}
	return ctx.Err()
}

// follow subscribes to all watched hospitals, and passes on announcements until the connection is lost.
func (c *Changed) follow(ctx context.Context) {
	c.mu.Lock()
	var channels []string
	for _, hospital := range slices.Sorted(maps.Keys(c.watchers)) {
		channels = append(channels, c.view.changed(hospital))
	}
	messages := c.view.client.Subscribe(ctx, channels...)
	c.messages = messages
	c.mu.Unlock()
	listen(ctx, messages, func(message any) {
		switch m := message.(type) {
		case *redis.Message:
			c.notify(strings.TrimPrefix(m.Channel, c.view.changed("")))
		case *redis.Subscription: // the hospital may have changed before the subscription
			if m.Kind == "subscribe" {
				c.notify(strings.TrimPrefix(m.Channel, c.view.changed("")))
			}
		}
	})
	c.mu.Lock()
	c.messages = nil
	c.mu.Unlock()
}

// notify sends a notice to each watcher of a hospital, without waiting. If the channel of a watcher
// is full, the notice is dropped.
func (c *Changed) notify(hospital string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers[hospital] {
		select {
		case w <- hospital:
		default:
		}
	}
}
