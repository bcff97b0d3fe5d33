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

// Change is one committed change with its offset in the verdicts.
type Change struct {
	Offset int64
	Change *acuity.Change
	events []outbound.Event
}

// Changes accepts committed changes of a partition in order, maybe none, up to the
// offset through. With behind more lie in the log.
func (n *Notifier) Changes(partition int32, changes []Change, through int64, behind bool) (err error) {
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		if c.events, err = event.FromChange(c.Change, c.Offset); err != nil {
			return fmt.Errorf("change at %d: %w", c.Offset, err)
		}
	}
	n.saves.Add(1) // until the loop has handled them
	n.post(func() {
		n.saved()
		n.owning(partition, func(o *ownership) { o.changes(changes, through, behind) })()
	})
	return nil
}

// owning returns a function for the loop. It calls do with the ownership of a
// partition, if there is one.
func (n *Notifier) owning(partition int32, do func(o *ownership)) func() {
	return func() {
		if o := n.owned[partition]; o != nil {
			do(o)
		}
	}
}

// Order accepts a command that somebody wrote to the ledger.
func (n *Notifier) Order(partition int32, offset int64, order *outbound.Order) {
	if order.Term != 0 || order.Progress.Done {
		return // our own record
	}
	n.post(n.owning(partition, func(o *ownership) {
		o.end = max(o.end, offset+1)
		o.hospital(order.Command.Hospital).addCommand(offset, order)
	}))
}

// SettingsChanged applies new settings of a hospital.
func (n *Notifier) SettingsChanged(hospital string) {
	n.post(n.owning(n.cfg.Partition(hospital), func(o *ownership) {
		h := o.hospitals[hospital]
		if h == nil {
			return
		}
		h.reconcile()
		for _, m := range h.messages {
			if m.closed() {
				m.reopen()
				m.schedule()
			}
		}
		h.askPeople = true // a tier may have its first recipient
		h.consider()
	}))
}

// Room waits until the notifier accepts more changes, because the ledger is not far
// behind. It returns false if ctx ends before.
func (n *Notifier) Room(ctx context.Context) bool {
	for n.saves.Load() >= saveAtOnce {
		select {
		case <-n.capacity:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// saved counts an acknowledged entry.
func (n *Notifier) saved() {
	if n.saves.Add(-1) == saveAtOnce-1 {
		select {
		case n.capacity <- struct{}{}:
		default: // the signal before was not taken yet
		}
	}
}

// refillSpan is how far back lists are rebuilt from the ledger.
const refillSpan = 7 * 24 * time.Hour

// refillBatch is how many entries are read before they must have been written. More than the lists
// hold back would be lost.
const refillBatch = 10_000

// RefillLists writes the last week of a partition's ledger to the lists, because they
// were lost. It calls written now and then, which waits until the lists have all so far.
func (n *Notifier) RefillLists(ctx context.Context, partition int32, written func(context.Context)) error {
	from, err := n.cfg.Ledger.At(ctx, partition, n.clock.readTime().Add(-refillSpan))
	if err != nil {
		return fmt.Errorf("tell lists: %w", err)
	}
	count := 0
	if _, err = n.cfg.Ledger.Read(ctx, partition, from, "", func(_ int64, entry any) bool {
		if count++; count%refillBatch == 0 {
			written(ctx)
		}
		switch e := entry.(type) {
		case *outbound.Entry:
			n.cfg.Lists.Delivery(e)
		case *outbound.Order:
			n.cfg.Lists.Progress(e.Progress)
		}
		return ctx.Err() == nil
	}); err != nil {
		return fmt.Errorf("tell lists: %w", err)
	}
	n.call(n.owning(partition, func(o *ownership) {
		for _, h := range o.hospitals {
			for _, e := range h.endpoints {
				e.reported = outbound.Health{}
				e.report()
			}
			h.askPeople = true // the step lists the alert run and the target of its link
			h.consider()
		}
	}))
	return nil
}
