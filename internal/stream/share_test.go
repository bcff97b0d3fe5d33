package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sharer does nothing but note what it is given, and holds its caller to the
// order that Sharer promises.
type sharer struct {
	t       *testing.T
	refuse  error                 // of Take
	giving  func(partition int32) // in Give, while the partition is still ours
	moved   chan struct{}         // something has happened
	mu      sync.Mutex
	next    map[int32]int64 // of the partitions that are ours
	taken   []took
	given   []int32
	lost    []int32
	records map[int32][]int64 // offsets, over all times that the partition was ours
	side    map[int32][]string
	empty   int            // times that the log was said to hold nothing
	behind  map[int32]bool // of the last records of a partition: more lay in the log
	full    chan struct{}  // open: no more records are wanted
	fault   error
	unsaved bool // no position may be committed
	ending  bool // a Give was seen
}

// took is one Take.
type took struct {
	partition int32
	committed int64
	note      string
}

func newSharer(t *testing.T) *sharer {
	t.Helper()
	return &sharer{t: t, moved: make(chan struct{}, 1), next: map[int32]int64{}, records: map[int32][]int64{}, side: map[int32][]string{}, behind: map[int32]bool{}}
}

// happened notes a call; do has the lock.
func (s *sharer) happened(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

func (s *sharer) Take(_ context.Context, partition int32, committed int64, note string) (next, side int64, err error) {
	s.happened(func() {
		s.taken = append(s.taken, took{partition, committed, note})
		if err = s.refuse; err != nil {
			return
		}
		if _, ours := s.next[partition]; ours {
			s.t.Errorf("partition %d is taken twice", partition)
		}
		next = max(committed, 0)
		s.next[partition] = next
	})
	return next, 0, err
}

func (s *sharer) Give(_ context.Context, partitions []int32) {
	for _, n := range partitions {
		if s.giving != nil {
			s.giving(n)
		}
	}
	s.happened(func() {
		s.given, s.ending = append(s.given, partitions...), true
		for _, n := range partitions {
			if _, ours := s.next[n]; !ours {
				s.t.Errorf("partition %d is given and is not ours", n)
			}
		}
	})
}

func (s *sharer) Lost(partitions []int32) {
	s.happened(func() {
		s.lost = append(s.lost, partitions...)
		for _, n := range partitions {
			delete(s.next, n)
		}
	})
}

func (s *sharer) Records(partition int32, records []Record, through int64, behind bool) {
	s.happened(func() {
		next, ours := s.next[partition]
		if !ours {
			s.t.Errorf("records of partition %d, which is not ours", partition)
		}
		if through < 0 {
			if len(records) > 0 || behind {
				s.t.Error("records of an empty log")
			}
			s.empty++
			return
		}
		for _, r := range records {
			if r.Offset < next || r.Offset >= through {
				s.t.Errorf("record %d:%d, %d is next and %d is behind", partition, r.Offset, next, through)
			}
			next = r.Offset + 1
			s.records[partition] = append(s.records[partition], r.Offset)
		}
		s.next[partition], s.behind[partition] = through, behind
	})
}

func (s *sharer) Side(r Record) {
	s.happened(func() {
		s.side[r.Partition] = append(s.side[r.Partition], string(r.Value))
	})
}

func (s *sharer) Room(ctx context.Context) bool {
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	if full == nil {
		return true
	}
	select {
	case <-full:
		return true
	case <-ctx.Done():
		return false
	}
}

// Positions says what was handed over, and beside it how much that was.
func (s *sharer) Positions() map[int32]Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[int32]Mark{}
	if s.unsaved {
		return all
	}
	for n, next := range s.next {
		all[n] = Mark{next, note(next, s.ending)}
	}
	return all
}

// note is what is committed beside a position; the work that Give ends adds to it.
func note(next int64, ending bool) string {
	if ending {
		return "end " + strconv.FormatInt(next, 10)
	}
	return "note " + strconv.FormatInt(next, 10)
}

func (s *sharer) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.fault = nil }()
	return s.fault
}

// set changes what it answers.
func (s *sharer) set(do func()) { s.happened(do) }

// until waits for something to be true; is has the lock.
func (s *sharer) until(what string, is func() bool) {
	s.t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		s.mu.Lock()
		done := is()
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-s.moved:
		case <-timeout:
			s.t.Fatalf("not in two minutes: %s; ours %v, taken %v, given %v, lost %v", what, s.owned(), s.taken, s.given, s.lost)
		}
	}
}

func (s *sharer) owned() []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.next))
}

// has is whether so many records were handed over; the lock is held.
func (s *sharer) has(n int) bool {
	for _, list := range s.records {
		n -= len(list)
	}
	return n <= 0
}

// exact fails unless each record of so many was handed over once, in order, to one
// of the sharers.
func exact(t *testing.T, n int, all ...*sharer) {
	t.Helper()
	for partition := range int32(parts) {
		var offsets []int64
		for _, s := range all {
			s.mu.Lock()
			offsets = append(offsets, s.records[partition]...)
			s.mu.Unlock()
		}
		slices.Sort(offsets)
		for i, offset := range offsets {
			if offset != int64(i) {
				t.Fatalf("partition %d: record %d is of offset %d", partition, i, offset)
			}
		}
		n -= len(offsets)
	}
	if n != 0 {
		t.Fatalf("%d records are missing", n)
	}
}

// share starts a member; the returned function ends it and gives its error.
func (r *rig) share(cluster *Cluster, instance string, s Sharer, change ...func(*ShareConfig)) (stop func() error) {
	cfg := ShareConfig{Group: "s", Instance: instance, Topic: inTopic, Beside: logTopic}
	for _, do := range change {
		do(&cfg)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- cluster.Share(ctx, cfg, s) }()
	return func() error {
		cancel()
		return <-done
	}
}

// allEnd ends members, which must end without an error.
func allEnd(t *testing.T, stops ...func() error) {
	t.Helper()
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// What was committed, and the note beside it, is what the next session begins with.
func TestShareGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		first := newSharer(t)
		stop := r.share(r.cluster, "one", first)
		r.send(30)
		first.until("30 records", func() bool { return first.has(30) })
		first.until("the end of the log", func() bool { return first.empty > 0 })
		if first.behind[0] || first.behind[1] || first.behind[2] {
			t.Errorf("more is said to lie behind the last records: %v", first.behind)
		}
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

// A partition that moves is given before it is taken, and begins where Give left
// it: what it says then is committed.
func TestShareMoves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		one, two := newSharer(t), newSharer(t)
		one.giving = func(partition int32) {
			if slices.Contains(two.owned(), partition) {
				t.Errorf("partition %d is taken before it was given", partition)
			}
		}
		first := r.share(r.cluster, "one", one)
		r.send(15)
		one.until("15 records", func() bool { return one.has(15) })
		other := r.dial()
		defer other.Close()
		second := r.share(other, "two", two)
		two.until("a partition of the second", func() bool { return len(two.next) > 0 })
		for _, was := range two.taken {
			if was.committed != 5 || was.note != note(5, true) {
				t.Errorf("the second begins with %+v", was)
			}
		}
		if !slices.Equal(one.given, two.owned()) || !slices.Equal(one.lost, two.owned()) {
			t.Errorf("given %v and lost %v, taken %v", one.given, one.lost, two.owned())
		}
		r.send(15)
		one.until("its records", func() bool { return one.has(30 - 5*len(one.given)) })
		two.until("its records", func() bool { return two.has(5 * len(two.next)) })
		allEnd(t, second, first)
		exact(t, 30, one, two)
	})
}

// Who is gone without a word is taken over once its session is over; what it did
// not commit is handed over again, and it hears that the partitions are lost.
func TestShareOfTheDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		cluster, wire := r.wired()
		defer cluster.Close()
		one, two := newSharer(t), newSharer(t)
		one.unsaved = true
		first := r.share(cluster, "one", one)
		r.send(9)
		one.until("9 records", func() bool { return one.has(9) })
		wire.pull()
		second := r.share(r.cluster, "two", two)
		two.until("9 records again", func() bool { return len(two.next) == parts && two.has(9) })
		wire.plug()
		one.until("the loss", func() bool { return len(one.lost) >= parts })
		allEnd(t, first, second)
		exact(t, 9, two)
	})
}

// Two processes under one name: exactly one of them must go.
func TestShareOfTheSameName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ends := make(chan error, 2)
		cfg := ShareConfig{Group: "s", Instance: "one", Topic: inTopic, Beside: logTopic}
		one, two := newSharer(t), newSharer(t)
		go func() { ends <- r.cluster.Share(ctx, cfg, one) }()
		one.until("all partitions", func() bool { return len(one.next) == parts })
		other := r.dial()
		defer other.Close()
		go func() { ends <- other.Share(ctx, cfg, two) }()
		if err := <-ends; !errors.Is(err, ErrFenced) {
			t.Errorf("the first to end does with %v", err)
		}
		cancel()
		if err := <-ends; err != nil {
			t.Errorf("the other ends with %v", err)
		}
	})
}

// With Leave the others have the partitions at once; without it they wait for the
// session, so that a restart moves nothing.
func TestShareLeaves(t *testing.T) {
	for name, leave := range map[string]bool{"leaves": true, "comes back": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				one, two := newSharer(t), newSharer(t)
				first := r.share(r.cluster, "one", one)
				one.until("all partitions", func() bool { return len(one.next) == parts })
				other := r.dial()
				defer other.Close()
				second := r.share(other, "two", two, func(c *ShareConfig) { c.Leave = leave })
				two.until("a partition of the second", func() bool { return len(two.next) > 0 })
				allEnd(t, second)
				began := time.Now()
				one.until("all partitions again", func() bool { return len(one.next) == parts })
				if took := time.Since(began); (took < 5*time.Second) != leave {
					t.Errorf("taken back after %s", took)
				}
				allEnd(t, first)
			})
		})
	}
}

// A partition that cannot be taken is tried again, with the others of its assignment.
func TestShareIsTakenLater(t *testing.T) {
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

// A fault ends the session: all is lost without a commit, and taken anew where the
// last commit was.
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

// Who is full is handed nothing, keeps its membership, and goes on.
func TestShareIsFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		s := newSharer(t)
		stop := r.share(r.cluster, "one", s)
		s.until("all partitions", func() bool { return len(s.next) == parts && s.empty > 0 })
		full := make(chan struct{})
		s.set(func() { s.full = full })
		r.send(9)
		r.await("commits while it is full", 1, func() int64 { return r.committed("s", note(0, false)) })
		time.Sleep(15 * time.Second) // longer than a session
		s.mu.Lock()
		if s.has(parts + 1) { // a poll may have been under way
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

// committed counts the partitions whose offset was committed with a note.
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

// Of the topic beside it each record is handed over once, without the marks of
// restores, and of those partitions alone that are ours.
func TestShareFollowsBeside(t *testing.T) {
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
		if _, err := r.cluster.barriers(t.Context(), logTopic, []int32{0, 1, 2}); err != nil {
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
			if slices.Contains(moved, partition) { // the second has it from its start
				if got := two.side[partition]; !slices.Equal(got, want) || !slices.Equal(one.side[partition], want[:2]) {
					t.Errorf("partition %d: first %v, then %v", partition, one.side[partition], got)
				}
			} else if got := one.side[partition]; !slices.Equal(got, want) {
				t.Errorf("partition %d: %v", partition, got)
			}
		}
	})
}

// A commit that fails is made again; nothing is handed over twice for it.
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
