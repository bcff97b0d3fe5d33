package notifier

import (
	"context"
)

// ownership is one ownership of a partition.
type ownership struct {
	n         *Notifier
	partition int32
	number    int64 // above all of the ledger's
	hospitals map[string]*hospital

	next     int64  // position in the verdicts: all before is in the ledger
	marks    []mark // positions that wait for entries on their way
	waiters  []waiter
	begun    int64 // entries given to the ledger
	saved    int64 // of them, acknowledged
	floor    int64 // ledger offset from which on the hospitals know their events
	end      int64 // behind the last entry of the ledger that we know of
	catching bool  // more changes lie in the log

	saving   context.Context // of entries on their way; ends when the ownership is lost
	lost     context.CancelFunc
	attempts context.Context // ends with the patience for those in flight
	cut      context.CancelFunc
	inFlight int
	stopping bool // nothing new begins
	gone     bool
	idle     func() // called once when stopping and nothing is in flight
}

// mark is a position that holds once so many entries are stored, waiter what is
// done then.
type (
	mark   struct{ after, next int64 }
	waiter struct {
		after int64
		do    func()
	}
)

func (t *ownership) changes(all []changeEvents, through int64, behind bool) {
	for i := range all {
		t.hospital(all[i].change.Hospital).addChange(all[i].change, all[i].events)
	}
	t.passed(through)
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

// low is where a restore may begin: at the oldest record of a lane or a unit,
// the oldest open message or command, whichever is first.
func (t *ownership) low() int64 {
	low := t.end
	for _, h := range t.hospitals {
		low = min(low, h.low())
	}
	return low
}

// append gives an entry to the ledger; then is called when it is stored.
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
	for len(t.marks) > 0 && t.marks[0].after <= t.saved {
		t.next = t.marks[0].next
		t.marks = t.marks[1:]
	}
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

// passed notes a position in the verdicts: it holds once all that was given to
// the ledger so far is stored.
func (t *ownership) passed(next int64) {
	if t.begun == t.saved {
		t.next = max(t.next, next)
		return
	}
	if last := len(t.marks) - 1; last >= 0 && t.marks[last].after == t.begun {
		t.marks[last].next = next
		return
	}
	t.marks = append(t.marks, mark{after: t.begun, next: next})
}

// whenSaved has do called when all that was given to the ledger so far is stored.
func (t *ownership) whenSaved(do func()) {
	if t.begun == t.saved {
		do()
		return
	}
	t.waiters = append(t.waiters, waiter{t.begun, do})
}

// drained ends the wait for what is under way.
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
