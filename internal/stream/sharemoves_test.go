package stream

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Before a partition moves, it is revoked from its old owner, which commits its position. The new owner resumes at that
// position.
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

// A member that disappears is replaced once its session has expired. Records that it did not commit are passed to the
// new owner, and the old member is notified that its partitions are lost.
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

// If two processes have the same instance name, exactly one of them stops.
func TestShareOfTheSameName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ends := make(chan error, 2)
		cfg := ShareConfig{Group: "s", Instance: "one", Topic: inTopic, SideTopic: logTopic}
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

// With Leave, the other members get the partitions at once. Without Leave, they wait until the session expires, so that
// a restart does not move partitions.
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
				second := r.share(other, "two", two, func(c *ShareConfig) { c.Leave = func() bool { return leave } })
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
