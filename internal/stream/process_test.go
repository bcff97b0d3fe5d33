package stream

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestProcessAppliesEachInputOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.send(30)
		var stats Stats
		stop := r.process(r.cluster, Config{Stats: &stats})
		r.await("records", 30, stats.Records.Load)
		r.send(30)
		r.await("records", 60, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.exact(60)
	})
}

func TestProcessGoesOnAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		total := 0
		for range 5 {
			var stats Stats
			stop := r.process(r.cluster, Config{Stats: &stats})
			r.send(12)
			total += 12
			r.await("records", 12, stats.Records.Load)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
		r.exact(total)
	})
}

func TestTimersFireWithoutInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var stats Stats
		stop := r.process(r.cluster, Config{Stats: &stats})
		began := time.Now()
		if _, err := r.cluster.Publisher(inTopic).Append(t.Context(), []byte("k"), []byte("wait 4h"), 1); err != nil {
			t.Fatal(err)
		}
		due := began.Add(4 * time.Hour).UTC().Format(time.TimeOnly)
		time.Sleep(4*time.Hour + time.Second)
		synctest.Wait()
		if _, last := r.changes(); last["1/fired/"+due] != due {
			t.Fatalf("no timer fired at %s: %v", due, last)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPoisonIsRejectedAndPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.send(3)
		if _, err := r.cluster.Publisher(inTopic).Append(t.Context(), []byte("k"), []byte("poison"), 2); err != nil {
			t.Fatal(err)
		}
		r.send(3)
		var stats Stats
		stop := r.process(r.cluster, Config{Stats: &stats})
		r.await("records", 7, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.exact(7)
		if _, last := r.changes(); last["2/rejected/test"] != "1" {
			t.Fatalf("input 2:1 is not rejected: %v", last)
		}
		if n := stats.Rejected.Load(); n != 1 {
			t.Fatalf("%d rejected", n)
		}
	})
}

func TestLostChangelogStopsWithAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.send(6)
		var stats Stats
		stop := r.process(r.cluster, Config{Stats: &stats})
		r.await("records", 6, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := r.broker.DeleteTopic(logTopic); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // virtual time, until the client has dropped the topic
		if err := r.cluster.Ensure(t.Context(), Topic{Name: logTopic, Partitions: parts, Compact: true}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			done <- r.cluster.Process(t.Context(), Config{Group: "g", Instance: "one", Input: inTopic, Changelog: logTopic, NewTask: newCounter})
		}()
		if err := <-done; !errors.Is(err, errAlarm) {
			t.Fatalf("got %v, not an alarm", err)
		}
	})
}

// sulky is a task whose Apply fails on the input with offset 2. left is the number of remaining failures, which all
// partitions share.
type sulky struct {
	counter
	left *atomic.Int64
}

func (s *sulky) Apply(r Record) error {
	if r.Offset == 2 && s.left.Add(-1) >= 0 {
		return errors.New("not yet")
	}
	return s.counter.Apply(r)
}

// If Apply returns an error other than a PoisonError, the input blocks its partition and is retried at a limited rate
// until Apply succeeds. No input is skipped.
func TestErrorHoldsPartitionUntilItIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var left atomic.Int64
		left.Store(40 * parts) // enough for every partition to get the error
		stop := r.process(r.cluster, Config{NewTask: func(n int32) Task {
			c, ok := newCounter(n).(*counter)
			if !ok {
				t.Error("no counter")
			}
			return &sulky{counter: *c, left: &left}
		}})
		began := time.Now()
		r.send(15)
		r.await("applied", 15, r.applied)
		if took := time.Since(began); took < time.Second {
			t.Errorf("40 errors within %s", took)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.exact(15)
	})
}

// An input that was already applied is skipped when it is repeated, and a missing input is reported.
func TestApplySkipsKnownAndReportsMissing(t *testing.T) {
	task := newCounter(0)
	if err := task.Restore(Record{Key: []byte("in"), Value: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	l := &loop{parts: map[int32]*part{0: {task: task, next: 3}}}
	batch := func(offsets ...int64) *kgo.FetchPartition {
		fp := new(kgo.FetchPartition)
		for _, at := range offsets {
			fp.Records = append(fp.Records, &kgo.Record{Offset: at, Key: []byte("k"), Value: []byte("add")})
		}
		return fp
	}
	if n, err := l.apply(l.parts[0], batch(0, 1, 2, 3, 4)); err != nil || n != 2 || l.parts[0].next != 5 {
		t.Errorf("%v, %d applied, next %d", err, n, l.parts[0].next)
	}
	_, err := l.apply(l.parts[0], batch(7))
	if want := (gapError{want: 5, have: 7}); !errors.Is(err, want) {
		t.Errorf("got %v, not %v", err, want)
	}
	if _, err := l.apply(l.parts[1], &kgo.FetchPartition{Partition: 1, Records: batch(0).Records}); err == nil {
		t.Error("a partition without state is applied")
	}
}

// verbose writes one large output, in many records, to a topic other than the changelog.
type verbose struct{ counter }

func (v *verbose) Outputs(emit func(key, value []byte)) error {
	random := rand.NewChaCha8([32]byte{})
	for range 300 {
		value := make([]byte, 10_000)
		random.Read(value) //nolint:errcheck // never fails
		emit([]byte("elsewhere"), value)
	}
	return v.counter.Outputs(emit)
}

// The batches of a transaction are no larger than their topic allows, even if the changelog allows larger batches.
func TestOutputsFitEachTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		other, log := Topic{Name: "other", Partitions: parts}, Topic{Name: "large", Partitions: parts, MaxMessageBytes: 8 << 20}
		if err := r.cluster.Ensure(t.Context(), other, log); err != nil {
			t.Fatal(err)
		}
		var stats Stats
		stop := r.process(r.cluster, Config{
			Stats: &stats, Changelog: log.Name,
			NewTask: func(partition int32) Task { return &verbose{*newCounter(partition).(*counter)} }, //nolint:errcheck // newCounter returns a *counter
			Route: func(key []byte) string {
				if string(key) == "elsewhere" {
					return other.Name
				}
				return ""
			},
		})
		r.send(1)
		r.await("records", 1, stats.Records.Load)
		if n := stats.Aborts.Load(); n > 0 {
			t.Errorf("%d transactions were aborted", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
