package viewtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc/internal/view"
)

// follower keeps a hospital up to date by reading what has changed since the previous read.
type follower struct {
	token view.Token
	chart string
	rooms map[int32]string
	parts int // number of reads that returned only changes
}

// read updates the follower to the current state of a hospital.
func (f *follower) read(ctx context.Context, b *view.View, hospital string) error {
	s, err := b.ReadSince(ctx, hospital, f.token)
	if err != nil {
		return err
	}
	if s.Partial && s.Token != f.token {
		f.parts++
	}
	if !s.Partial {
		f.rooms = map[int32]string{}
	}
	f.token, f.chart = s.Token, s.Chart
	for _, id := range s.Gone {
		delete(f.rooms, id)
	}
	for _, r := range s.Rooms {
		f.rooms[r.ID] = r.Chart
	}
	if !slices.IsSortedFunc(s.Rooms, func(a, b view.Room) int { return int(a.ID - b.ID) }) {
		return fmt.Errorf("rooms are out of order: %v", s.Rooms)
	}
	return nil
}

// show formats the follower's state on one line.
func (f *follower) show() string {
	parts := make([]string, 0, len(f.rooms))
	for _, id := range slices.Sorted(maps.Keys(f.rooms)) {
		parts = append(parts, f.rooms[id])
	}
	return f.chart + "; " + strings.Join(parts, ", ")
}

// testSince tests ReadSince with a token of an earlier version. If the view still has all later changes, the result
// contains only the rooms that changed. In all other cases, it contains all rooms.
func testSince(t *testing.T, s Server) {
	v := start(t, s.URL, "g1")
	at := func(generation string, version int64) view.Token {
		return view.Token{Generation: generation, Version: version}
	}
	want := func(from view.Token, want string) {
		t.Helper()
		got, err := v.ReadSince(t.Context(), "north", from)
		text := fmt.Sprintf("%d at %d: %s; %v -%v", got.Version, got.Position, got.Chart, got.Rooms, got.Gone)
		if err != nil {
			text = err.Error()
		} else if !got.Partial {
			text = "all of " + text
		}
		if text != want {
			t.Errorf("since %v: %q, want %q", from, text, want)
		}
	}
	v.whole(0)
	v.settle(t, 0)
	want(at("g1", 5), view.ErrNoUnit.Error())
	v.whole(1, unit("north", 5, 1, 2, 3))
	v.settle(t, 1)
	want(view.Token{}, "all of 5 at 1: north at 5; [{1 room 1 at 5} {2 room 2 at 5} {3 room 3 at 5}] -[]")
	want(at("g1", 5), "5 at 1: north at 5; [] -[]")
	want(at("g1", 4), "all of 5 at 1: north at 5; [{1 room 1 at 5} {2 room 2 at 5} {3 room 3 at 5}] -[]")
	v.change(2, unit("north", 6, 2))
	v.change(3, unit("north", 8, 1, -3))
	v.settle(t, 3)
	want(at("g1", 8), "8 at 3: north at 8; [] -[]")
	for version := int64(5); version < 8; version++ {
		want(at("g1", version), "8 at 3: north at 8; [{1 room 1 at 8} {2 room 2 at 6}] -[3]")
	}
	const all = "all of 8 at 3: north at 8; [{1 room 1 at 8} {2 room 2 at 6}] -[]"
	want(at("g1", 4), all)  // the view no longer has the changes since version 4
	want(at("g1", 9), all)  // the view has not reached version 9 yet
	want(at("g0", 7), all)  // from a different generation
	want(at("g2", 7), all)  // from a different generation
	want(at("g1", -1), all) // no valid version, although the generation is the current one

	// A new owner of the partition does not know earlier changes.
	next := start(t, s.URL, "g1")
	next.whole(3, unit("north", 8, 1, 2))
	next.change(4, unit("north", 9, 4))
	next.settle(t, 4)
	want(at("g1", 8), "9 at 4: north at 9; [{4 room 4 at 9}] -[]")
	want(at("g1", 7), "all of 9 at 4: north at 9; [{1 room 1 at 8} {2 room 2 at 8} {4 room 4 at 9}] -[]")
	v.change(3, unit("north", 8, 9)) // late, and refused
	v.change(5)
	v.settle(t, 5)
	want(at("g1", 8), "9 at 4: north at 9; [{4 room 4 at 9}] -[]")

	// Redis loses all data, then the log is replaced. Positions restart at 0, so a wait for a position could be
	// satisfied by the old log. Therefore the test waits for the generation.
	s.Wipe(t)
	want(at("g1", 8), view.ErrNotWhole.Error())
	next.wait(t)
	next.whole(4, unit("north", 9, 1, 2, 4))
	until(t, func() bool { return strings.HasPrefix(v.describe(t, "north"), "g1") })
	want(at("g1", 9), "9 at 4: north at 9; [] -[]")
	want(at("g1", 8), "all of 9 at 4: north at 9; [{1 room 1 at 9} {2 room 2 at 9} {4 room 4 at 9}] -[]")
	other := start(t, s.URL, "g2")
	other.whole(0, unit("north", 9, 7))
	until(t, func() bool { return strings.HasPrefix(v.describe(t, "north"), "g2") })
	want(at("g1", 9), "all of 9 at 0: north at 9; [{7 room 7 at 9}] -[]")
}

// testFollowers has two owners write the same hospital alternately, while Redis sometimes loses all data. Meanwhile,
// several readers follow the changes. Whenever a reader reports a version, its copy of the hospital must equal the
// state that was written at that version.
func testFollowers(t *testing.T, s Server) {
	const versions, readers, ids = 600, 4, 12
	owners := [2]*fixture{start(t, s.URL, "g1"), start(t, s.URL, "g1")}
	reader := Open(t, s.URL)

	// The log is computed before anything is written. It contains the rooms that each version changes, and the state
	// of the hospital after that version.
	log := make([]view.Unit, versions+1)
	states := make([]string, versions+1)
	now := follower{rooms: map[int32]string{}}
	wholes := make([]view.Unit, versions+1)
	for n := range log {
		rooms := []int32{int32(n*7%ids) + 1}
		if n%3 == 0 {
			rooms = append(rooms, -(int32(n*5%ids) + 1))
		}
		if n%50 == 0 { // exceeds recentBytes
			for id := int32(1); id <= 200; id++ {
				rooms = append(rooms, 100+id)
			}
		}
		log[n] = unit("north", int64(n), rooms...)
		now.chart = string(log[n].Chart)
		for id, chart := range log[n].Rooms {
			delete(now.rooms, id)
			if chart != nil {
				now.rooms[id] = string(chart)
			}
		}
		states[n] = now.show()
		wholes[n] = view.Unit{Hospital: "north", Version: int64(n), Chart: log[n].Chart, Rooms: map[int32][]byte{}}
		for id, chart := range now.rooms {
			wholes[n].Rooms[id] = []byte(chart)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var reading sync.WaitGroup
	followers := make([]follower, readers)
	for i := range followers {
		f := &followers[i]
		reading.Go(func() {
			for ctx.Err() == nil && f.token.Version < versions {
				err := f.read(ctx, reader, "north")
				switch {
				case errors.Is(err, view.ErrNotWhole), errors.Is(err, view.ErrNoUnit), errors.Is(err, view.ErrAway): // a temporary error
				case err != nil:
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				case f.show() != states[f.token.Version]:
					t.Errorf("reader %d at version %d has\n%s\nwant\n%s", i, f.token.Version, f.show(), states[f.token.Version])
					return
				}
			}
		})
	}

	owner := owners[0]
	owner.whole(0, wholes[0])
	for n := 1; n <= versions; n++ {
		if n%120 == 0 { // every 120 versions, the other owner takes over
			owner = owners[n/120%2]
			owner.whole(int64(n), wholes[n])
		} else {
			owner.change(int64(n), log[n])
		}
		if n%170 == 0 {
			s.Wipe(t)
			owner.whole(int64(n), wholes[n])
		}
		if n%2 == 0 { // without this wait, two consecutive changes may be written as one
			owner.settle(t, int64(n))
		}
	}
	reading.Wait()
	parts := 0
	for i := range followers {
		parts += followers[i].parts
	}
	if parts < versions/10 {
		t.Errorf("only %d partial reads", parts)
	}
}
