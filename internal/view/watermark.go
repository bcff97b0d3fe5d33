package view

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Watermark knows how far the view of each partition is, from the announcements of projectors.
// With it a server delays the answer to a sender until reads show the input.
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
	reading    bool // one of the waiters reads the header, for all
}

type waiter struct {
	position int64
	reached  chan struct{}
}

// nowhere is the position of a partition if nothing is known. A whole view without inputs has -1.
const nowhere = -2

// headerAfter is how long a waiter trusts announcements, which may get lost,
// before it reads the header itself.
const headerAfter = 25 * time.Millisecond

// Watermark returns a watermark without positions. It learns them from announcements while Run
// runs, and in Wait by reading headers.
func (b *View) Watermark() *Watermark {
	return &Watermark{view: b, partitions: map[int32]*progress{}}
}

// Run listens to the announcements until ctx ends, and returns its error. While Redis is away it
// tries again.
func (f *Watermark) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		listen(ctx, f.view.redis.Subscribe(ctx, f.view.channel()), func(message any) {
			if m, ok := message.(*redis.Message); ok {
				f.applyAnnouncement(m.Payload)
			}
		})
		pause(ctx, 4*retryMin, nil)
	}
	return ctx.Err()
}

// applyAnnouncement notes the position in one announcement: generation, partition, position.
func (f *Watermark) applyAnnouncement(announcement string) {
	words := strings.Fields(announcement)
	if len(words) != 3 {
		return
	}
	partition, err1 := strconv.ParseInt(words[1], 10, 32)
	position, err2 := strconv.ParseInt(words[2], 10, 64)
	if errors.Join(err1, err2) == nil {
		f.reached(int32(partition), words[0], position)
	}
}

// reached records a position and releases its waiters.
func (f *Watermark) reached(partition int32, generation string, position int64) {
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

// progressOf returns the progress of a partition. The caller holds the mutex.
func (f *Watermark) progressOf(partition int32) *progress {
	p := f.partitions[partition]
	if p == nil {
		p = &progress{position: nowhere, waiting: map[*waiter]struct{}{}}
		f.partitions[partition] = p
	}
	return p
}

// Wait returns when the view of the partition has the input at the position.
// It ends with the context, and at once with [ErrAway] if Redis is away.
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
		if err := f.readHeader(ctx, p, partition); err != nil {
			return err
		}
	}
}

// readHeader reads the header, unless another waiter is reading it.
func (f *Watermark) readHeader(ctx context.Context, p *progress, partition int32) error {
	f.mu.Lock()
	busy := p.reading
	p.reading = true
	f.mu.Unlock()
	if busy {
		return nil
	}
	generation, at, err := f.view.position(ctx, partition)
	f.mu.Lock()
	p.reading = false
	f.mu.Unlock()
	switch {
	case err == nil:
		f.reached(partition, generation, at)
	case !errors.Is(err, ErrNotWhole) && ctx.Err() == nil:
		return err
	}
	return nil
}
