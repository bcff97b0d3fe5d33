package view

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Changed tells watchers that a hospital has a new version, as projectors publish it.
// Announcements may get lost, so a watcher that must not miss a version compares tokens
// too.
type Changed struct {
	view *View

	mu       sync.Mutex
	watchers map[string]map[*watcher]struct{} // by hospital
	messages *redis.PubSub                    // nil: not connected
	wanted   chan struct{}                    // there are watchers: a connection is needed
}

type watcher struct{ changed chan string }

// mostNotices is how many changes wait for one watcher. Further ones are dropped.
const mostNotices = 1024

// NewChanged returns one that tells while its Run runs.
func NewChanged(b *View) *Changed {
	return &Changed{view: b, watchers: map[string]map[*watcher]struct{}{}, wanted: make(chan struct{}, 1)}
}

// changed is the channel on which new versions of a hospital are published.
func (c *Config) changed(hospital string) string { return c.Prefix + "changed:" + hospital }

// Watch returns a channel that gets the id of a hospital after it has changed, or may
// have, until the context ends. The channel is not closed.
func (c *Changed) Watch(ctx context.Context, hospitals ...string) <-chan string {
	w := &watcher{make(chan string, min(2*len(hospitals), mostNotices))}
	c.mu.Lock()
	defer c.mu.Unlock()
	var fresh []string
	for _, hospital := range hospitals {
		if c.watchers[hospital] == nil {
			c.watchers[hospital] = map[*watcher]struct{}{}
			fresh = append(fresh, c.view.cfg.changed(hospital))
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
	context.AfterFunc(ctx, func() { c.leave(w, hospitals) }) //nolint:contextcheck // its context has ended
	return w.changed
}

// leave ends a watch.
func (c *Changed) leave(w *watcher, hospitals []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var last []string
	for _, hospital := range hospitals {
		delete(c.watchers[hospital], w)
		if len(c.watchers[hospital]) == 0 {
			delete(c.watchers, hospital)
			last = append(last, c.view.cfg.changed(hospital))
		}
	}
	if c.messages != nil && len(last) > 0 {
		c.messages.Unsubscribe(context.Background(), last...) //nolint:errcheck // the listener notices a lost connection
	}
}

// Run listens until the context ends, and returns its error. A Redis that is away is
// waited for. There is no connection before the first watch.
func (c *Changed) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-c.wanted:
	}
	for ctx.Err() == nil {
		c.listen(ctx)
		pause(ctx, 4*retryMin, nil)
	}
	return ctx.Err()
}

// listen returns when the connection is lost.
func (c *Changed) listen(ctx context.Context) {
	messages := c.connect(ctx)
	stop := context.AfterFunc(ctx, func() { messages.Close() }) //nolint:errcheck // a read in progress ends with it
	defer func() {
		c.mu.Lock()
		c.messages = nil
		c.mu.Unlock()
		if stop() {
			messages.Close() //nolint:errcheck // it was of no use any more
		}
	}()
	asked := false
	for {
		message, err := messages.ReceiveTimeout(ctx, 5*time.Second)
		var slow net.Error
		switch {
		case err == nil:
			asked = false
			if m, ok := message.(*redis.Message); ok {
				c.tell(strings.TrimPrefix(m.Channel, c.view.cfg.changed("")))
			} else if m, ok := message.(*redis.Subscription); ok && m.Kind == "subscribe" {
				c.tell(strings.TrimPrefix(m.Channel, c.view.cfg.changed(""))) // it may have changed before
			}
		case errors.As(err, &slow) && slow.Timeout() && !asked && ctx.Err() == nil:
			asked = true // silence: see whether anybody is there
			if messages.Ping(ctx) != nil {
				return
			}
		default:
			return
		}
	}
}

// connect subscribes to all watched hospitals.
func (c *Changed) connect(ctx context.Context) *redis.PubSub {
	c.mu.Lock()
	defer c.mu.Unlock()
	var channels []string
	for _, hospital := range slices.Sorted(maps.Keys(c.watchers)) {
		channels = append(channels, c.view.cfg.changed(hospital))
	}
	c.messages = c.view.redis.Subscribe(ctx, channels...)
	return c.messages
}

// tell tells the watchers of a hospital that it has changed. It never waits: a watcher
// that has not taken the last notice of a hospital needs no second one.
func (c *Changed) tell(hospital string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers[hospital] {
		select {
		case w.changed <- hospital:
		default:
		}
	}
}
