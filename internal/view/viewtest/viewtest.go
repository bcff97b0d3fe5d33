// Package viewtest is the conformance suite of the view, which must pass on every Redis, embedded or real.
package viewtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/view"
)

// Server is a Redis on which the suite runs.
type Server struct {
	URL string
	// Cluster is true for a Redis Cluster. Its clients bypass a Gate, so tests that need a Gate do not run.
	Cluster bool
	Wipe    func(t *testing.T) // deletes all data, as FLUSHALL does
	// Refuse contains functions by name. Each makes the server refuse writes but still serve reads. The server
	// accepts writes again after a call to the returned function allow, which may be called more than once.
	Refuse map[string]func(t *testing.T) (allow func())
}

// Run runs the suite, which needs exclusive use of the server.
func Run(t *testing.T, s Server) {
	tests := map[string]func(*testing.T, Server){
		"an empty view is incomplete":               testEmpty,
		"a complete view without hospitals":         testNoUnit,
		"changes arrive":                            testChanges,
		"equal tokens mean the same version":        testSameVersion,
		"changes since a state":                     testSince,
		"readers of changes see committed states":   testFollowers,
		"a late write by a former owner is refused": testZombie,
		"another generation replaces everything":    testGeneration,
		"a lost view is rebuilt":                    testLostData,
		"lost writes are noticed":                   testBehind,
		"lists of administrators":                   testLocalSettings,
		"waiters are released":                      testWait,
		"waiters read the header":                   testHeaderReads,
		"last use of keys":                          testUses,
		"feeds add up":                              testCounts,
		"notices of feeds":                          testNotices,
		"progress of a partition":                   testProgress,
		"only current views are read":               testCurrent,
		"seconds pass":                              testDelays,
		"Redis refuses writes":                      testRefusedWrites,
		"lists of deliveries":                       testDeliveries,
		"health, commands, episodes and links":      testNotes,
		"deliveries before commands":                testOrder,
		"incomplete lists cause an error":           testCompleteLists,
		"Redis comes back with an older state":      testOlderState,
		"lists come back in an older state":         testOlderLists,
	}
	if !s.Cluster {
		tests["Redis is unreachable"] = testAway
		tests["Redis does not respond"] = testSilent
		tests["watchers get notices"] = testWatch
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s.Wipe(t)
			test(t, s)
		})
	}
}

func testEmpty(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	v.expect(t, "north", view.ErrNotWhole.Error())
	if err := v.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func testNoUnit(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	v.whole(-1)
	v.settle(t, -1)
	v.whole(4)
	v.settle(t, 4)
	v.expect(t, "north", view.ErrNoUnit.Error())
}

func testChanges(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	v.whole(10, unit("north", 5, 1, 2), unit("south", 1))
	v.settle(t, 10)
	v.expect(t, "north", "g1 10: north at 5; room 1 at 5, room 2 at 5")
	v.expect(t, "south", "g1 10: south at 1; ")
	v.change(11, unit("north", 6, 2, 3))
	v.change(12, unit("north", 7, -1, 3), unit("new", 1, 9, 10))
	v.settle(t, 12)
	v.expect(t, "north", "g1 12: north at 7; room 2 at 6, room 3 at 7")
	v.expect(t, "new", "g1 12: new at 1; room 9 at 1, room 10 at 1")
}

func testSameVersion(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	v.whole(1, unit("north", 5, 1))
	v.settle(t, 1)
	first, err := v.Read(t.Context(), "north")
	if err != nil {
		t.Fatal(err)
	}
	if first.Token != (view.Token{Generation: "g1", Version: 5}) {
		t.Errorf("token %+v", first.Token)
	}
	if again, fault := v.Token(t.Context(), "north"); fault != nil || again != first.Token {
		t.Errorf("token %+v, %v: want the same token", again, fault)
	}
	v.change(2, unit("north", 6))
	v.settle(t, 2)
	if later, fault := v.Token(t.Context(), "north"); fault != nil || later != (view.Token{Generation: "g1", Version: 6}) {
		t.Errorf("token %+v, %v after a change", later, fault)
	}
	changed, err := v.Read(t.Context(), "north")
	if err != nil || changed.Chart != "north at 6" || !slices.Equal(changed.Rooms, []view.Room{{ID: 1, Chart: "room 1 at 5"}}) {
		t.Errorf("%+v, %v: want version 6", changed, err)
	}
	if _, err := v.Token(t.Context(), "nowhere"); !errors.Is(err, view.ErrNoUnit) {
		t.Errorf("%v for an unknown hospital", err)
	}
}

func testZombie(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	v.whole(10, unit("north", 5, 1))
	v.change(11, unit("north", 6, 1))
	v.settle(t, 11)
	late := start(t, s.URL, "g1")
	late.whole(9, unit("north", 4, 1, 2))
	late.settle(t, 9) // returns immediately, because the view already has a later position
	late.change(10, unit("north", 5, 7))
	v.change(12, unit("north", 7))
	v.settle(t, 12)
	v.expect(t, "north", "g1 12: north at 7; room 1 at 6")
}

func testGeneration(t *testing.T, s Server) {
	old := start(t, s.URL, "g1")
	old.whole(100, unit("north", 50, 1), unit("gone", 3, 1))
	old.settle(t, 100)
	v := start(t, s.URL, "g2")
	v.whole(2, unit("north", 1, 8))
	until(t, func() bool { // positions restart, so a wait for a position could be satisfied by the old view
		return strings.HasPrefix(v.describe(t, "north"), "g2")
	})
	v.expect(t, "north", "g2 2: north at 1; room 8 at 1")
	v.expect(t, "gone", view.ErrNoUnit.Error())
	old.change(101, unit("north", 51, 1))
	old.wait(t) // the write is refused, and a whole projection is requested
	v.expect(t, "north", "g2 2: north at 1; room 8 at 1")
}

func testLostData(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	v.whole(1, unit("north", 5, 1))
	v.settle(t, 1)
	s.Wipe(t)
	v.expect(t, "north", view.ErrNotWhole.Error())
	v.wait(t) // nothing is written, so only the periodic check of the headers can find the loss
	v.whole(1, unit("north", 5, 1))
	v.change(2, unit("north", 6, 2))
	v.settle(t, 2)
	v.expect(t, "north", "g1 2: north at 6; room 1 at 5, room 2 at 6")
}

func testBehind(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	v.whole(1, unit("north", 5, 1))
	v.settle(t, 1)
	// Another instance with the same generation writes a later version, which Redis then loses.
	other := start(t, s.URL, "g1")
	other.whole(3, unit("north", 7, 2))
	other.settle(t, 3)
	s.Wipe(t)
	v.whole(1, unit("north", 5, 1)) // as if Redis were restored from an older copy
	until(t, func() bool {          // the other instance checks the headers every second and may be first
		return v.describe(t, "north") != view.ErrNotWhole.Error() || len(other.asked) > 0
	})
	other.change(4, unit("north", 8, 3)) // this write, or the check of the headers, finds the loss
	other.wait(t)
	until(t, func() bool { return v.describe(t, "north") == view.ErrNotWhole.Error() })
	other.whole(4, unit("north", 8, 2, 3))
	other.settle(t, 4)
	v.expect(t, "north", "g1 4: north at 8; room 2 at 8, room 3 at 8")
}

func testAway(t *testing.T, s Server) {
	gate := NewGate(t, s.URL)
	var (
		passed  atomic.Int64
		stopped atomic.Pointer[time.Time] // instant at which the clock stops
	)
	v := startBehind(t, gate, "g1", func() time.Time {
		if at := stopped.Load(); at != nil {
			return *at
		}
		return time.Now().Add(time.Duration(passed.Load())) //nolint:forbidigo // the test's clock
	})
	v.whole(1, unit("north", 1, 1))
	v.settle(t, 1)
	now := v.now()
	stopped.Store(&now)
	gate.Shut()
	v.expect(t, "north", view.ErrAway.Error())
	for range 20 { // the clock is stopped, so the view returns ErrAway, without a cause, and does not query Redis again
		if _, err := v.Read(t.Context(), "north"); err != view.ErrAway { //nolint:errorlint // errors without a cause are not wrapped
			t.Errorf("a read queried Redis, which was unreachable a moment ago: %v", err)
		}
	}
	if err := v.Ping(t.Context()); err != view.ErrAway { //nolint:errorlint // errors without a cause are not wrapped
		t.Errorf("ping: %v", err)
	}
	v.reachesOnly(t, context.DeadlineExceeded) // the wait does not fail early, because Redis may respond again soon
	passed.Store(int64(6 * time.Second))
	stopped.Store(nil)
	v.reachesOnly(t, view.ErrAway)
	for n := int64(2); n <= 500; n++ {
		v.change(n, unit("north", n, int32(n%7)+1))
	}
	gate.Open()
	v.settle(t, 500)
	v.expect(t, "north", "g1 500: north at 500; room 1 at 497, room 2 at 498, room 3 at 499, room 4 at 500, "+
		"room 5 at 494, room 6 at 495, room 7 at 496")
	select {
	case <-v.asked:
		t.Error("a full snapshot was requested although no change was lost")
	default:
	}
}

func testSilent(t *testing.T, s Server) {
	gate := NewGate(t, s.URL)
	v := startBehind(t, gate, "g1", time.Now) //nolint:forbidigo // real servers, real time
	v.whole(1, unit("north", 1, 1))
	v.settle(t, 1)
	gate.Mute()
	v.expect(t, "north", view.ErrAway.Error()) // after a timeout, whose length TestPatient checks
	v.change(2, unit("north", 2, 2))
	gate.Open()
	v.settle(t, 2)
	v.expect(t, "north", "g1 2: north at 2; room 1 at 1, room 2 at 2")
}

// until waits until done returns true. It polls, because nothing announces the state that the test waits for.
func until(t *testing.T, done func() bool) {
	t.Helper()
	awaitSuccess(t, func() error {
		if !done() {
			return errors.New("the view did not reach the expected state")
		}
		return nil
	})
}
