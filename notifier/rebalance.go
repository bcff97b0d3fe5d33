package notifier

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Mark is a position in the verdicts that may be committed, with the note that
// goes with it: where in the ledger a restore may begin.
type Mark struct {
	Offset int64
	Note   string
}

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

// Give ends terms in order: nothing new begins, what is in flight has a few
// seconds, and what the ledger was given is stored. Positions may then be asked
// once more.
func (n *Notifier) Revoke(ctx context.Context, partitions []int32) {
	for _, p := range partitions { // all of them at once
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
			if t := n.owned[p]; t != nil {
				t.lose()
			}
		}
	})
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

// Owned is how many partitions are ours, and how many ever were.
func (n *Notifier) Owned() (now, ever int64) { return n.ownedCount.Load(), n.everOwned.Load() }

// Positions are what may be committed.
func (n *Notifier) Positions() map[int32]Mark {
	all := map[int32]Mark{}
	n.call(func() {
		for p, t := range n.owned {
			all[p] = Mark{Offset: t.next, Note: n.note(t.low())}
		}
	})
	return all
}
