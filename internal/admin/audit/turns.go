package audit

import (
	"context"
	"fmt"
	"sync"
)

// Turns serializes the changes of each hospital in this process, so that they do not conflict with each
// other. Changes of other processes may still conflict; [Turns.Do] retries then. The zero value is
// ready to use.
type Turns struct{ hospitals sync.Map } // hospital ID to a chan struct{}, full while a change runs

// Do waits until no other change of the hospital runs, then calls change and retries it as [Retry]
// does. To enforce a limit, change must read the position of the log first, then count, and write under
// the condition that nothing changed after that position. If ctx ends first, change is not called and
// the error wraps that of ctx.
func (t *Turns) Do(ctx context.Context, hospital string, change func() error) error {
	running, _ := t.hospitals.LoadOrStore(hospital, make(chan struct{}, 1))
	turn := running.(chan struct{}) //nolint:errcheck,forcetypeassert // no other type is stored
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for other changes of the hospital: %w", ctx.Err())
	}
	defer func() { <-turn }()
	return Retry(ctx, change)
}
