package limit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/httpapi/limit"
)

// TestLargeBodiesComeOutOfOneBucket: the large bodies of a hospital share one bucket at all instances. Small bodies are
// not limited, and each hospital has a separate bucket.
func TestLargeBodiesComeOutOfOneBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		source := limit.NewMemory(time.Now)
		instances := []*limit.Share{limit.NewShare(source, time.Now), limit.NewShare(source, time.Now)}
		var busy *limit.Busy
		told := 0
		for n := 0; busy == nil; n++ {
			if busy = instances[n%2].Spend(ctx, "north", 0, 600); busy == nil {
				told += 600
			}
		}
		if told != 9600 || busy.Reason != limit.Large || busy.Retry != 2*time.Second {
			t.Errorf("%d facts were taken at once, then %+v", told, busy)
		}
		if small := instances[0].Spend(ctx, "north", limit.LargeBytes, limit.LargeFacts); small != nil {
			t.Error("a small body is refused:", small)
		}
		if other := instances[0].Spend(ctx, "south", 0, limit.FactsAtOnce); other != nil {
			t.Error("another hospital is refused:", other)
		}
		time.Sleep(busy.Retry)
		if busy := instances[0].Spend(ctx, "north", 0, 600); busy != nil {
			t.Error("refused although it came when it was told to:", busy)
		}
		if busy := instances[1].Spend(ctx, "north", 16<<20, 0); busy == nil {
			t.Error("the length of a body costs nothing")
		}
		time.Sleep(limit.FactsAtOnce / limit.FactsPerSecond * time.Second)
		if busy := instances[1].Spend(ctx, "north", 16<<20, 10*limit.FactsAtOnce); busy != nil {
			t.Error("a body that costs more than there ever is never comes through:", busy)
		}
		if n := instances[0].Refused(limit.Large) + instances[1].Refused(limit.Large); n != 2 {
			t.Errorf("%d refusals are counted", n)
		}
	})
}

// TestAwaitLargeBodies: a sender whose protocol cannot ask it to retry later waits, but not forever.
func TestAwaitLargeBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewShare(limit.NewMemory(time.Now), time.Now)
		if busy := s.Spend(t.Context(), "north", 0, limit.FactsAtOnce); busy != nil {
			t.Fatal(busy)
		}
		began := time.Now()
		if busy := s.Await(t.Context(), "north", 0, 300, 5*time.Second); busy != nil || time.Since(began) < 3*time.Second {
			t.Errorf("%v after %v", busy, time.Since(began))
		}
		began = time.Now()
		if busy := s.Await(t.Context(), "north", 0, 3000, 5*time.Second); busy == nil || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", busy, time.Since(began))
		}
	})
}

// TestShareWithoutItsSource: while the buckets are unavailable, each instance counts separately.
func TestShareWithoutItsSource(t *testing.T) {
	source := &away{}
	source.is.Store(true)
	s := limit.NewShare(source, time.Now)
	if busy := s.Spend(t.Context(), "north", 0, limit.FactsAtOnce); busy != nil {
		t.Error(busy)
	}
	if busy := s.Spend(t.Context(), "north", 0, limit.FactsAtOnce/2); busy == nil {
		t.Error("nobody counts")
	}
}

// TestUnapplied: a hospital that sends faster than the processor applies its inputs must wait; other hospitals need
// not.
func TestUnapplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := limit.NewShare(limit.NewMemory(time.Now), time.Now)
		offset := int64(-1)
		enter := func(hospital string, facts int) bool {
			in, busy := s.Enter(ctx, hospital, facts, time.Second)
			if busy != nil {
				if busy.Reason != limit.Unapplied || busy.Retry <= 0 {
					t.Errorf("%+v", busy)
				}
				return false
			}
			offset++
			in.Sent(3, offset)
			return true
		}
		if !enter("north", 5000) {
			t.Error("a body that is alone is refused")
		}
		if enter("north", 1) {
			t.Error("more goes to the log while five thousand facts wait")
		}
		if !enter("south", 1) {
			t.Error("another hospital of the partition is refused")
		}
		s.Applied(3, offset)
		for range limit.FactsUnapplied {
			if !enter("north", 1) {
				t.Fatal("refused although what it sent is applied")
			}
		}
		if enter("north", 1) {
			t.Error("there is no end")
		}
		s.Applied(3, offset-1)
		if !enter("north", limit.FactsUnapplied-1) || enter("north", 1) {
			t.Error("what is applied is not what counts no more")
		}
		time.Sleep(5 * time.Second) // the processor is stalled
		if !enter("north", limit.FactsUnapplied) {
			t.Error("what was sent long ago counts")
		}
		s.Applied(3, offset+1) // the change of the next input arrives before its acknowledgment
		if !enter("north", 800) || !enter("north", 900) {
			t.Error("what was applied before its acknowledgment counts")
		}
		in, busy := s.Enter(ctx, "west", limit.FactsUnapplied, 0)
		if busy != nil {
			t.Fatal(busy)
		}
		in.Gone()
		if _, busy = s.Enter(ctx, "west", limit.FactsUnapplied, 0); busy != nil {
			t.Error("what never came to the log counts", busy)
		}
		waited := make(chan bool)
		go func() { waited <- enter("north", 200) }()
		synctest.Wait()
		s.Applied(3, offset)
		if !<-waited {
			t.Error("who waits is not let in when there is room")
		}
	})
}

// TestLargeBodiesAtOnce: the third concurrent large body waits. A hospital with an empty bucket is
// refused before its body is read.
func TestLargeBodiesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := limit.NewShare(limit.NewMemory(time.Now), time.Now)
		first, busy := s.Open(ctx, "north")
		second, busyToo := s.Open(ctx, "north")
		if busy != nil || busyToo != nil {
			t.Fatal(busy, busyToo)
		}
		if _, busy = s.Open(ctx, "north"); busy == nil || busy.Reason != limit.AtOnce {
			t.Error("a third is read", busy)
		}
		if _, busy = s.Open(ctx, "south"); busy != nil {
			t.Error("another hospital is refused")
		}
		time.AfterFunc(time.Second, first)
		third, busy := s.Open(ctx, "north")
		if busy != nil {
			t.Fatal("refused although one has ended", busy)
		}
		first() // a second call has no effect
		second()
		third()
		if busy = s.Spend(ctx, "north", 0, limit.FactsAtOnce); busy != nil {
			t.Error(busy)
		}
		if busy = s.Spend(ctx, "north", 0, 1000); busy == nil {
			t.Error("there is no end")
		}
		if _, busy = s.Open(ctx, "north"); busy == nil || busy.Reason != limit.Large {
			t.Error("read although it would be refused", busy)
		}
		time.Sleep(10 * time.Second)
		if _, busy = s.Open(ctx, "north"); busy != nil {
			t.Error("refused although there is enough again", busy)
		}
	})
}
