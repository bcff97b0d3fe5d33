package view_test

import (
	"context"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"svc/internal/view"
)

// During an update of the processors, an older build without the field recent may write versions in alternation with a
// newer build. In that case, all rooms are read.
func TestOlderWriter(t *testing.T) {
	embedded, err := view.Embed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedded.Close)
	b, err := view.Open(config(embedded.URL()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	projector := b.Projector("g", func(int32) {})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- projector.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	rooms := func(texts ...string) map[int32][]byte {
		all := map[int32][]byte{}
		for i, text := range texts {
			all[int32(i)] = []byte(text)
		}
		return all
	}
	projector.Put(view.Projection{Whole: true, Position: 1, Units: []view.Unit{{Hospital: "north", Version: 1, Rooms: rooms("a1", "b1")}}})
	projector.Put(view.Projection{Position: 2, Units: []view.Unit{{Hospital: "north", Version: 2, Rooms: rooms("a2")}}})
	if err = b.Watermark().Wait(t.Context(), 0, 2); err != nil {
		t.Fatal(err)
	}
	since := func(version int64) view.Snapshot {
		s, fault := b.ReadSince(t.Context(), "north", view.Token{Generation: "g", Version: version})
		if fault != nil {
			t.Fatal(fault)
		}
		return s
	}
	if s := since(1); !s.Partial || !slices.Equal(s.Rooms, []view.Room{{ID: 0, Chart: "a2"}}) {
		t.Fatalf("%+v", s)
	}
	options, err := redis.ParseURL(embedded.URL())
	if err != nil {
		t.Fatal(err)
	}
	older := redis.NewClient(options)
	t.Cleanup(func() { older.Close() })
	older.HSet(t.Context(), "svc:{0}unit:north", "v", 3, "p", 3, "u", "", "r1", "b3")
	for version := range int64(4) {
		if s := since(version); s.Version != 3 || s.Partial != (version == 3) || !s.Partial && !slices.Equal(s.Rooms, []view.Room{{ID: 0, Chart: "a2"}, {ID: 1, Chart: "b3"}}) {
			t.Errorf("since %d: %+v", version, s)
		}
	}
	// Any other bytes in the field are treated as absent.
	for _, other := range []string{"", "\x02", "\x02\x06\x00\xff"} {
		older.HSet(t.Context(), "svc:{0}unit:north", "d", other)
		if s := since(2); s.Partial || len(s.Rooms) != 2 {
			t.Errorf("%x: %+v", other, s)
		}
	}
}
