package keys

import (
	"context"
	"maps"
	"sync"
	"time"
)

// LastUse notes when keys were used, each at most once a minute. It is best effort: a note that
// cannot be written is lost.
type LastUse struct {
	now func() time.Time

	mu      sync.Mutex
	pending map[string]time.Time
	written map[string]time.Time
}

const (
	noteEvery  = time.Minute
	writeEvery = 5 * time.Second
)

// NewLastUse returns a LastUse without notes.
func NewLastUse(now func() time.Time) *LastUse {
	return &LastUse{now: now, pending: map[string]time.Time{}, written: map[string]time.Time{}}
}

// Note notes that the key with this id is used now.
func (u *LastUse) Note(id string) {
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Sub(u.written[id]) >= noteEvery {
		u.pending[id] = now
	}
}

// Run writes the notes every few seconds, until ctx ends.
func (u *LastUse) Run(ctx context.Context, write func(context.Context, map[string]time.Time) error) error {
	for {
		wait, stop := context.WithTimeout(ctx, writeEvery)
		<-wait.Done()
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		u.mu.Lock()
		due := u.pending
		u.pending = map[string]time.Time{}
		maps.Copy(u.written, due)
		u.mu.Unlock()
		write(ctx, due) //nolint:errcheck // best effort
	}
}
