package stream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAppendsThatHang: if a broker does not respond, Append returns ErrAway within its timeout, or the error of its
// context if the context ends first. Appends succeed again once the broker responds.
func TestAppendsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		p := r.cluster.Publisher(inTopic)
		r.send(parts)
		var each atomic.Int64 // duration of a produce request
		each.Store(int64(time.Minute))
		r.broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			r.broker.KeepControl()
			if each := each.Load(); each > 0 {
				r.broker.SleepControl(func() { time.Sleep(time.Duration(each)) })
			}
			return nil, nil, false
		})
		defer time.Sleep(time.Minute) // virtual time, in which the requests that hang in the broker end
		var all sync.WaitGroup
		began := time.Now()
		for n := range 5 {
			all.Go(func() {
				if _, err := p.Append(t.Context(), nil, []byte("x"), int32(n%parts)); !errors.Is(err, ErrAway) {
					t.Errorf("%v, want away", err)
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Append(ctx, nil, []byte("x"), 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		all.Wait()
		if took := time.Since(began); took > appendTimeout+time.Second {
			t.Errorf("told after %v", took)
		}
		each.Store(0)
		for range 1000 {
			if _, err := p.Append(t.Context(), nil, []byte("x"), 0); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond) // virtual time, until the probe detects that the broker responds
		}
		t.Error("nothing is stored any more")
	})
}

// TestPatientWrites: no broker responds for 20 seconds. A command stores its record and replaces its value
// nevertheless, even if it starts while the cluster counts as unavailable.
func TestPatientWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		patient := r.dialWith(Options{Patient: true})
		table, stop := r.settingsOn(patient)
		defer stop()
		began := time.Now()
		r.broker.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
			r.broker.KeepControl()
			if left := 20*time.Second - time.Since(began); left > 0 {
				r.broker.SleepControl(func() { time.Sleep(left) }) // virtual time
			}
			return nil, nil, false
		})
		patient.health.suspect()
		store := func(key string) {
			if _, err := patient.Publisher(inTopic).Append(t.Context(), nil, []byte("x"), 0); err != nil {
				t.Errorf("append: %v", err)
			}
			if err := table.Replace(t.Context(), []string{key}, table.Seen(key), Entry{key, []byte("x")}); err != nil {
				t.Errorf("replace: %v", err)
			}
		}
		var all sync.WaitGroup
		all.Go(func() { store("a/1") })
		for patient.Away().IsZero() {
			time.Sleep(100 * time.Millisecond) // virtual time
		}
		all.Go(func() { store("a/2") })
		all.Wait()
		if took := time.Since(began); took < 20*time.Second {
			t.Errorf("stored after %v", took)
		}
	})
}

// TestASenderWhoLeaves: the broker refuses records for a while, and the sender of the first record gives up. The other
// senders' records in the partition are stored nevertheless.
func TestASenderWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		p := r.cluster.Publisher(inTopic)
		fault := r.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
		leaves, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for n := range 5 {
			all.Go(func() {
				ctx := t.Context()
				if n == 0 {
					ctx = leaves
				}
				if _, err := p.Append(ctx, nil, []byte("x"), 0); errors.Is(err, context.Canceled) != (n == 0) || n > 0 && err != nil {
					t.Errorf("sender %d: %v", n, err)
				}
			})
			synctest.Wait() // so that the records are sent in the order of n
		}
		cancel()
		time.Sleep(time.Second) // virtual time, until the client retries
		fault.Remove()
		all.Wait()
	})
}
