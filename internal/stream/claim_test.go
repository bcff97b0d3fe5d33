package stream

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (r *rig) claim(c *Cluster, names ...string) *Claim {
	r.t.Helper()
	claim, err := NewClaim(r.t.Context(), c, names...)
	if err != nil {
		r.t.Fatal(err)
	}
	return claim
}

// wait returns the error with which a loop ends, or a different error if it does not end.
func wait(ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * time.Minute):
		return errors.New("it does not end")
	}
}

// After an outage of the brokers, the coordinator of a name may refuse requests for some seconds. A process that
// claims the name during that time waits and then succeeds.
func TestClaimWaitsForTheCoordinator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		defer r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ConcurrentTransactions, Count: 20, TopLevel: true}).Remove()
		if _, err := NewClaim(t.Context(), r.cluster, "p-one"); err != nil {
			t.Error(err)
		}
	})
}

// The older process must not rejoin its group, because it would replace the newer one.
func TestOlderProcessDoesNotJoinAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var stats Stats
		ended := make(chan error, 1)
		cfg := Config{Group: "g", Instance: "one", Claim: r.claim(r.cluster, "p-one"), Input: inTopic, Changelog: logTopic, NewTask: newCounter, Stats: &stats}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { ended <- r.cluster.Process(ctx, cfg) }()
		r.await("partitions", parts, stats.Partitions.Load)
		r.claim(r.cluster, "p-one")
		defer r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.InvalidProducerEpoch, Count: 1, TopLevel: true}).Remove()
		r.send(1)
		if err := wait(ended); !errors.Is(err, ErrFenced) {
			t.Fatalf("ends with %v", err)
		}
		if n := stats.Sessions.Load(); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

// An older process can join the group after the newer one if it checked its claim just before the newer process
// claimed the name. The older process then ends, and the newer process, which it has replaced, rejoins.
func TestNewestJoinsAgain(t *testing.T) {
	for name, start := range map[string]func(r *rig, c *Cluster, claim *Claim) (owned func() int64, ended chan error, stop func()){
		"process": func(r *rig, c *Cluster, claim *Claim) (func() int64, chan error, func()) {
			ctx, cancel := context.WithCancel(r.t.Context())
			stats, ended := &Stats{}, make(chan error, 1)
			cfg := Config{Group: "g", Instance: "one", Claim: claim, Input: inTopic, Changelog: logTopic, NewTask: newCounter, Stats: stats}
			go func() { ended <- c.Process(ctx, cfg) }()
			return stats.Restores.Load, ended, cancel
		},
		"share": func(r *rig, c *Cluster, claim *Claim) (func() int64, chan error, func()) {
			ctx, cancel := context.WithCancel(r.t.Context())
			s, ended := newSharer(r.t), make(chan error, 1)
			go func() {
				ended <- c.Share(ctx, ShareConfig{Group: "s", Instance: "one", Claim: claim, Topic: inTopic, SideTopic: logTopic}, s)
			}()
			return func() int64 {
				s.mu.Lock()
				defer s.mu.Unlock()
				return int64(len(s.taken))
			}, ended, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				owned, newer, stop := start(r, r.cluster, r.claim(r.cluster, "p-one"))
				defer stop()
				r.await("partitions", parts, owned)
				before := owned()
				other := r.dial()
				defer other.Close()
				_, older, end := start(r, other, nil)
				defer end()
				if err := wait(older); !errors.Is(err, ErrFenced) {
					t.Fatalf("the older ends with %v", err)
				}
				r.await("partitions again", before+parts, owned)
				stop()
				if err := wait(newer); err != nil {
					t.Fatalf("the newer ends with %v", err)
				}
			})
		})
	}
}

// Of two processes that each have two roles, the older one ends: both of its roles and its claim return ErrFenced.
func TestOlderOfTwoEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		type process struct {
			cluster *Cluster
			stats   Stats
			ended   chan error
			cancel  context.CancelFunc
		}
		start := func() *process {
			p := &process{cluster: r.dial(), ended: make(chan error, 3)}
			claim := r.claim(p.cluster, "p-one", "n-one")
			ctx, cancel := context.WithCancel(t.Context())
			p.cancel = cancel
			go func() {
				p.ended <- p.cluster.Process(ctx, Config{Group: "g", Instance: "one", Claim: claim, Input: inTopic, Changelog: logTopic, NewTask: newCounter, Stats: &p.stats})
			}()
			go func() {
				p.ended <- p.cluster.Share(ctx, ShareConfig{Group: "s", Instance: "one", Claim: claim, Topic: inTopic, SideTopic: logTopic}, newSharer(t))
			}()
			go func() { p.ended <- claim.Run(ctx) }()
			return p
		}
		last := start()
		r.await("partitions", parts, last.stats.Restores.Load)
		for pair := range 5 {
			next := start()
			for range 3 {
				if err := wait(last.ended); !errors.Is(err, ErrFenced) {
					t.Fatalf("pair %d: a role of the older ends with %v", pair, err)
				}
			}
			last.cluster.Close()
			last = next
			r.await("partitions", parts, last.stats.Restores.Load)
			r.send(3)
			r.await("applied", int64(3*(pair+1)), r.applied)
		}
		last.cancel()
		for range 3 {
			if err := wait(last.ended); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the last one ends with %v", err)
			}
		}
		last.cluster.Close()
		r.exact(15)
	})
}

// TestOneOfManyRemains: several processes claim two names concurrently. Exactly one remains.
func TestOneOfManyRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		for round := range 10 {
			const many = 4
			ended := make(chan error, many)
			ctx, cancel := context.WithCancel(t.Context())
			for range many {
				go func() {
					claim, err := NewClaim(ctx, r.cluster, fmt.Sprintf("p-%d", round), fmt.Sprintf("n-%d", round))
					if err == nil {
						err = claim.Run(ctx)
					}
					ended <- err
				}()
			}
			for range many - 1 {
				if err := wait(ended); !errors.Is(err, ErrFenced) {
					t.Fatalf("one ends with %v", err)
				}
			}
			time.Sleep(time.Minute) // virtual time
			cancel()
			if err := wait(ended); errors.Is(err, ErrFenced) {
				t.Fatalf("none remains: %v", err)
			}
		}
	})
}

// If an older process claims the second name after the newer process has claimed both, the newer one continues,
// because the first name decides. After claimSettles, a claim of the second name fences the newer process, too.
func TestFirstNameDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		newer := r.claim(r.cluster, "p", "n")
		r.claim(r.cluster, "n") // claimed late by an older process
		if err := newer.Check(t.Context()); err != nil {
			t.Fatalf("at once: %v", err)
		}
		time.Sleep(claimSettles) // virtual time
		if err := newer.Check(t.Context()); err != nil {
			t.Fatalf("later: %v", err)
		}
		r.claim(r.cluster, "n")
		if err := newer.Check(t.Context()); !errors.Is(err, ErrFenced) {
			t.Fatalf("overtaken: %v", err)
		}
	})
}

// If Kafka has dropped the transactional id of a claim, because it was not used for a long time, Check claims the
// name again. If another process has claimed the name first, Check returns ErrFenced.
func TestClaimIsForgotten(t *testing.T) {
	for name, tt := range map[string]struct {
		taken *kerr.Error
		want  error
	}{
		"and taken again":     {nil, nil},
		"and another took it": {kerr.ProducerFenced, ErrFenced},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				claim := r.claim(r.cluster, "p")
				defer r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeTransactions}, Err: kerr.TransactionalIDNotFound, Count: 1}).Remove()
				if tt.taken != nil {
					defer r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: tt.taken, Count: 1, TopLevel: true}).Remove()
				}
				if err := claim.Check(t.Context()); !errors.Is(err, tt.want) {
					t.Fatal(err)
				}
				if err := claim.Check(t.Context()); tt.want == nil && err != nil {
					t.Fatalf("later: %v", err)
				}
			})
		})
	}
}
