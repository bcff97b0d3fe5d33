package view

import (
	"fmt"
	"log/slog"
	"testing"
	"time"
)

// TestBeyondTheBound: lists that lack a delivery do not count as complete, even if Redis is unavailable at the time
// when they must be marked as incomplete.
func TestBeyondTheBound(t *testing.T) {
	server, err := Embed()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b, err := Open(Config{
		URL: server.URL(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Partition: func(hospital string) int32 { return map[string]int32{"north": 0, "south": 1}[hospital] },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	listed := func(want string) {
		t.Helper()
		if got, err := b.Lists().Listed(t.Context(), []int32{0, 1}); fmt.Sprint(got) != want || err != nil {
			t.Errorf("listed %v, want %s: %v", got, want, err)
		}
	}
	for partition := range int32(2) {
		if err := b.Lists().SetListed(t.Context(), partition); err != nil {
			t.Fatal(err)
		}
	}
	d := b.Deliveries()
	d.most = 3
	put := func(hospital string, n int) {
		d.Put(Delivery{Hospital: hospital, Endpoint: "whk_1", ID: fmt.Sprint("dlv_", n), OccurredAt: time.UnixMilli(1_700_000_000_000), Value: []byte("{}")})
	}
	for n := range 3 {
		put("north", n)
	}
	put("north", 2) // a new version of an already pending delivery
	if err := d.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	listed("[true true]")

	for n := range 3 {
		put("north", n)
	}
	put("south", 3)
	server.Hook(func(string) string { return "READONLY" })
	if err := d.flush(t.Context()); err == nil {
		t.Error("written although Redis refuses it")
	}
	server.Hook(nil)
	listed("[true true]")
	if err := d.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	listed("[true false]")
	if err := b.Lists().SetListed(t.Context(), 1); err != nil { // the lists are rebuilt
		t.Fatal(err)
	}
	if err := d.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	listed("[true true]")
}
