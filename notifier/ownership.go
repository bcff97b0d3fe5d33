package notifier

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// ownership is the state of one partition while this process owns it.
type ownership struct {
	n         *Notifier
	partition int32
	number    int64 // greater than all in the ledger
	hospitals map[string]*hospital

	next     int64    // position in the verdicts; all events before it are in the ledger
	waiters  []waiter // what to do once the ledger has acknowledged some entries, in order
	begun    int64    // entries passed to the ledger
	saved    int64    // entries that the ledger has acknowledged
	floor    int64    // ledger offset from which the hospitals have their events in memory
	end      int64    // offset behind the last known entry of the ledger
	catching bool     // more changes lie in the log

	saving   context.Context // context of unacknowledged entries; ends when the ownership is lost
	lost     context.CancelFunc
	attempts context.Context // context of attempts; cancelled when the drain time is over
	cut      context.CancelFunc
	inFlight int
	stopping bool // no new attempts or steps
	gone     bool
	idle     func() // called once when stopping and nothing is in flight
}

// waiter is a function to call once so many entries are stored.
type waiter struct {
	after int64
	do    func()
}

func (t *ownership) changes(all []changeEvents, through int64, behind bool) {
	for i := range all {
		t.hospital(all[i].change.Hospital).addChange(all[i].change, all[i].events)
	}
	t.whenSaved(func() { t.next = max(t.next, through) })
	was := t.catching
	if t.catching = behind; behind || len(all) == 0 && !was {
		return
	}
	t.whenSaved(func() {
		for _, h := range t.hospitals {
			h.consider()
		}
	})
}

// low returns the ledger offset at which a restore may begin. It is the oldest record
// of a queue or a hospital, or the oldest open message or command, whichever is
// first.
func (t *ownership) low() int64 {
	low := t.end
	for _, h := range t.hospitals {
		low = min(low, h.low())
	}
	return low
}

// append passes an entry to the ledger and calls then when it is stored.
func (t *ownership) append(entry any, then func(at int64)) {
	t.begun++
	t.n.saves.Add(1)
	t.n.cfg.Ledger.Append(t.saving, t.partition, entry, func(at int64, err error) {
		t.n.saved()
		t.n.post(func() { t.stored(at, err, then) })
	})
}

func (t *ownership) stored(at int64, err error, then func(int64)) {
	switch {
	case t.gone:
		return
	case err != nil:
		t.n.fail(err)
		return
	}
	t.saved++
	t.end = max(t.end, at+1)
	if then != nil {
		then(at)
	}
	for len(t.waiters) > 0 && t.waiters[0].after <= t.saved {
		do := t.waiters[0].do
		t.waiters = t.waiters[1:]
		do()
	}
	t.drained()
}

// whenSaved calls do when all entries passed to the ledger so far are stored.
func (t *ownership) whenSaved(do func()) {
	if t.begun == t.saved {
		do()
		return
	}
	t.waiters = append(t.waiters, waiter{t.begun, do})
}

// drained ends the wait of Revoke if nothing is in flight any more.
func (t *ownership) drained() {
	if t.idle != nil && t.stopping && t.inFlight == 0 && t.begun == t.saved {
		t.idle()
		t.idle = nil
	}
}

func (t *ownership) lose() {
	if t.gone {
		return
	}
	t.gone, t.stopping = true, true
	t.cut()
	t.lost()
	for _, h := range t.hospitals {
		h.close()
	}
	if t.idle != nil {
		t.idle()
		t.idle = nil
	}
	if t.n.owned[t.partition] == t {
		delete(t.n.owned, t.partition)
		t.n.ownedCount.Store(int64(len(t.n.owned)))
	}
}

func (t *ownership) hospital(id string) *hospital {
	h := t.hospitals[id]
	if h == nil {
		h = newHospital(t, id)
		t.hospitals[id] = h
		h.reconcile()
	}
	return h
}

// Mark is a position in the verdicts that may be committed. Its note says where in
// the ledger a restore may begin.
type Mark struct {
	Offset int64
	Note   string
}

// notePrefix begins the note that is committed with a position.
const notePrefix = "ledger "

func (n *Notifier) note(low int64) string {
	return notePrefix + strconv.FormatInt(low, 10) + " " + n.cfg.LedgerID
}

// lowOf returns the ledger offset in a note, or 0 if the note is of another ledger.
func (n *Notifier) lowOf(note string) int64 {
	text, id, _ := strings.Cut(strings.TrimPrefix(note, notePrefix), " ")
	low, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id != n.cfg.LedgerID || low < 0 {
		return 0
	}
	return low
}

// Assign folds the ledger of a partition and begins an ownership. It returns the
// offsets from which to read the changes and the commands.
func (n *Notifier) Assign(ctx context.Context, partition int32, committed int64, note string) (next, side int64, err error) {
	began := n.clock.readTime()
	t := &ownership{n: n, partition: partition, hospitals: map[string]*hospital{}, floor: n.lowOf(note)}
	f := fold{ownership: t, ids: map[string]bool{}, over: map[*hospital]map[string]ended{}}
	t.end, err = n.cfg.Ledger.Restore(ctx, partition, t.floor, func(offset int64, entry any) bool {
		f.apply(offset, entry)
		return true
	})
	if err != nil {
		return 0, 0, fmt.Errorf("read ledger of partition %d: %w", partition, err)
	}
	f.end()
	t.number++
	// Not source + 1: a change has several events, and the last of them may not have
	// been written.
	t.next = max(committed, f.source, 0)
	life := context.WithoutCancel(ctx)
	t.saving, t.lost = context.WithCancel(life)
	t.attempts, t.cut = context.WithCancel(life)
	t.catching = true
	number, hospitals := t.number, len(t.hospitals)
	ok := n.call(func() { //nolint:contextcheck // the loop's own work, beyond the call
		next, side = t.next, t.end // later the loop changes them
		if old := n.owned[partition]; old != nil {
			old.lose()
		}
		n.owned[partition] = t
		n.ownedCount.Store(int64(len(n.owned)))
		n.everOwned.Add(1)
		for _, h := range t.hospitals {
			h.resume()
		}
		n.relieve()
	})
	if !ok {
		return 0, 0, context.Canceled
	}
	n.log.InfoContext(ctx, "partition restored", "partition", partition, "term", number,
		"hospitals", hospitals, "entries", f.entries, "ms", n.clock.readTime().Sub(began).Milliseconds())
	return next, side, nil
}

// Revoke ends ownerships in order. No new attempt begins, requests in flight get a
// few seconds, and all entries passed to the ledger are stored. The caller may ask
// for the positions once more afterwards.
func (n *Notifier) Revoke(ctx context.Context, partitions []int32) {
	for _, p := range partitions { // all stop at the same time
		n.call(func() {
			if t := n.owned[p]; t != nil {
				t.stopping = true
			}
		})
	}
	patience, cancel := context.WithTimeout(ctx, n.cfg.Drain)
	defer cancel()
	end, cancel := context.WithTimeout(ctx, 2*n.cfg.Drain)
	defer cancel()
	for _, p := range partitions {
		done := make(chan struct{})
		n.call(func() {
			t := n.owned[p]
			if t == nil {
				close(done)
				return
			}
			t.idle = func() { close(done) }
			t.drained()
		})
		select {
		case <-done:
			continue
		case <-patience.Done():
		case <-n.ended:
			return
		}
		n.call(func() {
			if t := n.owned[p]; t != nil {
				t.cut() // interrupts attempts in flight, which do not count
			}
		})
		select {
		case <-done:
		case <-end.Done():
		case <-n.ended:
			return
		}
	}
}

// Lost ends ownerships that another process already has: nothing is written any more.
func (n *Notifier) Lost(partitions []int32) {
	n.call(func() {
		for _, p := range partitions {
			if t := n.owned[p]; t != nil {
				t.lose()
			}
		}
	})
}

// Fault returns, once, why all partitions must be assigned anew; nil: they need not.
func (n *Notifier) Fault() error {
	if err := n.fault.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// Fail makes the caller assign all partitions anew for a reason other than the
// ledger.
func (n *Notifier) Fail(err error) { n.fault.CompareAndSwap(nil, &err) }

// Owned returns how many partitions this process owns now, and how many ownerships
// ever began.
func (n *Notifier) Owned() (now, ever int64) { return n.ownedCount.Load(), n.everOwned.Load() }

// Positions returns what may be committed, by partition.
func (n *Notifier) Positions() map[int32]Mark {
	all := map[int32]Mark{}
	n.call(func() {
		for p, t := range n.owned {
			all[p] = Mark{Offset: t.next, Note: n.note(t.low())}
		}
	})
	return all
}
