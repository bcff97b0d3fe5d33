package viewtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc/internal/view"
)

// partition is the partition of every hospital in the suite.
const partition = 3

// fixture is a view with a projector and a watermark that run until the test ends.
type fixture struct {
	*view.View
	*view.Projector
	follow *view.Watermark
	asked  chan int32
	now    func() time.Time
}

// Open opens a view whose key prefix is the name of the test.
func Open(t *testing.T, url string) *view.View {
	t.Helper()
	return openWith(t, url, func(*view.Config) {})
}

// openWith opens a view whose key prefix is the name of the test, with a modified configuration. At the end of the
// test, the view is closed after everything that uses it.
func openWith(t *testing.T, url string, change func(*view.Config)) *view.View {
	t.Helper()
	cfg := view.Config{
		Patient: true, // a slow machine is no fault; only tests behind a Gate need the time limits of a service
		URL:     url, Prefix: t.Name() + ":", Partition: func(string) int32 { return partition },
		Now: time.Now, //nolint:forbidigo // real servers, real time
		Log: slog.New(slog.DiscardHandler),
	}
	change(&cfg)
	b, err := view.Open(cfg)
	fatal(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func start(t *testing.T, url, generation string) *fixture {
	t.Helper()
	return startWith(t, url, generation, func(*view.Config) {})
}

// startBehind is like start, but connects through a gate and has the time limits of a service, so that calls fail
// soon after the gate is shut.
func startBehind(t *testing.T, gate *Gate, generation string, now func() time.Time) *fixture {
	t.Helper()
	return startWith(t, gate.URL, generation, func(c *view.Config) { c.Patient, c.Now = false, now })
}

func startWith(t *testing.T, url, generation string, change func(*view.Config)) *fixture {
	t.Helper()
	now := time.Now //nolint:forbidigo // real servers, real time
	b := openWith(t, url, func(c *view.Config) {
		change(c)
		now = c.Now
	})
	v := &fixture{View: b, follow: b.Watermark(), asked: make(chan int32, 100), now: now}
	v.Projector = b.Projector(generation, func(p int32) { v.asked <- p })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- v.Projector.Run(ctx) }()
	go func() { done <- v.follow.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Run returned %v", err)
			}
		}
	})
	return v
}

func unit(hospital string, version int64, rooms ...int32) view.Unit {
	u := view.Unit{Hospital: hospital, Version: version, Chart: fmt.Appendf(nil, "%s at %d", hospital, version), Rooms: map[int32][]byte{}}
	for _, id := range rooms {
		if id < 0 {
			u.Rooms[-id] = nil
		} else {
			u.Rooms[id] = fmt.Appendf(nil, "room %d at %d", id, version)
		}
	}
	return u
}

func (v *fixture) whole(position int64, units ...view.Unit) {
	v.Put(view.Projection{Partition: partition, Position: position, Whole: true, Units: units})
}

func (v *fixture) change(position int64, units ...view.Unit) {
	v.Put(view.Projection{Partition: partition, Position: position, Units: units})
}

// settle waits until the view has reached a position.
func (v *fixture) settle(t *testing.T, position int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := v.follow.Wait(ctx, partition, position)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the view never reached position %d: %v", position, err)
		}
	}
}

// wait waits until the projector requests a whole projection.
func (v *fixture) wait(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case p := <-v.asked:
		if p != partition {
			t.Errorf("the projector asked for partition %d", p)
		}
	case <-ctx.Done():
		t.Fatal("the projector never asked for a whole projection")
	}
}

func (v *fixture) expect(t *testing.T, hospital, want string) {
	t.Helper()
	got := v.describe(t, hospital)
	if got != want {
		t.Errorf("%s: %q, want %q", hospital, got, want)
	}
}

func (v *fixture) describe(t *testing.T, hospital string) string {
	t.Helper()
	s, err := v.Read(t.Context(), hospital)
	for _, known := range []error{view.ErrNotWhole, view.ErrNoUnit, view.ErrAway} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	rooms := make([]string, len(s.Rooms))
	for i := range s.Rooms {
		rooms[i] = s.Rooms[i].Chart
	}
	return fmt.Sprintf("%s %d: %s; %s", s.Generation, s.Position, s.Chart, strings.Join(rooms, ", "))
}
