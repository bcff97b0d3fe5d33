package view_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/internal/view"
	"svc/internal/view/viewtest"
)

// In any sequence of faults of Redis and the connection, a read returns an error or exactly one committed version,
// never a mixture. At the end, a read returns the last version.
func TestViewIsAlwaysOneCommittedVersion(t *testing.T) {
	embedded, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedded.Close)
	wipe := server(t, embedded.URL()).Wipe
	gate := viewtest.NewGate(t, embedded.URL())
	run := 0
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("25"); err != nil { // fewer checks than by default, because each uses real connections and takes 0.1 s
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		run++
		b, err := view.Open(view.Config{
			URL: gate.URL, Prefix: fmt.Sprintf("%d:", run), Partition: func(string) int32 { return 0 },
			Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			rt.Fatal(err)
		}
		defer b.Close()
		asked := make(chan struct{}, 1)
		projector := b.Projector("g", func(int32) {
			select {
			case asked <- struct{}{}:
			default:
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- projector.Run(ctx) }()
		defer func() {
			cancel()
			<-done
		}()

		// versions are the expected rooms of one hospital after each version.
		versions := []string{""}
		rooms := map[int32]string{}
		version := int64(0)
		whole := func() {
			u := view.Unit{Hospital: "north", Version: version, Rooms: map[int32][]byte{}}
			for id, text := range rooms {
				u.Rooms[id] = []byte(text)
			}
			projection := view.Projection{Whole: true, Position: version}
			if version > 0 {
				projection.Units = []view.Unit{u}
			}
			projector.Put(projection)
		}
		show := func() string {
			return strings.Join(slices.Sorted(maps.Values(rooms)), " ")
		}
		commit := func(step int) {
			version++
			u := view.Unit{Hospital: "north", Version: version, Rooms: map[int32][]byte{}}
			for id := range int32(3) {
				switch (step + int(id) + int(version)) % 3 {
				case 0:
					rooms[id] = fmt.Sprintf("%d@%d", id, version)
					u.Rooms[id] = []byte(rooms[id])
				case 1:
					delete(rooms, id)
					u.Rooms[id] = nil
				}
			}
			versions = append(versions, show())
			projector.Put(view.Projection{Position: version, Units: []view.Unit{u}})
		}
		// One reader reads all rooms, and the other reads only changed rooms.
		type reader struct {
			last  view.Token
			rooms map[int32]string
		}
		readers := map[string]*reader{"all": {rooms: map[int32]string{}}, "changes": {rooms: map[int32]string{}}}
		check := func() {
			for name, r := range readers {
				s, err := b.ReadSince(t.Context(), "north", r.last)
				if err != nil {
					continue
				}
				if !s.Partial {
					clear(r.rooms)
				}
				for _, id := range s.Gone {
					delete(r.rooms, id)
				}
				for _, room := range s.Rooms {
					r.rooms[room.ID] = room.Chart
				}
				if name == "changes" {
					r.last = s.Token
				}
				got := strings.Join(slices.Sorted(maps.Values(r.rooms)), " ")
				if s.Version >= int64(len(versions)) || got != versions[s.Version] {
					rt.Fatalf("reader of %s: version %d shows %q, was %q", name, s.Version, got, versions[s.Version])
				}
			}
		}
		whole()
		steps := rapid.SliceOfN(rapid.IntRange(0, 11), 1, 40).Draw(rt, "steps")
		for _, step := range steps {
			switch step {
			case 0:
				wipe(t)
			case 1:
				gate.Shut()
			case 2:
				gate.Open()
			case 3:
				check()
			case 4:
				whole()
			default:
				commit(step)
			}
			select {
			case <-asked:
				whole()
			default:
			}
		}
		gate.Open()
		commit(0) // this write detects a loss of data at once; the periodic check of the projector takes up to a second
		end, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for {
			check()
			if s, err := b.Read(end, "north"); err == nil && s.Version == version {
				return
			}
			select {
			case <-asked:
				whole()
			case <-end.Done():
				rt.Fatalf("the view never showed version %d", version)
			default:
			}
		}
	})
}
