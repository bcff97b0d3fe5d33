package notifier

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
)

// stepWithin is the timeout of a step.
const stepWithin = 2 * time.Second

// consider starts a step of [People] for the hospital if there is input. Input that arrives during a step waits for
// the next step. No step starts while the notifier is still catching up or the ownership is ending, or while the ledger
// has not acknowledged a change of the level: the step would know the new level, but not the change. Once the ledger
// has acknowledged the change, addChanges calls consider again.
func (h *hospital) consider() {
	owner := h.owner
	n := owner.n
	if n.cfg.People == nil || h.stepping || owner.stopping || owner.catching || len(h.storing) > 0 {
		return
	}
	if !h.askPeople && len(h.unseen)+len(h.commands)+len(h.ended)+len(h.notices) == 0 {
		return
	}
	h.stepping, h.askPeople, h.handed = true, false, h.oldestAsked()
	now := n.clock.readTime()
	happening := Happening{
		Hospital: h.id, Memory: h.policy, Level: h.level, Known: h.known,
		Commands: h.commands, Notices: h.notices,
	}
	seen, traceparent := len(h.unseen), ""
	for _, u := range h.unseen {
		happening.Changes = append(happening.Changes, u.change)
		traceparent = cmp.Or(u.change.Traceparent, traceparent)
	}
	for i := range h.ended {
		happening.Ended = append(happening.Ended, h.ended[i].entry)
	}
	for _, id := range slices.Sorted(maps.Keys(h.messages)) {
		happening.Waiting = append(happening.Waiting, h.messages[id].entry)
	}
	for _, id := range slices.Sorted(maps.Keys(h.endpoints)) {
		if e := h.endpoints[id]; e.paused() && e.main.sending == nil { // an attempt in flight may still be accepted
			happening.Paused = append(happening.Paused, id)
		}
	}
	handed := h.ended
	h.commands, h.ended, h.notices = nil, nil, nil
	go func() {
		ctx, cancel := context.WithTimeout(owner.saving, stepWithin)
		defer cancel()
		s := n.cfg.People.Step(ctx, now, happening)
		n.post(func() {
			if s.Postponed {
				h.postponeStep(s.Next, &happening, handed)
				return
			}
			h.applyStep(s, seen, traceparent, happening.Notices)
		})
	}()
}

// postponeStep keeps the input of a step for another step at the given instant. The level changes in the input remain
// unseen.
func (h *hospital) postponeStep(next time.Time, in *Happening, over []ended) {
	if h.owner.gone {
		return
	}
	h.commands, h.notices = append(in.Commands, h.commands...), append(in.Notices, h.notices...)
	h.ended = append(over, h.ended...)
	h.handed, h.stepping = nothing, false
	h.wakeAt(next)
}

// wakeAt schedules a step for the instant next. Another event may cause an earlier step. If next is zero, no step is
// scheduled.
func (h *hospital) wakeAt(next time.Time) {
	n := h.owner.n
	n.timers.stop(&h.wake)
	if next.IsZero() {
		return
	}
	n.timers.set(&h.wake, next, func() {
		h.askPeople = true
		h.consider()
	})
}

// applyStep applies the result of a step. It stores the messages before the state of [People]. If the process dies
// after the messages but before the state, the step is repeated; a message whose id is already stored is not sent
// again. Until the state is stored, a restore still finds the input of the step. traceparent is the trace of the
// latest change in that input, and notices are the notices in it.
func (h *hospital) applyStep(s Step, seen int, traceparent string, notices []Notice) {
	owner := h.owner
	n := owner.n
	if owner.gone {
		return
	}
	for _, d := range s.Decisions {
		n.cfg.Metrics.Decided(d.Reason)
		about := []any{"hospital", h.id, "reason", d.Reason, "tier", d.Tier}
		if d.Delivery != "" {
			about = append(about, "recipient", d.Recipient, "delivery", d.Delivery)
		}
		n.log.Info("alert decided", about...)
	}
	for _, id := range s.Supersede {
		if m := h.messages[id]; m != nil {
			m.end(outbound.Superseded, "newer")
		}
	}
	for i := range s.Messages {
		s.Messages[i].Traceparent = traceparent
		h.post(&s.Messages[i], "")
	}
	for i := range notices {
		if e := h.endpoints[notices[i].Endpoint]; e != nil {
			e.write()
		}
	}
	for i := range s.Events {
		e := &s.Events[i]
		if !h.sent[e.ID] {
			e.Source, e.RoomID, e.Traceparent = -1, -1, traceparent
			h.publish(e, nil)
		}
	}
	for i := range s.Closed { // before the state is stored, because a step is not repeated after that
		owner.append(&outbound.ClosedRun{Run: s.Closed[i], Term: owner.number}, nil)
	}
	if seen > 0 || s.Memory != nil {
		if s.Memory != nil {
			h.policy = s.Memory
		}
		h.unseen = h.unseen[seen:]
		h.unsaved = append(h.unsaved, h.handed)
		h.write(func() { h.unsaved = h.unsaved[1:] })
	}
	h.handed = nothing
	for _, a := range s.Answers {
		if c := h.orders[a.Command]; c != nil {
			c.finish(a.Reason)
		}
	}
	h.wakeAt(s.Next)
	h.stepping = false // messages that ended above become input of the next step
	h.consider()
}

// message is an e-mail or an SMS that is not final yet.
type message struct {
	h     *hospital
	entry outbound.Entry
	at    int64 // ledger offset of the message's record
	timer timer
	busy  bool
	over  bool

	again   time.Time // when a command sent the final message again; zero: no command has
	earlier []string  // commands that requested the message before the one in entry
}

// post stores a message and, if the message is pending, sends it. A pending message that is already in the ledger is
// left unchanged, because a step that is repeated after a crash posts the same messages again.
func (h *hospital) post(e *outbound.Entry, command string) {
	d := &e.Delivery
	if h.messages[d.ID] != nil || h.sent[d.ID] && d.State == outbound.Pending {
		return
	}
	m := &message{h: h, entry: *e, at: h.owner.end}
	m.entry.Position, m.entry.Command = -1, command
	if d.State != outbound.Pending {
		h.owner.n.cfg.Metrics.Ended(d.Channel, d.State)
		m.save(nil)
		return
	}
	m.begin()
}

// begin adds a message to the hospital's messages, stores it, and sends it.
func (m *message) begin() {
	d := &m.entry.Delivery
	m.h.messages[d.ID] = m
	m.h.owner.n.cfg.Metrics.Waiting(d.Channel, 1)
	m.save(m.schedule)
}

// resend sends a message again because of a command.
func (h *hospital) resend(e *outbound.Entry, c *command) {
	if old := h.messages[e.Delivery.ID]; old != nil {
		old.entry.Delivery.NextAttemptAt = time.Time{}
		if old.entry.Command == c.order.Command.ID { // the command had sent the message again before a restart
			old.again = c.order.Command.At
		}
		old.earlier = append(old.earlier, old.entry.Command)
		old.entry.Command, old.entry.Traceparent = c.order.Command.ID, ""
		old.schedule()
		return
	}
	m := &message{h: h, entry: *e, at: h.owner.end, again: c.order.Command.At}
	m.entry.Command, m.entry.Expires = c.order.Command.ID, h.owner.n.clock.readTime().Add(retryWindow)
	m.entry.Traceparent = "" // sent because of the command, not of the original request
	d := &m.entry.Delivery
	d.State, d.Reason, d.NextAttemptAt = outbound.Pending, "", time.Time{}
	m.begin()
}

// retries are the waits after the failed attempts of a message. The last wait repeats until the message expires.
var retries = [...]time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}

// retryWindow is how long a message is retried after a command has sent it again.
const retryWindow = 30 * time.Minute

// resume resumes the delivery of a pending message that a restore found in the ledger.
func (m *message) resume() {
	m.h.owner.n.cfg.Metrics.Waiting(m.entry.Delivery.Channel, 1)
	if most := m.h.owner.n.clock.readTime().Add(retryWindow); m.entry.Delivery.NextAttemptAt.After(most) {
		m.entry.Delivery.NextAttemptAt = most // the clock was fast when NextAttemptAt was set
	}
	m.reopen()
	m.schedule()
}

// reopen makes the next attempt due immediately if the message could not be decrypted, because this process may have
// the key or the address may have changed.
func (m *message) reopen() {
	if m.isSealed() {
		m.entry.Delivery.NextAttemptAt = time.Time{}
	}
}

// isSealed reports whether the message could not be decrypted for its last attempt.
func (m *message) isSealed() bool {
	all := m.entry.Delivery.Attempts
	return len(all) > 0 && all[len(all)-1].Class == sending.ClassSealed
}

// schedule sends the message now, or sets a timer for when it is due. If the message has expired, schedule ends it.
func (m *message) schedule() {
	owner := m.h.owner
	n := owner.n
	if m.busy || m.over || owner.stopping {
		return
	}
	now := n.clock.readTime()
	d := &m.entry.Delivery
	if m.isLate(now) {
		m.end(outbound.Expired, "late")
		return
	}
	if d.NextAttemptAt.After(now) {
		n.timers.set(&m.timer, d.NextAttemptAt, m.schedule)
		return
	}
	m.busy = true
	var began time.Time
	var refused string
	var later bool
	n.queue.add(&task{
		ownership: owner, host: string(d.Channel), channel: d.Channel,
		message: func() (out sending.Message, ok bool) {
			began = n.clock.readTime()
			if m.over || m.isLate(began) {
				return out, false
			}
			if out, refused, later = n.cfg.People.Open(&m.entry); refused != "" {
				return out, false
			}
			out.Hospital, out.DeliveryID, out.EventID, out.Event = d.Hospital, d.ID, d.EventID, d.Event
			out.Attempt, out.Expires, out.Traceparent = nextAttempt(d.Attempts), m.entry.Expires, m.entry.Traceparent
			if out.Since = m.again; out.Since.IsZero() {
				out.Since = d.OccurredAt
			}
			return out, true
		},
		dropped: func() {
			m.busy = false
			switch {
			case later:
				m.handleResult(began, sending.Result{Class: sending.ClassSealed, Response: refused})
			case refused != "":
				m.end(outbound.Failed, refused)
			default:
				m.schedule()
			}
		},
		ended: func(r sending.Result) { m.handleResult(began, r) },
	})
}

func (m *message) isLate(now time.Time) bool {
	return !m.entry.Expires.IsZero() && !now.Before(m.entry.Expires)
}

func (m *message) handleResult(began time.Time, r sending.Result) {
	m.busy = false
	owner := m.h.owner
	n := owner.n
	if owner.gone {
		return
	}
	now, wasClosed := n.clock.readTime(), m.isSealed()
	d := &m.entry.Delivery
	a := attemptOf(d.Attempts, began, &r)
	n.cfg.Metrics.Attempt(d.Channel, r.Class, r.Took, traceID(m.entry.Traceparent))
	wait := time.Duration(0)
	if r.Class != sending.ClassInterrupted {
		d.Attempts = kept(append(d.Attempts, a))
		if r.Class != sending.ClassOK && !r.Final {
			wait = max(retries[min(a.N, len(retries))-1], r.RetryAfter)
		}
	}
	d.NextAttemptAt = now.Add(wait)
	n.traced(m.entry.Traceparent).Info("delivery attempt",
		"hospital", d.Hospital, "endpoint", d.EndpointID, "channel", d.Channel, "delivery", d.ID, "event", d.Event, "attempt", a.N,
		"class", a.Class, "status", a.Status, "ms", a.Took.Milliseconds(), "next_at", d.NextAttemptAt)
	switch {
	case m.over: // superseded in the meantime; an accepted message cannot be recalled
	case r.Class == sending.ClassInterrupted:
		m.schedule()
	case r.Class == sending.ClassOK:
		m.end(outbound.Delivered, "")
	case r.Final:
		m.end(outbound.Failed, string(r.Class))
	case m.isLate(d.NextAttemptAt):
		m.end(outbound.Expired, string(r.Class))
	default:
		m.save(m.schedule)
		if m.isSealed() != wasClosed { // People may now alert a different recipient
			m.h.askPeople = true
			m.h.consider()
		}
	}
}

// end makes the message final and requests a step of People.
func (m *message) end(state outbound.State, reason string) {
	h := m.h
	n := h.owner.n
	m.over = true
	n.timers.stop(&m.timer)
	d := &m.entry.Delivery
	d.State, d.Reason, d.NextAttemptAt = state, reason, time.Time{}
	delete(h.messages, d.ID)
	n.cfg.Metrics.Waiting(d.Channel, -1)
	n.cfg.Metrics.Ended(d.Channel, state)
	m.save(nil)
	for _, id := range append(m.earlier, m.entry.Command) {
		if c := h.orders[id]; c != nil {
			c.countEnd(state)
			c.finish("")
		}
	}
	h.ended = append(h.ended, ended{m.at, m.entry})
	h.consider()
}

func (m *message) save(then func()) {
	m.entry.Term = m.h.owner.number
	entry := m.entry
	m.h.owner.n.cfg.Lists.Delivery(&entry)
	m.h.owner.append(&entry, func(at int64) {
		m.at = at
		if then != nil {
			then()
		}
	})
}
