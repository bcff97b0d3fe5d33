package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A restore after a checkpoint begins with the checkpoint. It loses no data, even if earlier records were deleted.
func TestRestoreBeginsWithCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var stats Stats
		cfg := Config{
			Stats: &stats, checkpointBytes: 400,
			Keep: func(context.Context, int32) (int64, error) { return 1 << 40, nil },
		}
		stop := r.process(r.cluster, cfg)
		for range 20 {
			r.send(15)
		}
		r.await("records", 300, stats.Records.Load)
		r.await("checkpoints", 3, stats.Checkpoints.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		starts, err := r.cluster.admin.ListStartOffsets(t.Context(), logTopic)
		if err != nil {
			t.Fatal(err)
		}
		for n := range int32(parts) {
			if at, _ := starts.Lookup(logTopic, n); at.Offset == 0 {
				t.Errorf("partition %d is not trimmed", n)
			}
		}
		restored := stats.RestoredBytes.Load()
		stop = r.process(r.cluster, cfg)
		r.await("restores", 6, stats.Restores.Load)
		if n := stats.RestoredBytes.Load() - restored; n > 3*1000 {
			t.Errorf("%d bytes read again", n)
		}
		r.send(30)
		r.await("records", 330, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		copies := 0
		for n := range int32(parts) {
			err := r.cluster.readTo(t.Context(), logTopic, nil, []int32{n}, func(rec Record) error {
				if rec.Copy {
					copies++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if copies == 0 {
			t.Error("no record says that a checkpoint wrote it")
		}
		// The counts come from records before, during and after the checkpoint.
		_, last := r.changes()
		sum := 0
		for n := range parts {
			for k := range 5 {
				c, err := strconv.Atoi(last[fmt.Sprintf("%d/n/k%d", n, k)])
				if err != nil {
					t.Fatal(err)
				}
				sum += c
			}
		}
		if sum != 330 {
			t.Fatalf("counts add up to %d, not 330", sum)
		}
	})
}

// A loop with a checkpoint in progress does not wait for records. Once a transaction has begun, the loop waits until
// the transaction is due to be committed, because polling again at once would be a busy loop.
func TestCheckpointWaitsWithTheTransaction(t *testing.T) {
	now := time.Now()
	l := loop{
		cfg:        Config{CommitEvery: time.Second, Stats: &Stats{}, NewTask: newCounter},
		parts:      map[int32]*part{0: {task: newCounter(0), rewrite: &rewrite{}}},
		lastCommit: now,
	}
	if at := l.deadline(time.Time{}); at.IsZero() || at.After(now) {
		t.Errorf("with nothing begun it polls until %v", at)
	}
	if at := l.deadline(now); !at.Equal(now.Add(time.Second)) {
		t.Errorf("with a transaction begun it polls until %v, now is %v", at, now)
	}
}

// hoard is a task whose live state is a map.
type hoard struct {
	counter
	live map[string]string
}

// Live emits one key per call, as if slices were small. It emits nothing for a key that has been deleted in the
// meantime.
func (h *hoard) Live() func(emit func(key, value []byte)) (more bool, err error) {
	left := slices.Collect(maps.Keys(h.live))
	return func(emit func(key, value []byte)) (bool, error) {
		if len(left) == 0 {
			return false, nil
		}
		if v, ok := h.live[left[0]]; ok {
			emit([]byte(left[0]), []byte(v))
		}
		left = left[1:]
		return len(left) > 0, nil
	}
}

// Regardless of what is written during a checkpoint, a log that begins with the checkpoint's first
// record results in the same state as the whole log.
func TestCheckpointEqualsWholeLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := &hoard{live: map[string]string{}}
		keys := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		for range rapid.IntRange(0, 5).Draw(t, "before") {
			task.live[keys.Draw(t, "key")] = "old"
		}
		log := map[string]string{} // folded from the first record of the checkpoint
		next := task.Live()
		for more, step := true, 0; more; step++ {
			var err error
			if more, err = next(func(key, value []byte) { log[string(key)] = string(value) }); err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(0, 3).Draw(t, "writes") {
				key := keys.Draw(t, "key")
				if rapid.Bool().Draw(t, "remove") {
					delete(task.live, key)
					delete(log, key)
				} else {
					task.live[key] = strconv.Itoa(step)
					log[key] = strconv.Itoa(step)
				}
			}
		}
		if !maps.Equal(log, task.live) {
			t.Fatalf("%v is not %v", log, task.live)
		}
	})
}

func TestMarkOfAnotherLogSaysNothing(t *testing.T) {
	m := mark{from: 12, live: 34, log: "ab"}
	if got := decodeMark(*m.encode(), "ab"); got != m {
		t.Errorf("%v", got)
	}
	for _, s := range []string{"", "one-1234", "checkpoint", "checkpoint -1 3 ab", *mark{from: 1, log: "cd"}.encode()} {
		if got := decodeMark(s, "ab"); got != (mark{}) {
			t.Errorf("%q gives %v", s, got)
		}
	}
}
