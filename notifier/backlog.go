package notifier

import (
	"context"
	"maps"
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// pick returns the event to send next: the head or, as a probe, the event after the head. It returns nil if there is no
// event, or while the event is being read from the ledger.
func (r *runner) pick() *chosen {
	r.dropUnwanted()
	if r.head == nil {
		r.head = r.choose(nil)
		r.cancelResumed(r.queue.Cursor, unsubscribed)
		if r.head == nil {
			return nil
		}
	}
	if !r.queue.Probing() {
		return r.head
	}
	if r.probe == nil {
		r.probe = r.choose(r.head.waiting)
	}
	switch {
	case r.probe != nil:
		return r.probe
	case r.reading: // the end of the read schedules the attempt
		return nil
	default:
		r.queue.CancelProbe()
		return r.head
	}
}

// choose returns the event that follows the event in before, or the first event if before is nil. It returns nil if
// after does.
func (r *runner) choose(before *waiting) *chosen {
	w := r.after(before)
	switch {
	case w == nil:
		return nil
	case r.isCommanded():
		return &chosen{w, r.jobs[0].tries[w.at], nothing}
	}
	for i, p := range r.resumed {
		if p.entry.Position == w.at {
			r.resumed = slices.Delete(r.resumed, i, i+1)
			return &chosen{w, p.entry.Delivery.Attempts, p.at}
		}
	}
	return &chosen{w, nil, nothing}
}

// unsubscribed is the reason of a delivery that was canceled because its event no longer matches the endpoint's filters.
const unsubscribed = "unsubscribed"

// wants reports whether the queue still has to send its head or its probe: the endpoint wants the event, and no command
// has delivered it, or, in a queue for commands, the command has not ended.
func (r *runner) wants(hook *subscriber.Webhook, w *waiting) bool {
	if r.isCommanded() {
		return !r.jobs[0].command.over
	}
	return wants(hook, w) && r.delivered[w.at] == nil
}

// dropUnwanted cancels the deliveries of the head and the probe if they are not wanted anymore. Those of a command have
// been canceled when the command ended.
func (r *runner) dropUnwanted() {
	cancel := func(c *chosen) bool {
		if c == nil || r.wants(r.hook, c.waiting) {
			return false
		}
		// The final state of a probe that a command has delivered is stored again when the head ends.
		if !r.isCommanded() && (c == r.head || r.delivered[c.at] == nil) {
			r.storeFinal(c, outbound.Cancelled, unsubscribed)
		}
		return true
	}
	if cancel(r.probe) {
		r.probe = nil
	}
	if cancel(r.head) {
		r.queue.Skip(r.head.at)
		r.head, r.probe = r.probe, nil
	}
}

// cancelResumed cancels the deliveries that were pending before the restart, up to that of the event at a position.
func (r *runner) cancelResumed(through int64, reason string) {
	for len(r.resumed) > 0 && r.resumed[0].entry.Position <= through {
		r.e.h.cancel(r.resumed[0], reason)
		r.resumed = r.resumed[1:]
	}
}

// after returns the next event for this queue. The search starts after the event in before. If before is nil, it
// starts after the cursor, and moves the cursor past events that the endpoint does not want. The result is nil if
// there is no next event or if events are still being read.
func (r *runner) after(before *waiting) *waiting {
	if r.isCommanded() {
		return r.nextOfJob(before)
	}
	h, from := r.e.h, r.queue.Cursor
	if before != nil {
		from = before.at
	}
	pass := func(list []*waiting) *waiting {
		for _, w := range list {
			if w.at <= from {
				continue
			}
			if r.mustSend(w) {
				return w
			}
			if before == nil {
				r.queue.Skip(w.at)
				if d := r.delivered[w.at]; d != nil {
					r.storeFinal(&chosen{w, d.entry.Delivery.Attempts, d.at}, outbound.Delivered, "")
				}
			}
		}
		return nil
	}
	if from+1 < h.floor {
		r.dropRead(r.queue.Cursor)
		if w := pass(r.own); w != nil {
			return w
		}
		if before == nil && r.readTo-1 > r.queue.Cursor {
			r.queue.Skip(r.readTo - 1)
		}
		from = max(from, r.readTo-1)
		if before != nil {
			if w := r.ahead; w != nil && w.at > before.at && r.mustSend(w) {
				return w
			}
			from = max(from, r.aheadTo-1)
		}
		if from+1 < h.floor {
			if before == nil {
				r.startRead(r.queue.Cursor + 1)
			} else {
				r.startLookingAhead(from + 1)
			}
			return nil
		}
	} else {
		r.dropRead(nothing)
	}
	return pass(h.after(from))
}

// idle reports whether the queue has no event to send: no attempt is in flight, and the ledger has no event of the
// hospital after the cursor. An event that the ledger has not yet acknowledged does not count, because its offset
// will be after the current end of the ledger.
func (r *runner) idle() bool {
	return r.head == nil && r.sending == nil && r.queue.Cursor+1 >= r.e.h.floor && len(r.e.h.after(r.queue.Cursor)) == 0
}

// dropRead removes the events up to and including the given offset from the events that were read from the ledger.
// The queue no longer needs the removed events.
func (r *runner) dropRead(at int64) {
	for len(r.own) > 0 && r.own[0].at <= at {
		r.e.h.owner.n.memory -= r.own[0].size()
		r.own = r.own[1:]
	}
	if len(r.own) == 0 {
		r.own = nil
	}
}

// startRead starts reading the hospital's events from the ledger, beginning at the given offset.
func (r *runner) startRead(from int64) {
	r.readLedger(from, keepBacklog, nil, func(list []*waiting, to int64) {
		list, to = r.trimRead(list, to)
		for _, w := range list {
			r.e.h.owner.n.memory += w.size()
		}
		r.own, r.readTo = append(r.own, list...), to
	})
}

// startLookingAhead starts a search of the ledger for the next event that the endpoint wants, beginning at the given
// offset. The event is needed for a probe. The search keeps only that event in memory, because many events that the
// endpoint does not want may precede it.
func (r *runner) startLookingAhead(from int64) {
	hook, delivered := r.hook, maps.Clone(r.delivered)
	r.readLedger(from, 1, func(w *waiting) bool { return wants(hook, w) && delivered[w.at] == nil }, func(list []*waiting, to int64) {
		r.aheadTo = to
		if len(list) > 0 {
			r.ahead = list[0]
		}
	})
}

// clocksDiffer is how far the clocks of the processes that write settings and the ledger may differ.
const clocksDiffer = time.Minute

// readLedger starts reading at most the given number of events that precede those in memory. The queue of a new
// endpoint begins at 0, but the read begins when the endpoint was created. The loop calls store with the result of
// readEvents, whose arguments are the same, and then schedules the next attempt. If a read is already in progress,
// readLedger does nothing.
func (r *runner) readLedger(from int64, most int, keep func(w *waiting) bool, store func(list []*waiting, to int64)) {
	if r.reading {
		return
	}
	r.reading = true
	h, created := r.e.h, r.hook.CreatedAt
	owner, floor := h.owner, h.floor
	owner.n.readConcurrently(func() {
		var list []*waiting
		var to int64
		var err error
		if from == 0 {
			from, err = owner.n.cfg.Ledger.At(owner.saving, owner.partition, created.Add(-clocksDiffer))
		}
		if err == nil {
			list, to, err = owner.n.readEvents(owner.saving, owner.partition, h.id, from, keep, func(at int64, found int) bool {
				return at < floor && found < most
			})
		}
		owner.n.post(func() {
			r.reading = false
			if owner.gone || r.e.gone {
				return
			}
			if err != nil {
				owner.n.log.Warn("backlog not read yet", "partition", owner.partition, "error", err)
				owner.n.timers.set(&r.timer, owner.n.clock.readTime().Add(time.Second), r.schedule)
				return
			}
			store(list, min(to, floor))
			r.schedule()
		})
	})
}

// readConcurrently runs a read of the ledger in a separate goroutine. At most readsAtOnce reads run at a time,
// because each needs a Kafka reader, and after a restart every queue that is far behind reads the ledger.
func (n *Notifier) readConcurrently(read func()) {
	if n.reads == readsAtOnce {
		n.toRead = append(n.toRead, read)
		return
	}
	n.reads++
	go func() {
		read()
		n.post(func() {
			n.reads--
			if len(n.toRead) > 0 {
				next := n.toRead[0]
				n.toRead = n.toRead[1:]
				n.readConcurrently(next)
			}
		})
	}()
}

// trimRead reduces the events read from the ledger to those that a failing queue needs: its head and one event for a
// probe. This saves memory, because thousands of endpoints may be down for hours.
func (r *runner) trimRead(list []*waiting, to int64) ([]*waiting, int64) {
	if r.queue.FailingSince.IsZero() {
		return list, to
	}
	wanted := 0
	for i, w := range list {
		if !r.mustSend(w) {
			continue // kept, because filters apply when an event is sent
		}
		if wanted++; wanted == 2 { //nolint:mnd // the head and the probe
			return slices.Clone(list[:i+1]), w.at + 1
		}
	}
	return list, to
}

// readEvents reads a hospital's events from the ledger, beginning at offset from, until more returns false. The list
// contains those of the hospital's events in [from, to) for which keep returns true; if keep is nil, all of them.
func (n *Notifier) readEvents(
	ctx context.Context, partition int32, hospital string, from int64,
	keep func(w *waiting) bool, more func(at int64, found int) bool,
) (list []*waiting, to int64, err error) {
	ids, term := map[string]bool{}, int64(0)
	to = -1
	end, err := n.cfg.Ledger.Read(ctx, partition, from, hospital+"/event/", func(at int64, entry any) bool {
		if !more(at, len(list)) {
			to = at
			return false
		}
		e, ok := entry.(*outbound.Event)
		// An entry with an earlier term, or with an id that already exists, was written by a previous owner that was
		// suspended and has resumed.
		if !ok || e.Hospital != hospital || e.Term < term || ids[e.ID] {
			return true
		}
		term, ids[e.ID] = e.Term, true
		if w := (&waiting{Event: e, at: at}); keep == nil || keep(w) {
			list = append(list, w)
		}
		return true
	})
	if to < 0 {
		to = end
	}
	return list, to, err
}
