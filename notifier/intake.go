package notifier

import (
	"context"
	"fmt"
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

// Changes takes committed changes of a partition, in order, maybe none, up to an
// offset; behind says that more lie in the log.
func (n *Notifier) Changes(partition int32, changes []Change, through int64, behind bool) error {
	all := make([]changeEvents, 0, len(changes))
	for _, c := range changes {
		events, err := event.FromChange(c.Change, c.Offset)
		if err != nil {
			return fmt.Errorf("change at %d: %w", c.Offset, err)
		}
		all = append(all, changeEvents{c.Change, events})
	}
	n.saves.Add(1) // until the loop has seen them
	n.post(func() {
		n.saved()
		if t := n.owned[partition]; t != nil {
			t.changes(all, through, behind)
		}
	})
	return nil
}

// changeEvents is a change with the events that it is told by.
type changeEvents struct {
	change *acuity.Change
	events []outbound.Event
}

// Order takes a command that somebody wrote into the ledger.
func (n *Notifier) Order(partition int32, offset int64, o *outbound.Order) {
	if o.Ownership != 0 || o.Progress.Done {
		return // our own writing
	}
	n.post(func() {
		if t := n.owned[partition]; t != nil {
			t.end = max(t.end, offset+1)
			t.hospital(o.Command.Hospital).addCommand(offset, o)
		}
	})
}

// SettingsChanged says that the endpoints of a hospital are others now.
func (n *Notifier) SettingsChanged(hospital string) {
	n.post(func() {
		if t := n.owned[n.cfg.Partition(hospital)]; t != nil {
			if h := t.hospitals[hospital]; h != nil {
				h.reconcile()
				for _, l := range h.messages {
					if l.closed() {
						l.reopen()
						l.schedule()
					}
				}
				h.askPeople = true // a tier may have its first recipient
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
		case <-n.capacity:
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
		case n.capacity <- struct{}{}:
		default: // who waits has not looked yet
		}
	}
}

// refillSpan is how far back lists are made anew from the ledger.
const refillSpan = 7 * 24 * time.Hour

// RefillLists gives the board all that the ledger of a partition knows of the last week:
// the lists were lost.
func (n *Notifier) RefillLists(ctx context.Context, partition int32) error {
	from, err := n.cfg.Ledger.At(ctx, partition, n.clock.readTime().Add(-refillSpan))
	if err != nil {
		return fmt.Errorf("tell lists: %w", err)
	}
	if _, err = n.cfg.Ledger.Read(ctx, partition, from, "", func(_ int64, entry any) bool {
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
	n.call(func() { //nolint:contextcheck // the loop's own work, beyond the call
		if t := n.owned[partition]; t != nil {
			for _, h := range t.hospitals {
				for _, e := range h.endpoints {
					e.reported = outbound.Health{}
					e.report()
				}
				h.askPeople = true // People list the episode, and where its link leads
				h.consider()
			}
		}
	})
	return nil
}
