package view

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// written records the keys of a pipeline in order.
type written struct {
	redis.Hook
	keys []string
}

func (w *written) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (w *written) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (w *written) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		for _, one := range all {
			if one.Name() == "script" || one.Name() == "evalsha" {
				continue // the counter of writes
			}
			w.keys = append(w.keys, fmt.Sprint(one.Args()[1]))
		}
		return next(ctx, all)
	}
}

// TestCommandsAreNotedLast checks the order of writes: a reader of a finished command must find its
// effects.
func TestCommandsAreNotedLast(t *testing.T) {
	server, err := Embed()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b, err := Open(Config{URL: server.URL(), Now: time.Now, Partition: func(string) int32 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	seen := &written{}
	b.only.redis.AddHook(seen)
	notes := map[note]noted{}
	for i := range 20 {
		id := fmt.Sprint(i)
		notes[note{"north", noteCommand, id}] = noted{value: []byte("{}")}
		notes[note{"north", noteEpisode, id}] = noted{value: []byte("{}")}
		notes[note{"", noteLink, id}] = noted{value: []byte("{}")}
	}
	faults := map[int32]error{}
	b.putNotes(t.Context(), notes, faults, func(string) {})
	if len(faults) > 0 || len(notes) > 0 {
		t.Fatalf("%d notes are left: %v", len(notes), faults)
	}
	commands := 0
	for _, key := range seen.keys {
		if strings.Contains(key, noteCommand) {
			commands++
		} else if commands > 0 {
			t.Fatalf("%s is written behind a command", key)
		}
	}
	if commands != 40 { // the field and its expiry
		t.Errorf("%d writes of commands in %q", commands, seen.keys)
	}
}

// TestLinksAreHashed: Redis does not store the tokens that acknowledge alerts.
func TestLinksAreHashed(t *testing.T) {
	server, err := Embed()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b, err := Open(Config{URL: server.URL(), Now: time.Now, Partition: func(string) int32 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	d := b.Deliveries()
	d.PutLink("TOKEN", []byte("{}"))
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range d.notes {
		if n.kind != noteLink || strings.Contains(n.id, "TOKEN") || n.id != linkNote("TOKEN").id {
			t.Errorf("noted as %+v", n)
		}
	}
	if len(d.notes) != 1 {
		t.Errorf("%d notes", len(d.notes))
	}
}

// TestEndedEpisodesAreDeleted: an alert run is listed for 90 days after its end. A run that has not ended is kept, and
// so is the run of another hospital.
func TestEndedEpisodesAreDeleted(t *testing.T) {
	server, err := Embed()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	now := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	b, err := Open(Config{URL: server.URL(), Now: func() time.Time { return now }, Partition: func(string) int32 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	d := b.Deliveries()
	d.PutEpisode("north", "open", time.Time{}, []byte("{}"))
	for day := range 200 {
		d.PutEpisode("north", strconv.Itoa(day), now, []byte("{}"))
		now = now.Add(24 * time.Hour)
	}
	d.PutEpisode("south", "ended", now, []byte("{}"))
	if err = d.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.PutEpisode("north", "last", time.Time{}, []byte("{}")) // deletes what the first write has left
	if err = d.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := b.Lists().Episodes(t.Context(), "north")
	if err != nil || len(all) != 2+90 || all["open"] == "" || all["last"] == "" || all["110"] == "" || all["109"] != "" {
		t.Errorf("%d runs, %v", len(all), err)
	}
	if all, err := b.Lists().Episodes(t.Context(), "south"); err != nil || len(all) != 1 {
		t.Errorf("%d runs of the other hospital, %v", len(all), err)
	}
}
