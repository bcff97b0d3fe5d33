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
	number    int64 // term of the ownership, greater than every term in the ledger
	hospitals map[string]*hospital

	next     int64    // position in the verdicts topic up to which the ledger has all events
	waiters  []waiter // in the order of the entries that they wait for
	begun    int64    // number of entries passed to the ledger
	saved    int64    // number of entries that the ledger has acknowledged
	floor    int64    // ledger offset from which the hospitals' events are in memory
	end      int64    // offset after the last known entry of the ledger
	catching bool     // whether the verdicts topic has more changes to read

	saving   context.Context // context of unacknowledged entries; ends when the ownership is lost
	lost     context.CancelFunc
	attempts context.Context // context of attempts; canceled when the drain period has elapsed
	cut      context.CancelFunc
	inFlight int
	stopping bool // set when no new attempts or steps may start
	gone     bool
	idle     func() // called once, when the drain is complete or the ownership is lost
}

// waiter is a function that is called once the ledger has acknowledged at least the number of entries in after.
type waiter struct {
	after int64
	do    func()
}

func (o *ownership) addChanges(all []Change, through int64, behind bool) {
	for i := range all {
		o.hospital(all[i].Change.Hospital).addChange(all[i].Change, all[i].events)
	}
	o.runWhenSaved(func() { o.next = max(o.next, through) })
	wasCatching := o.catching
	if o.catching = behind; behind || len(all) == 0 && !wasCatching {
		return
	}
	o.runWhenSaved(func() {
		for _, h := range o.hospitals {
			h.consider()
		}
	})
}

// low returns the ledger offset from which a restore may start. It is the offset of the oldest entry that is still
// needed: the record of a queue or a hospital, a pending message or command, or the input of a step whose result is
// not stored yet.
func (o *ownership) low() int64 {
	least := o.end
	for _, h := range o.hospitals {
		least = min(least, h.low())
	}
	return least
}

// append passes an entry to the ledger and does not wait. Once the ledger has stored the entry, the loop calls the
// callback with the entry's offset. The callback may be nil.
func (o *ownership) append(entry any, then func(at int64)) {
	o.begun++
	o.n.saves.Add(1)
	o.n.cfg.Ledger.Append(o.saving, o.partition, entry, func(at int64, err error) {
		o.n.countSaved()
		o.n.post(func() { o.handleStored(at, err, then) })
	})
}

func (o *ownership) handleStored(at int64, err error, then func(int64)) {
	switch {
	case o.gone:
		return
	case err != nil:
		o.n.fail(err)
		return
	}
	o.saved++
	o.end = max(o.end, at+1)
	if then != nil {
		then(at)
	}
	for len(o.waiters) > 0 && o.waiters[0].after <= o.saved {
		do := o.waiters[0].do
		o.waiters = o.waiters[1:]
		do()
	}
	o.finishDrain()
}

// runWhenSaved calls the function do once all entries appended so far are stored.
func (o *ownership) runWhenSaved(do func()) {
	if o.begun == o.saved {
		do()
		return
	}
	o.waiters = append(o.waiters, waiter{o.begun, do})
}

// finishDrain completes Revoke once no attempt is in flight and the ledger has acknowledged all appended entries.
func (o *ownership) finishDrain() {
	if o.idle != nil && o.stopping && o.inFlight == 0 && o.begun == o.saved {
		o.idle()
		o.idle = nil
	}
}

func (o *ownership) lose() {
	if o.gone {
		return
	}
	o.gone, o.stopping = true, true
	o.cut()
	o.lost()
	for _, h := range o.hospitals {
		h.close()
	}
	if o.idle != nil {
		o.idle()
		o.idle = nil
	}
	if o.n.owned[o.partition] == o {
		delete(o.n.owned, o.partition)
		o.n.ownedCount.Store(int64(len(o.n.owned)))
	}
}

func (o *ownership) hospital(id string) *hospital {
	h := o.hospitals[id]
	if h == nil {
		h = newHospital(o, id)
		o.hospitals[id] = h
		h.reconcile()
	}
	return h
}

// Mark is a position in the verdicts topic that may be committed. Its note contains the ledger offset from which a
// restore may start.
type Mark struct {
	Offset int64
	Note   string
}

// notePrefix is the prefix of the note that is committed with a position.
const notePrefix = "ledger "

func (n *Notifier) note(low int64) string {
	return notePrefix + strconv.FormatInt(low, 10) + " " + n.cfg.LedgerID
}

// lowOf returns the ledger offset in a note, or 0 if the note belongs to another ledger.
func (n *Notifier) lowOf(note string) int64 {
	text, id, _ := strings.Cut(strings.TrimPrefix(note, notePrefix), " ")
	low, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id != n.cfg.LedgerID || low < 0 {
		return 0
	}
	return low
}

// Assign reads the ledger of a partition and starts an ownership. It returns the offsets from which to read the
// changes and the commands.
func (n *Notifier) Assign(ctx context.Context, partition int32, committed int64, note string) (next, side int64, err error) {
	began := n.clock.readTime()
	o := &ownership{n: n, partition: partition, hospitals: map[string]*hospital{}, floor: n.lowOf(note)}
	f := fold{ownership: o, ids: map[string]bool{}, over: map[*hospital]map[string]ended{}}
	o.end, err = n.cfg.Ledger.Restore(ctx, partition, o.floor, func(offset int64, entry any) bool {
		f.apply(offset, entry)
		return true
	})
	if err != nil {
		return 0, 0, fmt.Errorf("read ledger of partition %d: %w", partition, err)
	}
	f.finish()
	o.number++
	// The change at f.source is read again, because the ledger may lack some of its events.
	o.next = max(committed, f.source, 0)
	life := context.WithoutCancel(ctx)
	o.saving, o.lost = context.WithCancel(life)
	o.attempts, o.cut = context.WithCancel(life)
	o.catching = true
	number, hospitals := o.number, len(o.hospitals)
	ok := n.call(func() { //nolint:contextcheck // the loop's work outlives the call
		next, side = o.next, o.end // copied here, because the loop modifies them later
		if old := n.owned[partition]; old != nil {
			old.lose()
		}
		n.owned[partition] = o
		n.ownedCount.Store(int64(len(n.owned)))
		n.everOwned.Add(1)
		for _, h := range o.hospitals {
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

// Revoke ends work on partitions that another process will own. No new attempt starts; requests in flight have
// Config.Drain to finish, and the ones that remain are interrupted. Revoke then returns once the ledger has stored
// all appended entries, or after twice Config.Drain. Afterwards, the caller may read the positions once more.
func (n *Notifier) Revoke(ctx context.Context, partitions []int32) {
	for _, p := range partitions { // all ownerships begin to stop at the same time
		n.call(n.withOwnership(p, func(o *ownership) { o.stopping = true }))
	}
	patience, cancel := context.WithTimeout(ctx, n.cfg.Drain)
	defer cancel()
	end, cancel := context.WithTimeout(ctx, 2*n.cfg.Drain)
	defer cancel()
	for _, p := range partitions {
		done := make(chan struct{})
		n.call(func() {
			o := n.owned[p]
			if o == nil {
				close(done)
				return
			}
			o.idle = func() { close(done) }
			o.finishDrain()
		})
		select {
		case <-done:
			continue
		case <-patience.Done():
		case <-n.ended:
			return
		}
		n.call(n.withOwnership(p, func(o *ownership) { o.cut() })) // interrupted attempts are not counted
		select {
		case <-done:
		case <-end.Done():
		case <-n.ended:
			return
		}
	}
}

// Lost ends the ownerships of partitions that another process already owns. After that, this process writes nothing
// for these partitions.
func (n *Notifier) Lost(partitions []int32) {
	for _, p := range partitions {
		n.call(n.withOwnership(p, (*ownership).lose))
	}
}

// Fault returns why all partitions must be reassigned, or nil if they need not be. It returns each reason only once.
func (n *Notifier) Fault() error {
	if err := n.fault.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// Fail requests that all partitions be reassigned, for a reason other than a ledger error.
func (n *Notifier) Fail(err error) { n.fault.CompareAndSwap(nil, &err) }

// Owned returns the number of partitions that this process currently owns, and the number of ownerships that it has
// started in total.
func (n *Notifier) Owned() (now, ever int64) { return n.ownedCount.Load(), n.everOwned.Load() }

// Positions returns the positions that may be committed, by partition.
func (n *Notifier) Positions() map[int32]Mark {
	all := map[int32]Mark{}
	n.call(func() {
		for p, o := range n.owned {
			all[p] = Mark{Offset: o.next, Note: n.note(o.low())}
		}
	})
	return all
}
