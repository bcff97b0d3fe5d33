package keys

import (
	"context"
	"maps"
	"sync"
	"time"
)

// LastUse records when keys were used, at most once a minute for each key. It is best effort: a record that cannot be
// written is lost.
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

// NewLastUse returns an empty LastUse.
func NewLastUse(now func() time.Time) *LastUse {
	return &LastUse{now: now, pending: map[string]time.Time{}, written: map[string]time.Time{}}
}

// Record records that the key with the given id is being used.
func (u *LastUse) Record(id string) {
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Sub(u.written[id]) >= noteEvery {
		u.pending[id] = now
	}
}

// Run writes the recorded uses every few seconds until ctx ends.
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
