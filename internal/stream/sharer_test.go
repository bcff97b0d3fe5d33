package stream

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// sharer records the calls of its methods, and checks that they come in the order that Sharer documents.
type sharer struct {
	t       *testing.T
	refuse  error                 // error of Assign
	giving  func(partition int32) // called in Revoke, while the partition is still owned
	moved   chan struct{}         // signals that a call has happened
	mu      sync.Mutex
	next    map[int32]int64 // next offset, by owned partition
	taken   []took
	given   []int32
	lost    []int32
	records map[int32][]int64 // offsets of the records received in all periods of ownership
	side    map[int32][]string
	asked   int           // number of calls to Positions while all partitions are owned
	read    map[int32]int // by partition, the number of records received when its log was first reported as read to the end
	full    chan struct{} // while open, no more records are accepted
	fault   error
	unsaved bool // whether Positions returns nothing to commit
	ending  bool // whether Revoke was called
}

// took is one call to Assign.
type took struct {
	partition int32
	committed int64
	note      string
}

func newSharer(t *testing.T) *sharer {
	t.Helper()
	return &sharer{t: t, moved: make(chan struct{}, 1), next: map[int32]int64{}, records: map[int32][]int64{}, side: map[int32][]string{}, read: map[int32]int{}}
}

// happened records a call. It runs the function do with the lock held.
func (s *sharer) happened(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

func (s *sharer) Assign(_ context.Context, partition int32, committed int64, note string) (next, side int64, err error) {
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

func (s *sharer) Revoke(_ context.Context, partitions []int32) {
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
			delete(s.read, n)
		}
	})
}

func (s *sharer) Records(partition int32, records []Record, through int64, behind bool) {
	s.happened(func() {
		next, ours := s.next[partition]
		if !ours {
			s.t.Errorf("records of partition %d, which is not ours", partition)
		}
		for _, r := range records {
			if r.Offset < next || r.Offset >= through {
				s.t.Errorf("record %d:%d, %d is next and %d is behind", partition, r.Offset, next, through)
			}
			next = r.Offset + 1
			s.records[partition] = append(s.records[partition], r.Offset)
		}
		if through < next {
			s.t.Errorf("partition %d is read up to %d, %d is next", partition, through, next)
		}
		s.next[partition] = through
		if _, told := s.read[partition]; !told && !behind {
			s.read[partition] = len(s.records[partition])
		}
	})
}

func (s *sharer) Side(r Record) {
	s.happened(func() {
		s.side[r.Partition] = append(s.side[r.Partition], string(r.Value))
	})
}

func (s *sharer) WaitForCapacity(ctx context.Context) bool {
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

// Positions returns the next offsets, each with a note that contains the offset.
func (s *sharer) Positions() map[int32]Mark {
	all := map[int32]Mark{}
	s.happened(func() {
		if len(s.next) == parts {
			s.asked++
		}
		if s.unsaved {
			return
		}
		for n, next := range s.next {
			all[n] = Mark{next, note(next, s.ending)}
		}
	})
	return all
}

// note returns the note that is committed with a position. ending marks a position after Revoke.
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

// set calls the function do with the lock held. do changes fields of the sharer.
func (s *sharer) set(do func()) { s.happened(do) }

// until waits until the condition is true. It evaluates the condition with the lock held.
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

// has reports whether the sharer has received at least n records. The caller must hold the lock.
func (s *sharer) has(n int) bool {
	for _, list := range s.records {
		n -= len(list)
	}
	return n <= 0
}

// exact fails unless each of n records was passed once, in order, to one of the sharers.
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

// share starts a member. The returned function stops the member and returns its error.
func (r *rig) share(cluster *Cluster, instance string, s Sharer, change ...func(*ShareConfig)) (stop func() error) {
	cfg := ShareConfig{Group: "s", Instance: instance, Topic: inTopic, SideTopic: logTopic}
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
