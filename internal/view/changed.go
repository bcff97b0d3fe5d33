package view

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

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

// NewChanged returns a Changed. It sends notices while Run runs.
func NewChanged(b *View) *Changed {
	return &Changed{view: b, watchers: map[string]map[*watcher]struct{}{}, wanted: make(chan struct{}, 1)}
}

// Watch returns a channel that gets the id of a hospital when it has, or may have, a new version.
// After ctx ends nothing is sent. The channel is not closed.
func (c *Changed) Watch(ctx context.Context, hospitals ...string) <-chan string {
	w := &watcher{make(chan string, min(2*len(hospitals), mostNotices))}
	c.mu.Lock()
	defer c.mu.Unlock()
	var fresh []string
	for _, hospital := range hospitals {
		if c.watchers[hospital] == nil {
			c.watchers[hospital] = map[*watcher]struct{}{}
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
			last = append(last, c.view.changed(hospital))
		}
	}
	if c.messages != nil && len(last) > 0 {
		c.messages.Unsubscribe(context.Background(), last...) //nolint:errcheck // the listener notices a lost connection
	}
}

// Run listens until ctx ends, and returns its error. While Redis is away it tries again. There is
// no connection before the first watch.
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

// follow passes on announcements until the connection is lost.
func (c *Changed) follow(ctx context.Context) {
	messages := c.connect(ctx)
	listen(ctx, messages, func(message any) {
		switch m := message.(type) {
		case *redis.Message:
			c.notify(strings.TrimPrefix(m.Channel, c.view.changed("")))
		case *redis.Subscription:
			if m.Kind == "subscribe" { // it may have changed before the subscription
				c.notify(strings.TrimPrefix(m.Channel, c.view.changed("")))
			}
		}
	})
	c.mu.Lock()
	c.messages = nil
	c.mu.Unlock()
}

// connect subscribes to all watched hospitals.
func (c *Changed) connect(ctx context.Context) *redis.PubSub {
	c.mu.Lock()
	defer c.mu.Unlock()
	var channels []string
	for _, hospital := range slices.Sorted(maps.Keys(c.watchers)) {
		channels = append(channels, c.view.changed(hospital))
	}
	c.messages = c.view.redis.Subscribe(ctx, channels...)
	return c.messages
}

// notify sends a notice to each watcher of a hospital, without waiting. If the channel of a watcher
// is full, the notice is dropped.
func (c *Changed) notify(hospital string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers[hospital] {
		select {
		case w.changed <- hospital:
		default:
		}
	}
}
