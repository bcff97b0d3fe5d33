package view_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/view"
	"svc/internal/view/viewtest"
)

// TestCurrency: a view that is no longer written falls further behind each second, and cannot be read while Redis is
// unavailable. Each write reports how long the oldest change in it has waited.
func TestCurrency(t *testing.T) {
	server, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	gate := viewtest.NewGate(t, server.URL())
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	b, err := view.Open(view.Config{
		URL: gate.URL, Partition: func(string) int32 { return 0 }, Now: now, Log: slog.New(slog.DiscardHandler), Current: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if c := b.Currency(t.Context(), 2); c.Behind != 0 || c.Unreadable != 2 {
		t.Errorf("before the first write: %+v", c)
	}
	p := b.Projector("g", func(int32) {})
	written := make(chan int64, 10)
	p.Written = func(_ int32, position int64, waited time.Duration) {
		if waited < 0 || waited > time.Minute {
			t.Errorf("a change waited for %v", waited)
		}
		written <- position
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	p.Put(view.Projection{Partition: 0, Position: 4, Whole: true})
	if at := <-written; at != 4 {
		t.Errorf("position %d was written", at)
	}
	p.Put(view.Projection{Partition: 0, Position: 7})
	p.Pulse(now(), map[int32]int64{0: 8})
	if at := <-written; at != 7 {
		t.Errorf("position %d was written", at)
	}
	if c := b.Currency(t.Context(), 1); c.Unreadable != 0 || c.Behind > 2*time.Second {
		t.Errorf("of a current view: %+v", c)
	}
	if known, err := b.Positions(t.Context(), 2, "g"); err != nil || len(known) != 1 || known[0] != 7 {
		t.Errorf("positions %v, %v", known, err)
	}
	if known, err := b.Positions(t.Context(), 2, "other"); err != nil || len(known) != 0 {
		t.Errorf("positions of another log: %v, %v", known, err)
	}
	if skew, err := b.ClockSkew(t.Context()); err != nil || skew.Abs() > time.Minute {
		t.Errorf("the clock of Redis differs by %v, %v", skew, err)
	}
	ahead.Store(int64(5 * time.Minute))
	if skew, err := b.ClockSkew(t.Context()); err != nil || skew > -4*time.Minute {
		t.Errorf("our clock is five minutes ahead, and Redis by %v, %v", skew, err)
	}
	gate.Shut()
	if c := b.Currency(t.Context(), 3); c.Unreadable != 3 {
		t.Errorf("while Redis is away: %+v", c)
	}
	if _, err := b.Positions(t.Context(), 1, "g"); err == nil {
		t.Error("positions are known while Redis is away")
	}
}
