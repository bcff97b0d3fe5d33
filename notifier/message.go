package notifier

import (
	"time"

	"svc/internal/outbound"
)

// message is a mail or an SMS that is not final yet.
type message struct {
	h     *hospital
	entry outbound.Entry
	at    int64 // ledger offset of its record
	timer timer
	busy  bool
	over  bool
}

// post stores a message and sends it. A message that the ledger has is left as it is:
// a step that a crash interrupted is repeated, and writes the same messages again.
func (h *hospital) post(l Message, command string) {
	d := l.Delivery
	if h.messages[d.ID] != nil || h.sent[d.ID] && d.State == outbound.Pending {
		return
	}
	one := &message{h: h, entry: outbound.Entry{Delivery: d, Position: -1, Command: command, Expires: l.Expires, Sealed: l.Sealed}, at: h.t.end}
	if d.State != outbound.Pending {
		h.t.n.cfg.Metrics.Ended(d.Channel, d.State)
		one.save(nil)
		return
	}
	h.messages[d.ID] = one
	h.t.n.cfg.Metrics.Waiting(d.Channel, 1)
	one.save(one.schedule)
}

// resend sends a message once more for a command.
func (h *hospital) resend(e *outbound.Entry, c *command) {
	if old := h.messages[e.Delivery.ID]; old != nil {
		old.entry.Delivery.NextAttemptAt = time.Time{}
		old.entry.Command = c.order.Command.ID
		old.schedule()
		return
	}
	one := &message{h: h, entry: *e, at: h.t.end}
	one.entry.Command = c.order.Command.ID
	one.entry.Expires = h.t.n.clock.readTime().Add(retryWindow)
	one.entry.Delivery.State, one.entry.Delivery.Reason, one.entry.Delivery.NextAttemptAt = outbound.Pending, "", time.Time{}
	delete(h.sent, e.Delivery.ID)
	h.messages[e.Delivery.ID] = one
	h.t.n.cfg.Metrics.Waiting(e.Delivery.Channel, 1)
	one.save(one.schedule)
}

// retryWindow is how long a message that is sent again by command is tried.
const retryWindow = 30 * time.Minute

// resume continues a message that the ledger has.
func (l *message) resume() {
	l.h.t.n.cfg.Metrics.Waiting(l.entry.Delivery.Channel, 1)
	if most := l.h.t.n.clock.readTime().Add(retryWindow); l.entry.Delivery.NextAttemptAt.After(most) {
		l.entry.Delivery.NextAttemptAt = most // the clock had run ahead when it was set
	}
	l.reopen()
	l.schedule()
}

// reopen makes a message that did not decrypt due at once: this process may have the
// key, or the address was changed.
func (l *message) reopen() {
	if l.closed() {
		l.entry.Delivery.NextAttemptAt = time.Time{}
	}
}

// closed reports whether the message did not decrypt at its last attempt.
func (l *message) closed() bool {
	all := l.entry.Delivery.Attempts
	return len(all) > 0 && all[len(all)-1].Class == outbound.ClassSealed
}

// schedule sends the message now, or sets a timer for when it is due.
func (l *message) schedule() {
	t := l.h.t
	n := t.n
	if l.busy || l.over || t.stopping {
		return
	}
	now := n.clock.readTime()
	d := &l.entry.Delivery
	if l.late(now) {
		l.end(outbound.Expired, "late")
		return
	}
	if d.NextAttemptAt.After(now) {
		n.timers.set(&l.timer, d.NextAttemptAt, l.schedule)
		return
	}
	l.busy = true
	var began time.Time
	var refused string
	var later bool
	n.queue.add(&task{
		ownership: t, host: string(d.Channel), slow: len(d.Attempts) > 0, channel: d.Channel,
		message: func() (m outbound.Message, ok bool) {
			began = n.clock.readTime()
			if l.over || l.late(began) {
				return m, false
			}
			if m, refused, later = n.cfg.People.Open(&l.entry); refused != "" {
				return m, false
			}
			m.Hospital, m.DeliveryID, m.EventID, m.Event = d.Hospital, d.ID, d.EventID, d.Event
			m.Attempt, m.Expires = nextAttempt(l.entry.Delivery.Attempts), l.entry.Expires
			return m, true
		},
		dropped: func() {
			l.busy = false
			switch {
			case later:
				l.ended(began, outbound.Result{Class: outbound.ClassSealed, Response: refused})
			case refused != "":
				l.end(outbound.Failed, refused)
			default:
				l.schedule()
			}
		},
		ended: func(r outbound.Result) { l.ended(began, r) },
	})
}

func (l *message) late(now time.Time) bool {
	return !l.entry.Expires.IsZero() && !now.Before(l.entry.Expires)
}

func (l *message) ended(began time.Time, r outbound.Result) {
	l.busy = false
	t := l.h.t
	n := t.n
	if t.gone {
		return
	}
	now, wasClosed := n.clock.readTime(), l.closed()
	d := &l.entry.Delivery
	a := outbound.Attempt{N: nextAttempt(l.entry.Delivery.Attempts), At: began, Took: r.Took, Class: r.Class, Status: r.Status, Response: r.Response}
	n.cfg.Metrics.Attempt(d.Channel, r.Class, r.Took)
	if r.Class != outbound.ClassInterrupted {
		d.Attempts = kept(append(d.Attempts, a))
	}
	wait, again := time.Duration(0), true
	if r.Class != outbound.ClassInterrupted && r.Class != outbound.ClassOK {
		wait, again = n.cfg.People.Retry(d.Channel, a.N, r)
	}
	d.NextAttemptAt = now.Add(wait)
	n.log.Info("delivery attempt",
		"hospital", d.Hospital, "endpoint", d.EndpointID, "channel", d.Channel, "delivery", d.ID, "event", d.Event, "attempt", a.N,
		"class", a.Class, "status", a.Status, "ms", a.Took.Milliseconds(), "next_at", d.NextAttemptAt)
	switch {
	case l.over: // superseded meanwhile; an accepted message cannot be taken back
	case r.Class == outbound.ClassInterrupted:
		l.schedule()
	case r.Class == outbound.ClassOK:
		l.end(outbound.Delivered, "")
	case r.Final || !again:
		l.end(outbound.Failed, string(r.Class))
	case l.late(d.NextAttemptAt):
		l.end(outbound.Expired, string(r.Class))
	default:
		l.save(l.schedule)
		if l.closed() != wasClosed { // People may alert somebody else meanwhile
			l.h.askPeople = true
			l.h.consider()
		}
	}
}

// end makes the message final and asks People for a step.
func (l *message) end(state outbound.State, reason string) {
	h := l.h
	n := h.t.n
	l.over = true
	n.timers.stop(&l.timer)
	d := &l.entry.Delivery
	d.State, d.Reason, d.NextAttemptAt = state, reason, time.Time{}
	delete(h.messages, d.ID)
	h.sent[d.ID] = true
	n.cfg.Metrics.Waiting(d.Channel, -1)
	n.cfg.Metrics.Ended(d.Channel, state)
	l.save(nil)
	if c := h.orders[l.entry.Command]; c != nil {
		c.countEnd(state)
		c.finish("")
	}
	h.ended = append(h.ended, ended{l.at, l.entry})
	h.consider()
}

func (l *message) save(then func()) {
	l.entry.Term = l.h.t.number
	entry := l.entry
	l.h.t.n.cfg.Lists.Delivery(&entry)
	l.h.t.append(&entry, func(at int64) {
		l.at = at
		if then != nil {
			then()
		}
	})
}
