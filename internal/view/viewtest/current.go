package viewtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"svc/internal/view"
)

// openCurrent opens a view that can be read only while it is known to be current, by the test's clock.
func openCurrent(t *testing.T, url string, now func() time.Time) *view.View {
	t.Helper()
	return openWith(t, url, func(c *view.Config) { c.Current, c.Now = true, now })
}

// openKnown is like openCurrent, but also waits until the view serves a hospital. A view does not serve the first
// state that it reads, because Redis may just have restarted with older data; it waits for another pulse.
func openKnown(t *testing.T, url string, now func() time.Time, pulse func()) *view.View {
	t.Helper()
	b := openCurrent(t, url, now)
	until(t, func() bool {
		pulse()
		_, err := b.Read(t.Context(), "north")
		return err == nil
	})
	return b
}

// readable reads a hospital with Token, ReadSince, LocalSettings and Read, and returns the reason why the hospital
// cannot be read, or nil. If the view is behind both before and after the other reads, each of them must return an
// error.
func readable(t *testing.T, b *view.View) error {
	t.Helper()
	_, before := b.Token(t.Context(), "north")
	_, since := b.ReadSince(t.Context(), "north", view.Token{Generation: "g1", Version: 1})
	_, _, settings := b.LocalSettings(t.Context(), "north", true)
	_, read := b.Read(t.Context(), "north")
	token, err := b.Token(t.Context(), "north") // last, because a pulse may arrive between any two reads
	for way, other := range map[string]error{"since": since, "settings": settings, "read": read} {
		if errors.Is(before, view.ErrBehind) && errors.Is(err, view.ErrBehind) && other == nil {
			t.Errorf("%s returns data that is not current: %+v, %v", way, token, err)
		}
	}
	return errors.Join(err, read)
}

// awaitError waits until the reads of a hospital succeed if want is nil, or fail with want.
func awaitError(t *testing.T, b *view.View, want error) {
	t.Helper()
	until(t, func() bool {
		err := readable(t, b)
		return want == nil && err == nil || want != nil && errors.Is(err, want)
	})
}

// beat calls Pulse repeatedly, with ends() as the end of the log, until the test ends or stop is called.
func (v *fixture) beat(t *testing.T, ends func() int64) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			v.Pulse(v.now(), map[int32]int64{partition: ends()})
			wait, stop := context.WithTimeout(ctx, 50*time.Millisecond)
			<-wait.Done()
			stop()
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func testCurrent(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	b := openCurrent(t, s.URL, v.now)
	v.whole(10, unit("north", 5, 1))
	v.settle(t, 10)
	awaitError(t, b, view.ErrBehind) // no processor has written yet
	v.Pulse(v.now(), nil)
	awaitError(t, b, view.ErrBehind) // no processor knows the end of the log
	v.Pulse(v.now(), map[int32]int64{partition: 11})
	awaitError(t, b, nil)
	faults, err := b.Faults(t.Context(), partition+1)
	if err != nil || len(faults) != partition || faults[partition] != nil || !errors.Is(faults[0], view.ErrNotWhole) {
		t.Errorf("faults %v, %v", faults, err)
	}
	// An input is pending and then processed.
	v.Pulse(v.now().Add(-3*time.Second), map[int32]int64{partition: 12})
	awaitError(t, b, view.ErrBehind)
	v.change(11, unit("north", 6, 1))
	awaitError(t, b, nil)
	// The log has not responded for a long time.
	v.Pulse(v.now().Add(-6*time.Second), map[int32]int64{partition: 12})
	awaitError(t, b, view.ErrBehind)
	v.Pulse(v.now(), map[int32]int64{partition: 12})
	awaitError(t, b, nil)
	// A hospital without any record is known to be absent.
	if _, err := b.Read(t.Context(), "nowhere"); !errors.Is(err, view.ErrNoUnit) {
		t.Errorf("nowhere: %v", err)
	}
	// Redis loses all data, including the processor's signs of life.
	s.Wipe(t)
	awaitError(t, b, view.ErrNotWhole)
	v.wait(t)
	v.whole(11, unit("north", 6, 1))
	v.Pulse(v.now(), map[int32]int64{partition: 12})
	awaitError(t, b, nil)
}

// testDelays runs the tests that wait for seconds, in parallel, each with its own keys.
func testDelays(t *testing.T, s Server) {
	for name, test := range map[string]func(*testing.T, Server){
		"an idle view stays current":    testIdle,
		"the partition is released":     testReleased,
		"clocks differ":                 testClockSkew,
		"a former owner writes nothing": testLostPartition,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func testIdle(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	b := openCurrent(t, s.URL, v.now)
	v.whole(10, unit("north", 5, 1))
	defer v.beat(t, func() int64 { return 11 })()
	awaitError(t, b, nil)
	// No input arrives for longer than a processor may be silent.
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); { //nolint:forbidigo // real servers, real time
		if err := readable(t, b); errors.Is(err, view.ErrBehind) { // only ErrBehind is a failure: on a busy machine, a call may also time out
			t.Fatal(err)
		}
	}
}

func testReleased(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	b := openCurrent(t, s.URL, v.now)
	v.whole(10, unit("north", 5, 1))
	defer v.beat(t, func() int64 { return 11 })()
	awaitError(t, b, nil)
	v.Release(partition)
	v.reachesOnly(t, context.DeadlineExceeded) // the wait continues until its deadline, because a new owner may write soon
	awaitError(t, b, view.ErrBehind)
	v.reachesOnly(t, view.ErrBehind)
}

// testClockSkew tests that reads work while the writer's clock is an hour slow and the reader's clock is an hour
// fast.
func testClockSkew(t *testing.T, s Server) {
	v := startWith(t, s.URL, "g1", func(c *view.Config) {
		c.Now = func() time.Time { return time.Now().Add(-time.Hour) } //nolint:forbidigo // wrong clock, see above
	})
	b := openCurrent(t, s.URL, func() time.Time { return time.Now().Add(time.Hour) }) //nolint:forbidigo // wrong clock, see above
	v.whole(10, unit("north", 5, 1))
	stop := v.beat(t, func() int64 { return 11 })
	awaitError(t, b, nil)
	p, err := b.Progress(t.Context(), "north")
	if ago := time.Now().Add(time.Hour).Sub(p.Pulse); err != nil || ago.Abs() > time.Minute { //nolint:forbidigo // wrong clock, see above
		t.Errorf("the pulse was %v ago: %v", ago, err)
	}
	stop()
	awaitError(t, b, view.ErrBehind)
}

// testLostPartition tests that a processor that has lost its partition, but does not know this yet, does not write
// signs of life.
func testLostPartition(t *testing.T, s Server) {
	old, v := start(t, s.URL, "g1"), start(t, s.URL, "g1")
	old.whole(10, unit("north", 5, 1))
	old.settle(t, 10)
	v.whole(12, unit("north", 6, 1))
	v.settle(t, 12)
	b := openKnown(t, s.URL, v.now, func() { v.Pulse(v.now(), map[int32]int64{partition: 13}) })
	awaitError(t, b, nil)
	old.Pulse(v.now().Add(-4*time.Second), map[int32]int64{partition: 13})
	for range 100 {
		if err := readable(t, b); err != nil {
			t.Fatal(err)
		}
	}
	defer old.beat(t, func() int64 { return 11 })()
	awaitError(t, b, view.ErrBehind) // v no longer reports, so it counts as silent after a while
}

// testRefusedWrites tests a Redis that serves reads but refuses writes: a read must not show outdated data as current
// for longer than five seconds.
func testRefusedWrites(t *testing.T, s Server) {
	for name, refuse := range s.Refuse {
		t.Run(name, func(t *testing.T) {
			s.Wipe(t)
			v := start(t, s.URL, "g1")
			b := openCurrent(t, s.URL, v.now)
			v.whole(1, unit("north", 1, 1))
			stop := v.beat(t, func() int64 { return 2 })
			defer stop()
			awaitError(t, b, nil)
			allow := refuse(t)
			defer allow()
			began := v.now()
			v.change(2, unit("north", 2, 2))
			for {
				asked := v.now()
				err := readable(t, b)
				if errors.Is(err, view.ErrBehind) {
					break
				}
				if past := asked.Sub(began); err != nil || past > 6*time.Second {
					t.Fatalf("%v after Redis began to refuse writes, a read returns %v", past, err)
				}
			}
			if v.Fault() == nil {
				t.Error("the projector reports no fault although Redis refuses writes")
			}
			allow()
			v.settle(t, 2)
			awaitError(t, b, nil)
			v.expect(t, "north", "g1 2: north at 2; room 1 at 1, room 2 at 2")
			until(t, func() bool { return v.Fault() == nil })
		})
	}
}
