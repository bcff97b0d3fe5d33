package notifier

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

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
