package stream

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// tally counts the inputs of each transaction over all partitions, and keeps the maximum.
type tally struct {
	Task
	open, most *atomic.Int64
}

func (c *tally) Apply(r Record) error {
	c.open.Add(1)
	return c.Task.Apply(r)
}

func (c *tally) Outputs(emit func(key, value []byte)) error {
	if n := c.open.Swap(0); n > c.most.Load() { // the first call in a transaction gets the total of all partitions
		c.most.Store(n)
	}
	return c.Task.Outputs(emit)
}

// The output of a transaction is kept in memory, so the number of inputs of a transaction is limited while the loop is
// far behind. Sparse inputs have little output and are not limited, even after the loop has caught up during the
// transaction.
func TestInputsPerTransaction(t *testing.T) {
	const n = 3*turnRecords - turnRecords/2
	for _, c := range []struct {
		name        string
		cfg         Config
		least, most int64
	}{
		{"dense", Config{}, turnRecords, turnRecords},
		{"sparse", Config{Sparse: true, CommitEvery: time.Second}, n - farBehind, n},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				r.load(n)
				var stats Stats
				var open, most atomic.Int64
				c.cfg.Stats = &stats
				c.cfg.NewTask = func(partition int32) Task { return &tally{newCounter(partition), &open, &most} }
				stop := r.process(r.cluster, c.cfg)
				r.await("records", n, stats.Records.Load)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				r.exact(n)
				if got := most.Load(); got < c.least || got > c.most {
					t.Errorf("a transaction took %d inputs, want %d to %d", got, c.least, c.most)
				}
			})
		})
	}
}

// slowOutputs is a task whose outputs take a while, as a commit does.
type slowOutputs struct {
	Task
	began chan struct{}
}

const slowly = 30 * time.Millisecond

func (s *slowOutputs) Outputs(emit func(key, value []byte)) error {
	s.began <- struct{}{}
	time.Sleep(slowly) // virtual time
	return s.Task.Outputs(emit)
}

// Inputs that arrive during a transaction are all part of the next one, even if the client had
// fetched only the first of them.
func TestNextTransactionHasAllInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		send := func(n int) {
			for range n {
				if _, err := r.cluster.Publisher(inTopic).Append(t.Context(), []byte("k"), []byte("add"), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		var stats Stats
		var open, most atomic.Int64
		began := make(chan struct{}, 10)
		stop := r.process(r.cluster, Config{Stats: &stats, NewTask: func(partition int32) Task {
			return &slowOutputs{&tally{newCounter(partition), &open, &most}, began}
		}})
		r.await("partitions", parts, stats.Partitions.Load)
		send(1)
		<-began
		send(1)
		synctest.Wait() // until the input is fetched
		send(4)
		r.await("records", 6, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.exact(6)
		if got := most.Load(); got != 5 {
			t.Errorf("the largest transaction took %d inputs, want 5", got)
		}
	})
}

// A loop with a Sparse input and a long commit interval was behind, and has just read its whole input. Its
// transaction must stay open for turnTime nevertheless, because the loop that writes the input may be about to write
// more.
func TestLongCommitIntervalWhileBehind(t *testing.T) {
	const n = turnRecords + farBehind + 1 // the first poll leaves several inputs
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var stats Stats
		var open, most atomic.Int64
		r.load(n)
		stop := r.process(r.cluster, Config{Sparse: true, CommitEvery: time.Second, Stats: &stats, NewTask: func(partition int32) Task {
			return &tally{newCounter(partition), &open, &most}
		}})
		r.await("inputs", n, open.Load)
		time.Sleep(2 * time.Second) // virtual time
		if stats.Commits.Load() > 0 {
			t.Error("the first transaction ended where the log did")
		}
		r.load(1)
		r.await("records", n+1, stats.Records.Load)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.exact(n + 1)
		if got := most.Load(); got != n+1 {
			t.Errorf("the largest transaction took %d inputs, want all %d", got, n+1)
		}
	})
}
