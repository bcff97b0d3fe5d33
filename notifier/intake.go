package notifier

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc/acuity"
	"svc/internal/outbound"
	"svc/notifier/event"
)

// Change is one committed change, with its offset in the verdicts topic.
type Change struct {
	Offset      int64
	Change      *acuity.Change
	Traceparent string // trace of the request that caused the change; "": not traced
	events      []outbound.Event
}

// Changes accepts committed changes of a partition, in order. through is the offset after the last record that the
// caller has read from the verdicts topic, and behind reports whether the topic has more records.
func (n *Notifier) Changes(partition int32, changes []Change, through int64, behind bool) (err error) {
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		if c.events, err = event.FromChange(c.Change, c.Offset); err != nil {
			return fmt.Errorf("change at %d: %w", c.Offset, err)
		}
		for k := range c.events {
			c.events[k].Traceparent = c.Traceparent
		}
	}
	n.saves.Add(1) // counted until the loop has handled the changes
	n.post(func() {
		n.countSaved()
		n.withOwnership(partition, func(o *ownership) { o.addChanges(changes, through, behind) })()
	})
	return nil
}

// withOwnership returns a function that passes the ownership of a partition to the function do, or does nothing if
// this process does not own the partition. Only the loop may call the returned function.
func (n *Notifier) withOwnership(partition int32, do func(o *ownership)) func() {
	return func() {
		if o := n.owned[partition]; o != nil {
			do(o)
		}
	}
}

// Order accepts a command that another process wrote to the ledger.
func (n *Notifier) Order(partition int32, offset int64, order *outbound.Order) {
	if order.Term != 0 || order.Progress.Done {
		return // the record is a notifier's report on the progress of a known command
	}
	n.post(n.withOwnership(partition, func(o *ownership) {
		// An entry of this process that the ledger has not acknowledged may precede the command. As long as there is one,
		// the end must not pass it, because an idle queue skips everything before the end.
		if o.begun == o.saved {
			o.end = max(o.end, offset+1)
		}
		o.hospital(order.Command.Hospital).addCommand(offset, order)
	}))
}

// SettingsChanged applies new settings of a hospital.
func (n *Notifier) SettingsChanged(hospital string) {
	n.post(n.withOwnership(n.cfg.Partition(hospital), func(o *ownership) {
		h := o.hospitals[hospital]
		if h == nil {
			return
		}
		h.reconcile()
		for _, m := range h.messages {
			if m.isSealed() {
				m.reopen()
				m.schedule()
			}
		}
		h.askPeople = true // the settings may have added the first recipient of a tier
		h.consider()
	}))
}

// WaitForCapacity waits until the ledger has acknowledged enough entries for the notifier to accept more changes. It
// returns false if ctx ends first.
func (n *Notifier) WaitForCapacity(ctx context.Context) bool {
	for n.saves.Load() >= saveAtOnce {
		select {
		case <-n.capacity:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// countSaved decrements saves, and signals capacity when saves falls below saveAtOnce.
func (n *Notifier) countSaved() {
	if n.saves.Add(-1) == saveAtOnce-1 {
		select {
		case n.capacity <- struct{}{}:
		default: // the previous signal has not been received yet
		}
	}
}

// refillSpan is the period for which the lists of deliveries and commands are rebuilt from the ledger. refillRunsSpan
// is that period for the list of alert runs.
const (
	refillSpan     = 7 * 24 * time.Hour
	refillRunsSpan = 90 * 24 * time.Hour // the ledger's retention time
)

// refillBatch is the number of entries after which a refill waits until the lists have written them, because the lists
// drop entries beyond their capacity.
const refillBatch = 10_000

// RefillLists rebuilds the lists of a partition from its ledger after they have been lost: the deliveries and
// commands of the last week, the alert runs of the last 90 days, and the current health of the endpoints. It
// regularly calls written, which must wait until the lists have written all entries.
func (n *Notifier) RefillLists(ctx context.Context, partition int32, written func(context.Context)) error {
	now := n.clock.readTime()
	from, err := n.cfg.Ledger.At(ctx, partition, now.Add(-refillRunsSpan))
	if err != nil {
		return fmt.Errorf("refill lists: %w", err)
	}
	week, err := n.cfg.Ledger.At(ctx, partition, now.Add(-refillSpan))
	if err != nil {
		return fmt.Errorf("refill lists: %w", err)
	}
	count, term := 0, int64(0)
	running := map[string]outbound.Progress{} // commands whose records do not say that they are done, by id
	if _, err = n.cfg.Ledger.Read(ctx, partition, from, "", func(offset int64, entry any) bool {
		if _, closed := entry.(*outbound.ClosedRun); !closed && offset < week {
			return ctx.Err() == nil
		}
		if count++; count%refillBatch == 0 {
			written(ctx)
		}
		switch e := entry.(type) {
		case *outbound.Entry:
			n.cfg.Lists.Delivery(e)
		case *outbound.Order:
			delete(running, e.Command.ID)
			if e.Progress.Done {
				n.cfg.Lists.Progress(e.Progress)
			} else {
				running[e.Command.ID] = e.Progress
			}
		case *outbound.ClosedRun:
			if e.Term >= term { // an owner that was suspended and has resumed writes a lower term
				term = e.Term
				n.cfg.Lists.AlertRun(e.Run)
			}
		}
		return ctx.Err() == nil
	}); err != nil {
		return fmt.Errorf("refill lists: %w", err)
	}
	n.call(n.withOwnership(partition, func(o *ownership) { //nolint:contextcheck // the loop's work outlives the call
		for id, p := range running {
			// The command may have made progress or ended since its record was read.
			switch h := o.hospitals[p.Hospital]; {
			case h != nil && h.orders[id] != nil:
				n.cfg.Lists.Progress(h.orders[id].order.Progress)
			case h == nil || !h.done[id]:
				n.cfg.Lists.Progress(p)
			}
		}
		for _, h := range o.hospitals {
			for _, e := range h.endpoints {
				e.reported = outbound.Health{}
				e.report()
			}
			h.askPeople = true // the next step of People writes the open alert run and its link to the lists
			h.consider()
		}
	}))
	return nil
}
