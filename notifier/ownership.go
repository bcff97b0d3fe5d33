package notifier

import "context"

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
