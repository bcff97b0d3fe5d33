package audit

import (
	"context"
	"fmt"
	"sync"
)

// Turns serializes the changes of each hospital in this process, so that they do not conflict with each other. Changes
// in other processes may still conflict; in that case, [Turns.Do] retries. The zero value is ready to use.
type Turns struct{ hospitals sync.Map } // maps a hospital id to a chan struct{}, which is full while a change runs

// Do waits until no other change for the hospital is running, then calls change and retries it as [Retry] does. To
// enforce a limit, change must first read the position of the log, then count, and then write on the condition that
// nothing has changed after that position. If ctx ends first, change is not called, and the error wraps the error of
// ctx.
func (t *Turns) Do(ctx context.Context, hospital string, change func() error) error {
	running, _ := t.hospitals.LoadOrStore(hospital, make(chan struct{}, 1))
	turn := running.(chan struct{}) //nolint:errcheck,forcetypeassert // only such channels are stored
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for other changes to the hospital: %w", ctx.Err())
	}
	defer func() { <-turn }()
	return Retry(ctx, change)
}
