package stream

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// After a member has stopped, the next session starts at the offset that the member committed, and gets the note of
// that commit.
func TestShareGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		first := newSharer(t)
		stop := r.share(r.cluster, "one", first)
		r.send(30)
		first.until("30 records", func() bool { return first.has(30) })
		allEnd(t, stop)
		if !slices.Equal(slices.Sorted(slices.Values(first.given)), []int32{0, 1, 2}) || len(first.owned()) > 0 {
			t.Errorf("given %v, still ours %v", first.given, first.owned())
		}
		for _, was := range first.taken {
			if was.committed >= 0 || was.note != "" {
				t.Errorf("a new group begins with %+v", was)
			}
		}

		second := newSharer(t)
		stop = r.share(r.cluster, "one", second)
		r.send(6)
		second.until("6 more records", func() bool { return second.has(6) })
		allEnd(t, stop)
		for _, was := range second.taken {
			if was.committed != 10 || was.note != note(10, true) {
				t.Errorf("the next session begins with %+v", was)
			}
		}
		exact(t, 36, first, second)
	})
}

// finish writes each value to each partition in one transaction, and commits or aborts the transaction.
func (r *rig) finish(how kgo.TransactionEndTry, values ...string) {
	r.t.Helper()
	c, err := kgo.NewClient(r.cluster.with(kgo.TransactionalID("writer"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	if err := c.BeginTransaction(); err != nil {
		r.t.Fatal(err)
	}
	for _, v := range values {
		for n := range int32(parts) {
			if err := c.ProduceSync(r.t.Context(), &kgo.Record{Topic: inTopic, Partition: n, Value: []byte(v)}).FirstErr(); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if err := c.EndTransaction(r.t.Context(), how); err != nil {
		r.t.Fatal(err)
	}
}

// Share reports that a log was read to its end only after all its records were passed to the Sharer, even if reading
// takes long. Markers and aborted records after the last record do not prevent the report.
func TestShareReadsToTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.finish(kgo.TryCommit, "1", "2")
		r.finish(kgo.TryAbort, "never")
		for name, step := range map[string]struct {
			committed int64
			records   int
		}{"all": {-1, 2}, "nothing but what was aborted": {3, 0}, "nothing": {5, 0}} {
			s := newSharer(t)
			unreachable := r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: inTopic, Err: kerr.NotLeaderForPartition, Count: -1})
			stop := r.share(r.cluster, "one", s, func(c *ShareConfig) {
				c.Group = name
				offsets := kadm.Offsets{}
				for n := range int32(parts) {
					if step.committed >= 0 {
						offsets.AddOffset(inTopic, n, step.committed, -1)
					}
				}
				if err := r.cluster.admin.CommitAllOffsets(t.Context(), name, offsets); err != nil {
					t.Fatal(err)
				}
			})
			s.until("polls without a record", func() bool { return s.asked > 3 })
			unreachable.Remove()
			s.until("the end of each log", func() bool { return len(s.read) == parts })
			for n, at := range s.read {
				if at != step.records || len(s.records[n]) != step.records {
					t.Errorf("%s: partition %d is said to be read with %d of %d records", name, n, at, step.records)
				}
			}
			allEnd(t, stop)
		}
	})
}

// If Assign fails for a partition, Share retries it, together with the other partitions of the assignment.
func TestShareRetriesAssign(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		s := newSharer(t)
		s.refuse = errors.New("the ledger cannot be read")
		stop := r.share(r.cluster, "one", s)
		r.send(9)
		s.until("a second try", func() bool { return len(s.taken) > parts })
		s.set(func() { s.refuse = nil })
		s.until("9 records", func() bool { return s.has(9) })
		allEnd(t, stop)
		exact(t, 9, s)
	})
}

// If Fault returns an error, the session ends. All partitions are lost without a commit, and the next session starts
// at the last committed offsets.
func TestShareFaults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		s := newSharer(t)
		s.unsaved = true
		stop := r.share(r.cluster, "one", s)
		r.send(9)
		s.until("9 records", func() bool { return s.has(9) })
		s.set(func() { s.fault = errors.New("the ledger has refused an entry") })
		s.until("9 records again", func() bool { return len(s.taken) == 2*parts && s.has(18) })
		if len(s.lost) != parts || len(s.given) > 0 {
			t.Errorf("lost %v, given %v", s.lost, s.given)
		}
		allEnd(t, stop)
	})
}

// A full sharer gets no records, remains a member, and gets records again once it has capacity.
func TestShareIsFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		s := newSharer(t)
		stop := r.share(r.cluster, "one", s)
		s.until("all partitions", func() bool { return len(s.next) == parts && len(s.read) == parts })
		full := make(chan struct{})
		s.set(func() { s.full = full })
		r.send(9)
		r.await("commits while it is full", 1, func() int64 { return r.committed("s", note(0, false)) })
		time.Sleep(15 * time.Second) // longer than a session
		s.mu.Lock()
		if s.has(parts + 1) { // one poll may have been in progress when the sharer became full
			t.Error("records are handed over while it is full")
		}
		s.mu.Unlock()
		close(full)
		s.until("9 records", func() bool { return s.has(9) })
		if len(s.taken) != parts {
			t.Errorf("taken %v", s.taken)
		}
		allEnd(t, stop)
		exact(t, 9, s)
	})
}

// committed returns the number of partitions whose offset was committed with the note.
func (r *rig) committed(group, note string) (n int64) {
	r.t.Helper()
	all, err := r.cluster.admin.FetchOffsets(r.t.Context(), group)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, at := range all[inTopic] {
		if at.Metadata == note {
			n++
		}
	}
	return n
}

// Share passes each record of the side topic, except barriers, to Side once for each owner of its partition. It reads
// only the partitions that the member owns. A new owner reads a partition from its start.
func TestShareFollowsSideTopic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		write := func(from, to int) {
			t.Helper()
			for i := from; i < to; i++ {
				if _, err := r.cluster.Publisher(logTopic).Append(t.Context(), []byte("k"), fmt.Append(nil, i), int32(i%parts)); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(0, 6)
		if _, err := r.cluster.appendBarriers(t.Context(), logTopic, []int32{0, 1, 2}); err != nil {
			t.Fatal(err)
		}
		one, two := newSharer(t), newSharer(t)
		first := r.share(r.cluster, "one", one)
		count := func(s *sharer) (n int) {
			for _, list := range s.side {
				n += len(list)
			}
			return n
		}
		one.until("6 records beside", func() bool { return count(one) == 6 })
		other := r.dial()
		defer other.Close()
		second := r.share(other, "two", two)
		two.until("a partition of the second, from its start", func() bool { return len(two.next) > 0 && count(two) == 2*len(two.next) })
		moved := slices.Clone(one.given)
		write(6, 9)
		one.until("its records", func() bool { return count(one) == 6+len(one.next) })
		two.until("its records", func() bool { return count(two) == 3*len(two.next) })
		allEnd(t, second, first)
		for partition := range int32(parts) {
			want := []string{fmt.Sprint(partition), fmt.Sprint(partition + 3), fmt.Sprint(partition + 6)}
			if slices.Contains(moved, partition) { // the second owner has read the log from its start
				if got := two.side[partition]; !slices.Equal(got, want) || !slices.Equal(one.side[partition], want[:2]) {
					t.Errorf("partition %d: first %v, then %v", partition, one.side[partition], got)
				}
			} else if got := one.side[partition]; !slices.Equal(got, want) {
				t.Errorf("partition %d: %v", partition, got)
			}
		}
	})
}

// Consecutive records of the side topic are fetched together. The sharer itself writes most of them, so a fetch for
// each record would cost too much.
func TestShareBatchesSideTopic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		s := newSharer(t)
		stop := r.share(r.cluster, "one", s)
		s.until("all partitions", func() bool { return len(s.next) == parts })
		fetched := r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: logTopic, Count: -1, Observe: true})
		defer fetched.Remove()
		const records = 400
		for i := range records {
			if _, err := r.cluster.Publisher(logTopic).Append(t.Context(), []byte("k"), []byte("v"), int32(i%parts)); err != nil {
				t.Fatal(err)
			}
			if i%10 == 9 {
				time.Sleep(5 * time.Millisecond) // the pace of the writes
			}
		}
		s.until("all of it", func() bool { return len(s.side[0])+len(s.side[1])+len(s.side[2]) == records })
		if n := fetched.Hits(); n > records/8 {
			t.Errorf("%d fetches for %d records", n, records)
		}
		allEnd(t, stop)
	})
}

// A failed commit is retried, and does not cause any record to be passed twice.
func TestShareCommitsLater(t *testing.T) {
	for name, fault := range map[string]*kerr.Error{"coordinator loads": kerr.CoordinatorLoadInProgress, "refused": kerr.RebalanceInProgress} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				s := newSharer(t)
				h := r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: fault, Count: 3})
				defer h.Remove()
				stop := r.share(r.cluster, "one", s)
				r.send(9)
				s.until("9 records", func() bool { return s.has(9) })
				r.await("commits", parts, func() int64 { return r.committed("s", note(3, false)) })
				allEnd(t, stop)
				exact(t, 9, s)
			})
		})
	}
}
