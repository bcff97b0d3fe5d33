package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// diary is a task whose timers fire before a later input, like the timers of the task that computes verdicts. It
// records its actions in order: "+10m" is an input and its time, and "10m by record" or "10m by clock" is a timer and
// its trigger.
type diary struct {
	counter
	start time.Time
	hold  func(r Record) // called before each input
	lines int
}

func (d *diary) write(line string) {
	d.changes = append(d.changes, [2][]byte{[]byte("line/" + strconv.Itoa(d.lines)), []byte(line)})
	d.lines++
}

func (d *diary) Restore(r Record) error {
	if strings.HasPrefix(string(r.Key), "line/") {
		d.lines++
	}
	return d.counter.Restore(r)
}

func (d *diary) fire(upTo time.Time, by string) {
	if !d.due.IsZero() && !d.due.After(upTo) {
		d.write(d.due.Sub(d.start).String() + " by " + by)
		d.due = time.Time{}
		d.changes = append(d.changes, [2][]byte{[]byte("due"), strconv.AppendInt(nil, d.due.UnixMilli(), 10)})
	}
}

func (d *diary) Apply(r Record) error {
	if d.hold != nil {
		d.hold(r)
	}
	d.fire(r.Timestamp, "record")
	d.write("+" + r.Timestamp.Sub(d.start).String())
	return d.counter.Apply(r)
}

func (d *diary) Advance(upTo time.Time) error {
	d.fire(upTo, "clock")
	return nil
}

// diaries starts a loop whose tasks are diaries. read returns the lines of one task.
func (r *rig) diaries(start time.Time, hold func(Record), stats *Stats) (read func(partition int32) []string, stop func() error) {
	stop = r.process(r.cluster, Config{Stats: stats, NewTask: func(n int32) Task {
		c, ok := newCounter(n).(*counter)
		if !ok {
			r.t.Error("no counter")
		}
		return &diary{counter: *c, start: start, hold: hold}
	}})
	return func(partition int32) (lines []string) {
		var mu sync.Mutex
		if err := r.cluster.readTo(r.t.Context(), logTopic, nil, []int32{partition}, func(rec Record) error {
			mu.Lock()
			defer mu.Unlock()
			if strings.HasPrefix(string(rec.Key), "line/") {
				lines = append(lines, string(rec.Value))
			}
			return nil
		}); err != nil {
			r.t.Fatal(err)
		}
		return lines
	}, stop
}

// appends appends a record with the given time.
func appends(t *testing.T, l *Loader, partition int32, at time.Time, value string) {
	t.Helper()
	if err := l.Put(&Record{Partition: partition, Key: []byte("k"), Value: []byte(value), Timestamp: at}); err != nil {
		t.Fatal(err)
	}
}

// In a log of old records that spans many polls, each timer fires before the first later record, regardless of the wall
// clock. The last timer fires when no record has arrived for a while.
func TestTimeFollowsTheRecordsOfABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		const records = 500
		start := time.Now().Add(-1000 * time.Hour).Truncate(time.Hour)
		var want []string
		noise := rand.New(rand.NewPCG(1, 2))
		large := make([]byte, 2000) // several polls, because a fetch has a size limit and random bytes do not compress
		for i := range records {
			at := time.Duration(i) * time.Hour
			value := "wait 30m"
			if i%2 == 0 {
				for j := range large {
					large[j] = byte(noise.Uint32())
				}
				value = "add " + string(large)
			}
			r.fill(func(l *Loader) { appends(t, l, 1, start.Add(at), value) })
			if i > 0 && i%2 == 0 {
				want = append(want, fmt.Sprint(at-30*time.Minute, " by record"))
			}
			want = append(want, fmt.Sprint("+", at))
		}
		want = append(want, fmt.Sprint((records-1)*time.Hour+30*time.Minute, " by clock"))
		var stats Stats
		read, stop := r.diaries(start, nil, &stats)
		r.await("records", records, stats.Records.Load)
		time.Sleep(logSilence - 5*time.Second)
		if n := len(read(1)); n != records+records/2-1 {
			t.Errorf("%d lines before the log counts as ended", n)
		}
		time.Sleep(10 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := read(1); !slices.Equal(got, want) {
			t.Errorf("%q, not\n%q", got, want)
		}
	})
}

// TestTimeFollowsTheRecordsOfASlowWriter: each timer fires before the first later record. This also holds if a log of
// old records is written more slowly than it is applied, and if the loop restarts and finds no more records to apply.
func TestTimeFollowsTheRecordsOfASlowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		start := time.Now().Add(-1000 * time.Hour).Truncate(time.Hour)
		var stats Stats
		_, stop := r.diaries(start, nil, &stats)
		write := func(from, to int) {
			for i := from; i < to; i++ {
				r.fill(func(l *Loader) { appends(t, l, 1, start.Add(time.Duration(i)*time.Hour), "wait 30m") })
				time.Sleep(logSilence - 5*time.Second)
			}
		}
		write(0, 10)
		r.await("records", 10, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		var again Stats
		read, stop := r.diaries(start, nil, &again)
		r.await("partitions", parts, again.Partitions.Load)
		time.Sleep(logSilence - 5*time.Second)
		write(10, 20)
		r.await("records", 10, again.Records.Load)
		want := []string{"+0s"}
		for i := 1; i < 20; i++ {
			at := time.Duration(i) * time.Hour
			want = append(want, fmt.Sprint(at-30*time.Minute, " by record"), fmt.Sprint("+", at))
		}
		if got := read(1); !slices.Equal(got, want) {
			t.Errorf("%q, not\n%q", got, want)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// In live operation, the wall clock fires a timer as soon as it is due, although no later record arrives.
func TestTimersFireByTheWallClockWhereTheLogEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		start := time.Now()
		var stats Stats
		read, stop := r.diaries(start, nil, &stats)
		r.await("partitions", parts, stats.Partitions.Load)
		at := time.Since(start)
		r.fill(func(l *Loader) { appends(t, l, 1, time.Now(), "wait 30m") })
		time.Sleep(30*time.Minute + time.Second)
		if got, want := read(1), []string{"+" + at.String(), (at.Truncate(time.Millisecond) + 30*time.Minute).String() + " by clock"}; !slices.Equal(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A loop that was delayed, here by another partition, applies earlier records before it fires a
// timer that it missed.
func TestMissedTimerWaitsForTheRecordsBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		start := time.Now().Truncate(time.Millisecond)
		var stats Stats
		held := make(chan struct{})
		read, stop := r.diaries(start, func(rec Record) {
			if rec.Partition == 0 {
				close(held)
				time.Sleep(time.Hour)
			}
		}, &stats)
		r.await("partitions", parts, stats.Partitions.Load)
		r.fill(func(l *Loader) { appends(t, l, 1, start, "wait 30m") })
		r.await("records", 1, stats.Records.Load)
		r.fill(func(l *Loader) { appends(t, l, 0, start, "add") })
		<-held
		r.fill(func(l *Loader) { appends(t, l, 1, start.Add(20*time.Minute), "add") })
		time.Sleep(time.Hour + time.Minute)
		if got, want := read(1), []string{"+0s", "+20m0s", "30m0s by clock"}; !slices.Equal(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}
