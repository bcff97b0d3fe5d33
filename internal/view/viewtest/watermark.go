package viewtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"svc/internal/view"
)

func testWait(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	v.whole(1, unit("north", 1))
	v.settle(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := v.follow.Wait(ctx, partition, 9); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a position that never arrives: %v", err)
	}
	const crowd = 100
	done := make(chan error, crowd)
	long, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for n := range int64(crowd) {
		go func() { done <- v.follow.Wait(long, partition, 2+n%2) }()
	}
	v.change(2, unit("north", 2))
	v.change(3, unit("north", 3))
	for range crowd {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// reachesOnly expects that a wait for a position that is never reached fails with the error want.
func (v *fixture) reachesOnly(t *testing.T, want error) {
	t.Helper()
	within := time.Minute
	if errors.Is(want, context.DeadlineExceeded) {
		within = 200 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err := v.follow.Wait(ctx, partition, 1000); !errors.Is(err, want) {
		t.Errorf("the wait ended with %v, want %v", err, want)
	}
}

func testHeaderReads(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	deaf := v.View.Watermark() // Run is never called
	v.whole(1, unit("north", 1))
	v.change(2, unit("north", 2))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := deaf.Wait(ctx, partition, 2); err != nil {
		t.Error(err)
	}
}

// testWatch tests that a watcher is notified of each new version of its hospitals, but not of other hospitals. It
// gets notices even after a lost connection, but none after its context has ended.
func testWatch(t *testing.T, s Server) {
	gate := NewGate(t, s.URL)
	v := start(t, s.URL, "g1")
	b := openWith(t, gate.URL, func(c *view.Config) { c.Patient = false })
	changed := view.NewChanged(b)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- changed.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	}()
	leaving, leave := context.WithCancel(ctx)
	both, north := changed.Watch(ctx, "north", "south"), changed.Watch(leaving, "north")
	hear := func(from <-chan string, want string) {
		t.Helper()
		limit, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for {
			select {
			case got := <-from:
				if got == want {
					return
				}
			case <-limit.Done():
				t.Fatalf("never notified of %s", want)
			}
		}
	}
	quiet := func(from <-chan string) {
		t.Helper()
		for len(from) > 0 {
			<-from
		}
	}
	hear(both, "north") // sent after subscribing, because the hospital may have changed before the subscription
	hear(both, "south")
	hear(north, "north")
	v.whole(1, unit("north", 1), unit("south", 1), unit("west", 1))
	hear(both, "north")
	hear(both, "south")
	hear(north, "north")
	v.settle(t, 1)
	quiet(both)
	quiet(north)

	v.change(2, unit("south", 2))
	hear(both, "south")
	if len(north) > 0 {
		t.Error("notified of a change in another hospital")
	}
	leave()
	position := int64(2)
	until(t, func() bool {
		position++
		quiet(north)
		v.change(position, unit("north", position))
		hear(both, "north")
		return len(north) == 0
	})

	gate.Shut()
	v.change(position+1, unit("south", 3))
	v.settle(t, position+1)
	quiet(both)
	gate.Open()
	hear(both, "south") // the hospital may have changed while the connection was lost
	v.change(position+2, unit("north", position+2))
	hear(both, "north")
}
