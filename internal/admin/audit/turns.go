package audit

import (
	"context"
	"fmt"
	"sync"
)

// Turns runs the changes of one hospital one at a time in this process, so that they do not
// overtake each other. Changes of other processes still may: such a change is retried as by
// [Retry]. The zero value is ready to use.
type Turns struct {
	mu        sync.Mutex
	hospitals map[string]chan struct{} // full while a change of the hospital runs
}

// Do waits for the turn of a hospital and runs a change. A change that counts what exists before it
// adds to it must read the position seen first, then count, and write under the condition that
// nothing changed after that position. An error that wraps that of ctx says that the turn did not
// come; nothing was done.
func (t *Turns) Do(ctx context.Context, hospital string, change func() error) error {
	turn := t.of(hospital)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for other changes of the hospital: %w", ctx.Err())
	}
	defer func() { <-turn }()
	return Retry(ctx, change)
}

func (t *Turns) of(hospital string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hospitals == nil {
		t.hospitals = map[string]chan struct{}{}
	}
	if t.hospitals[hospital] == nil {
		t.hospitals[hospital] = make(chan struct{}, 1)
	}
	return t.hospitals[hospital]
}
