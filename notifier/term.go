package notifier

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier/event"
)

// Change is one committed change with its place on the verdicts.
type Change struct {
	Offset int64
	Change *acuity.Change
}

// Mark is a position in the verdicts that may be committed, with the note that
// goes with it: where in the ledger a restore may begin.
type Mark struct {
	Offset int64
	Note   string
}

// term is one ownership of a partition.
type term struct {
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

	saving   context.Context // of entries on their way; ends when the term is lost
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

// note is written beside a position.
const notePrefix = "ledger "

func (n *Notifier) note(low int64) string {
	return notePrefix + strconv.FormatInt(low, 10) + " " + n.cfg.LedgerID
}

// lowOf reads a note; one of another ledger is none.
func (n *Notifier) lowOf(note string) int64 {
	text, id, _ := strings.Cut(strings.TrimPrefix(note, notePrefix), " ")
	low, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id != n.cfg.LedgerID || low < 0 {
		return 0
	}
	return low
}

// Take folds the ledger of a partition and begins a term. It returns where the
// changes and the commands go on.
func (n *Notifier) Take(ctx context.Context, partition int32, committed int64, note string) (next, side int64, err error) {
	began := n.clock.tell()
	t := &term{n: n, partition: partition, hospitals: map[string]*hospital{}, floor: n.lowOf(note)}
	f := fold{term: t, ids: map[string]bool{}, over: map[*hospital]map[string]ended{}}
	t.end, err = n.cfg.Ledger.Restore(ctx, partition, t.floor, func(offset int64, entry any) bool {
		f.take(offset, entry)
		return true
	})
	if err != nil {
		return 0, 0, fmt.Errorf("read ledger of partition %d: %w", partition, err)
	}
	f.end()
	t.number++
	// Not the one after: a change has several events, and the last of them may
	// not have been written.
	t.next = max(committed, f.source, 0)
	life := context.WithoutCancel(ctx)
	t.saving, t.lost = context.WithCancel(life)
	t.attempts, t.cut = context.WithCancel(life)
	t.catching = true
	number, hospitals := t.number, len(t.hospitals)
	ok := n.call(func() { //nolint:contextcheck // the loop's own work, beyond the call
		next, side = t.next, t.end // from then on they move
		if old := n.terms[partition]; old != nil {
			old.lose()
		}
		n.terms[partition] = t
		n.owned.Store(int64(len(n.terms)))
		n.taken.Add(1)
		for _, h := range t.hospitals {
			h.resume()
		}
		n.relieve()
	})
	if !ok {
		return 0, 0, context.Canceled
	}
	n.log.InfoContext(ctx, "partition restored", "partition", partition, "term", number,
		"hospitals", hospitals, "entries", f.entries, "ms", n.clock.tell().Sub(began).Milliseconds())
	return next, side, nil
}

// Give ends terms in order: nothing new begins, what is in flight has a few
// seconds, and what the ledger was given is stored. Positions may then be asked
// once more.
func (n *Notifier) Give(ctx context.Context, partitions []int32) {
	for _, p := range partitions { // all of them at once
		n.call(func() {
			if t := n.terms[p]; t != nil {
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
			t := n.terms[p]
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
			if t := n.terms[p]; t != nil {
				t.cut() // what is in flight is interrupted, which counts nothing
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

// Lost ends terms that are another's already: nothing is written any more.
func (n *Notifier) Lost(partitions []int32) {
	n.call(func() {
		for _, p := range partitions {
			if t := n.terms[p]; t != nil {
				t.lose()
			}
		}
	})
}

// Changes takes committed changes of a partition, in order, up to an offset;
// behind says that more lie in the log. None up to a negative offset say that the
// log has been read.
func (n *Notifier) Changes(partition int32, changes []Change, through int64, behind bool) error {
	all := make([]made, 0, len(changes))
	for _, c := range changes {
		events, err := event.Of(c.Change, c.Offset)
		if err != nil {
			return fmt.Errorf("change at %d: %w", c.Offset, err)
		}
		all = append(all, made{c.Change, events})
	}
	n.saves.Add(1) // until the loop has seen them
	n.post(func() {
		n.saved()
		if t := n.terms[partition]; t != nil {
			t.changes(all, through, behind)
		}
	})
	return nil
}

// made is a change with the events that it is told by.
type made struct {
	change *acuity.Change
	events []outbound.Event
}

func (t *term) changes(all []made, through int64, behind bool) {
	for i := range all {
		t.hospital(all[i].change.Hospital).take(all[i].change, all[i].events)
	}
	if through >= 0 {
		t.passed(through)
	}
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

// Order takes a command that somebody wrote into the ledger.
func (n *Notifier) Order(partition int32, offset int64, o *outbound.Order) {
	if o.Term != 0 || o.Progress.Done {
		return // our own writing
	}
	n.post(func() {
		if t := n.terms[partition]; t != nil {
			t.end = max(t.end, offset+1)
			t.hospital(o.Command.Hospital).order(offset, o)
		}
	})
}

// SettingsChanged says that the endpoints of a hospital are others now.
func (n *Notifier) SettingsChanged(hospital string) {
	n.post(func() {
		if t := n.terms[n.cfg.Partition(hospital)]; t != nil {
			if h := t.hospitals[hospital]; h != nil {
				h.reconcile()
				h.look = true // a tier may have its first recipient
				h.consider()
			}
		}
	})
}

// Room waits until more changes are wanted: the ledger is not far behind. It is
// false if ctx ends before.
func (n *Notifier) Room(ctx context.Context) bool {
	for n.saves.Load() >= saveAtOnce {
		select {
		case <-n.room:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// saved counts off an entry that is on its way no more.
func (n *Notifier) saved() {
	if n.saves.Add(-1) == saveAtOnce-1 {
		select {
		case n.room <- struct{}{}:
		default: // who waits has not looked yet
		}
	}
}

// Fault is why all partitions must be taken anew, once.
func (n *Notifier) Fault() error {
	if err := n.fault.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// Fail has all partitions taken anew, for a reason that is not the ledger's.
func (n *Notifier) Fail(err error) { n.fault.CompareAndSwap(nil, &err) }

// tellSince is how far back lists are made anew from the ledger.
const tellSince = 7 * 24 * time.Hour

// Tell gives the board all that the ledger of a partition knows of the last week:
// the lists were lost.
func (n *Notifier) Tell(ctx context.Context, partition int32) error {
	from, err := n.cfg.Ledger.At(ctx, partition, n.clock.tell().Add(-tellSince))
	if err != nil {
		return fmt.Errorf("tell lists: %w", err)
	}
	if _, err = n.cfg.Ledger.Read(ctx, partition, from, "", func(_ int64, entry any) bool {
		switch e := entry.(type) {
		case *outbound.Entry:
			n.cfg.Board.Delivery(e)
		case *outbound.Order:
			n.cfg.Board.Progress(e.Progress)
		}
		return ctx.Err() == nil
	}); err != nil {
		return fmt.Errorf("tell lists: %w", err)
	}
	n.call(func() { //nolint:contextcheck // the loop's own work, beyond the call
		if t := n.terms[partition]; t != nil {
			for _, h := range t.hospitals {
				for _, e := range h.endpoints {
					e.reported = outbound.Health{}
					e.report()
				}
				h.look = true // People list the episode, and where its link leads
				h.consider()
			}
		}
	})
	return nil
}

// Owned is how many partitions are ours, and how many ever were.
func (n *Notifier) Owned() (now, ever int64) { return n.owned.Load(), n.taken.Load() }

// Positions are what may be committed.
func (n *Notifier) Positions() map[int32]Mark {
	all := map[int32]Mark{}
	n.call(func() {
		for p, t := range n.terms {
			all[p] = Mark{Offset: t.next, Note: n.note(t.low())}
		}
	})
	return all
}

// low is where a restore may begin: at the oldest record of a lane or a unit,
// the oldest open message or command, whichever is first.
func (t *term) low() int64 {
	low := t.end
	for _, h := range t.hospitals {
		low = min(low, h.low())
	}
	return low
}

// append gives an entry to the ledger; then is called when it is stored.
func (t *term) append(entry any, then func(at int64)) {
	t.begun++
	t.n.saves.Add(1)
	t.n.cfg.Ledger.Append(t.saving, t.partition, entry, func(at int64, err error) {
		t.n.saved()
		t.n.post(func() { t.stored(at, err, then) })
	})
}

func (t *term) stored(at int64, err error, then func(int64)) {
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
func (t *term) passed(next int64) {
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
func (t *term) whenSaved(do func()) {
	if t.begun == t.saved {
		do()
		return
	}
	t.waiters = append(t.waiters, waiter{t.begun, do})
}

// drained ends the wait for what is under way.
func (t *term) drained() {
	if t.idle != nil && t.stopping && t.inFlight == 0 && t.begun == t.saved {
		t.idle()
		t.idle = nil
	}
}

func (t *term) lose() {
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
	if t.n.terms[t.partition] == t {
		delete(t.n.terms, t.partition)
		t.n.owned.Store(int64(len(t.n.terms)))
	}
}

func (t *term) hospital(id string) *hospital {
	h := t.hospitals[id]
	if h == nil {
		h = newHospital(t, id)
		t.hospitals[id] = h
		h.reconcile()
	}
	return h
}
