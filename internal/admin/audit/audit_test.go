package audit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMatches(t *testing.T) {
	noon := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	act := Act{Hospital: "north", At: noon, By: "key_1", Action: "key.mint", Subject: "key_2"}
	for name, c := range map[string]struct {
		query Query
		want  bool
	}{
		"all of the hospital":     {Query{Hospital: "north"}, true},
		"another hospital":        {Query{Hospital: "south"}, false},
		"no hospital":             {Query{}, false},
		"the action":              {Query{Hospital: "north", Action: "key.mint"}, true},
		"another action":          {Query{Hospital: "north", Action: "key.revoke"}, false},
		"all actions on keys":     {Query{Hospital: "north", Action: "key."}, true},
		"all actions on others":   {Query{Hospital: "north", Action: "rule."}, false},
		"half a word":             {Query{Hospital: "north", Action: "key"}, false},
		"since includes":          {Query{Hospital: "north", Since: noon}, true},
		"since later":             {Query{Hospital: "north", Since: noon.Add(1)}, false},
		"until excludes":          {Query{Hospital: "north", Until: noon}, false},
		"until later":             {Query{Hospital: "north", Until: noon.Add(1)}, true},
		"between, another action": {Query{Hospital: "north", Since: noon, Until: noon.Add(1), Action: "x"}, false},
	} {
		if got := c.query.Matches(&act); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestNotDone: RecordNotDone writes a record even if the client has disconnected. A query for an action also returns
// its failed attempts, whose names have the suffix ".failed" or ".unclear".
func TestNotDone(t *testing.T) {
	var got []Act
	record := Record(func(ctx context.Context, act Act) error {
		got = append(got, act)
		return ctx.Err()
	})
	act := Act{Hospital: "north", Action: "rule.delete", Subject: "high-mag", Before: "7", After: "8"}
	ended, end := context.WithCancel(t.Context())
	end() // the client has disconnected
	for _, how := range []string{Failed, Unclear} {
		if err := record.RecordNotDone(ended, act, how); err != nil {
			t.Error(err)
		}
	}
	want := []Act{{Hospital: "north", Action: "rule.delete.failed", Subject: "high-mag", Before: "7"}, {Hospital: "north", Action: "rule.delete.unclear", Subject: "high-mag", Before: "7"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	for action, matches := range map[string]bool{"rule.delete": true, "rule.": true, "rule.delete.failed": true, "rule.put": false, "": true} {
		q := Query{Hospital: "north", Action: action}
		if q.Matches(&got[0]) != matches {
			t.Errorf("%q: %t", action, !matches)
		}
	}
}

// TestActsAreRecordedAtOnce: the records of actions in different hospitals are written concurrently, at most atOnce
// at a time. The actions are executed only once all of them are recorded.
func TestActsAreRecordedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writing, done atomic.Int32
		open := make(chan struct{})
		record := Record(func(context.Context, Act) error {
			writing.Add(1)
			<-open
			done.Add(1)
			return nil
		})
		acts := make([]Act, 100)
		for i := range acts {
			acts[i].Hospital = strconv.Itoa(i)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- record.Do(t.Context(), func() error {
				if done.Load() != 100 {
					t.Errorf("done when %d acts were on record", done.Load())
				}
				return nil
			}, acts...)
		}()
		synctest.Wait()
		if n := writing.Load(); n != atOnce {
			t.Errorf("%d records are written at once, want %d", n, atOnce)
		}
		close(open)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestOneRecordFails: if the record of an action cannot be written, the action is not executed, and
// actions that were recorded with it are recorded as failed.
func TestOneRecordFails(t *testing.T) {
	away := errors.New("away")
	var mu sync.Mutex
	var got []string
	record := Record(func(_ context.Context, act Act) error {
		if act.Hospital == "south" {
			return away
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, act.Hospital+" "+act.Action)
		return nil
	})
	err := record.Do(t.Context(), func() error {
		t.Error("it was done")
		return nil
	}, Act{Hospital: "north", Action: "a"}, Act{Hospital: "south", Action: "a"}, Act{Hospital: "west", Action: "a"})
	slices.Sort(got)
	if want := []string{"north a", "north a.failed", "west a", "west a.failed"}; !errors.Is(err, away) || !slices.Equal(got, want) {
		t.Errorf("%v; on record %q, want %q", err, got, want)
	}
}
