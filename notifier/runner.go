package notifier

import (
	"math/rand/v2"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/endpointqueue"
)

// runner sends the events of one queue sequentially. The main runner sends the hospital's events after its cursor;
// the others send the events of their jobs.
type runner struct {
	e     *endpoint
	hook  *subscriber.Webhook // settings that the last attempt used
	queue endpointqueue.Queue
	timer timer

	sending *chosen // the event of the attempt in flight; nil: none is
	queued  bool    // whether the attempt waits in notifier.queue
	unsaved int     // number of outcomes that the ledger has not acknowledged

	head  *chosen // the next event to finish; nil: not picked yet
	probe *chosen // the event after the head, sent while the head fails

	resumed []*recorded // deliveries that were pending before the restart and have not been picked yet, in the order of their events

	// delivered are the deliveries that commands have made for the main queue, by ledger offset of the event. The queue
	// does not send these events again. A delivery is removed once the ledger has a record that moves the cursor past it.
	delivered map[int64]*recorded

	own     []*waiting // events read back from the ledger, older than those in memory
	readTo  int64      // ledger offset up to which own is complete
	ahead   *waiting   // event for a probe that a search of the ledger has found; nil: none
	aheadTo int64      // ledger offset up to which that search has found no other event
	reading bool
	backlog int // number of waiting events, approximate

	jobs []*job // of commands
}

// isCommanded reports whether the queue sends what commands request.
func (r *runner) isCommanded() bool { return r != &r.e.main }

// count adds to the number of waiting events.
func (r *runner) count(more int) {
	more = max(more, -r.backlog)
	r.backlog += more
	if more != 0 {
		r.e.h.owner.n.cfg.Metrics.Waiting(subscriber.ChannelWebhook, more)
	}
}

// handleEvent counts a new event of the hospital if the endpoint wants it, and schedules the next attempt.
func (r *runner) handleEvent(w *waiting) {
	hook, ok := r.e.h.owner.n.cfg.Settings.Webhook(r.e.h.id, r.e.id)
	if ok && wants(hook, w) {
		r.count(1)
	}
	r.schedule()
}

// schedule passes the next attempt to the queue of the notifier if the attempt is due, and sets a timer if it is not
// due yet. If the event at the head has expired, schedule ends it and continues with the next event.
func (r *runner) schedule() {
	owner := r.e.h.owner
	n := owner.n
	if r.sending != nil || r.queued || owner.stopping || r.e.gone || r.unsaved >= n.cfg.Limits.Unsaved {
		return
	}
	hook, ok := n.cfg.Settings.Webhook(r.e.h.id, r.e.id)
	if !ok || !r.isCommanded() && r.e.paused() {
		n.timers.stop(&r.timer)
		return
	}
	r.hook = hook
	for r.unsaved < n.cfg.Limits.Unsaved {
		c := r.pick()
		if c == nil {
			n.timers.stop(&r.timer)
			return
		}
		now := n.clock.readTime()
		if until := r.until(c.waiting); c == r.head && r.queue.Expired(now, until) {
			r.queue.Skip(c.at)
			r.end(c, outbound.Expired, "late")
			continue
		}
		if due := r.queue.Due(r.rate()); due.After(now) {
			n.timers.set(&r.timer, due, r.schedule)
			return
		}
		n.timers.stop(&r.timer)
		r.queued = true
		n.queue.add(r.attempt(c))
		return
	}
}

func (r *runner) rate() float64 {
	if r.isCommanded() {
		return r.hook.RatePerSecond / 2 // half the rate, in addition to the full rate of the main queue
	}
	return r.hook.RatePerSecond
}

// until returns the instant at which an event expires.
func (r *runner) until(w *waiting) time.Time {
	if r.isCommanded() {
		return r.jobs[0].command.order.Command.At.Add(endpointqueue.Expiry)
	}
	return w.OccurredAt.Add(endpointqueue.Expiry)
}

// attempt returns a task that sends an event.
func (r *runner) attempt(c *chosen) *task {
	var began time.Time
	return &task{
		ownership: r.e.h.owner, host: r.e.host, channel: subscriber.ChannelWebhook,
		slow: r.queue.Slow && r != r.e.tests, // a person waits for a test
		message: func() (sending.Message, bool) {
			n := r.e.h.owner.n
			hook, ok := n.cfg.Settings.Webhook(r.e.h.id, r.e.id)
			if !ok || r.e.gone || c != r.head && c != r.probe || !r.wants(hook, c.waiting) || !r.isCommanded() && r.e.paused() {
				return sending.Message{}, false
			}
			r.hook, r.queued, r.sending = hook, false, c
			began = n.clock.readTime()
			r.queue.Begin(began, r.rate())
			return sending.Message{
				Traceparent: r.traceparent(c.waiting),
				Hospital:    r.e.h.id, DeliveryID: r.deliveryID(c.waiting), EventID: c.ID, Event: c.Event.Event,
				Attempt: nextAttempt(c.tries), Webhook: hook, Body: c.Body,
			}, true
		},
		dropped: func() {
			r.queued = false
			r.schedule()
		},
		ended: func(result sending.Result) { r.handleResult(c, began, result) },
	}
}

// traceparent returns the trace of an attempt, or "" if a command caused the attempt, because such an attempt belongs
// to no request.
func (r *runner) traceparent(w *waiting) string {
	if r.isCommanded() {
		return ""
	}
	return w.Traceparent
}

// attemptOf returns the record of the attempt that follows those in tries, with its result.
func attemptOf(tries []sending.Attempt, began time.Time, r *sending.Result) sending.Attempt {
	return sending.Attempt{N: nextAttempt(tries), At: began, Took: r.Took, Class: r.Class, Status: r.Status, Response: r.Response}
}

// nextAttempt returns the number of the attempt that follows those in tries.
func nextAttempt(tries []sending.Attempt) int {
	if len(tries) == 0 {
		return 1
	}
	return tries[len(tries)-1].N + 1
}

// handleResult stores the outcome of an attempt and schedules the next attempt.
func (r *runner) handleResult(c *chosen, began time.Time, result sending.Result) {
	r.sending = nil
	owner := r.e.h.owner
	n := owner.n
	if owner.gone || r.isCommanded() && len(r.jobs) == 0 {
		return
	}
	now := n.clock.readTime()
	failing := !r.queue.FailingSince.IsZero()
	probe := c != r.head
	a := attemptOf(c.tries, began, &result)
	v := r.queue.End(now, c.at, r.until(c.waiting), result, rand.Float64()) //nolint:gosec // only for jitter
	n.cfg.Metrics.Attempt(subscriber.ChannelWebhook, result.Class, result.Took, traceID(r.traceparent(c.waiting)))
	r.line(c.waiting, &a)
	if result.Class != sending.ClassInterrupted {
		c.tries = kept(append(c.tries, a))
	}
	if v.State == outbound.Delivered {
		n.cfg.Metrics.Accepted(now.Sub(c.OccurredAt), traceID(r.traceparent(c.waiting)))
	}
	over := r.isCommanded() && r.jobs[0].command.over
	switch {
	case r.e.gone && !r.isCommanded(): // remove has stored that the delivery is canceled
		if v.State != outbound.Delivered {
			v.State, v.Reason = outbound.Cancelled, deleted
		}
		r.storeFinal(c, v.State, v.Reason)
		return
	case result.Class == sending.ClassInterrupted && (!over || r.jobs[0].once):
		r.schedule()
		return
	}
	if r.isCommanded() && r.jobs[0].once && v.State == outbound.Pending {
		v.State, v.Reason = outbound.Failed, string(result.Class)
		r.queue.Skip(c.at)
	}
	if r.isCommanded() && result.Class == sending.ClassGone {
		delete(r.jobs[0].command.pending, r.deliveryID(c.waiting)) // stored below, with this attempt
		r.jobs[0].command.finish(endpointqueue.Gone)
		over = true
	}
	if over && v.State == outbound.Pending {
		v.State, v.Reason = outbound.Cancelled, r.jobs[0].command.why
	}
	main := &r.e.main
	if r.isCommanded() && v.State == outbound.Delivered && main.mustSend(c.waiting) {
		main.recordDelivered(c, a)
		defer main.schedule()
	}
	switch {
	case r.isCommanded() && v.State == outbound.Failed && main.mustSend(c.waiting):
		main.keep(c)
		r.forget(c, v.State)
	case v.State == outbound.Pending && !r.isCommanded() && r.delivered[c.at] != nil: // a command has delivered the event in the meantime
		again := *r.delivered[c.at].entry
		again.Delivery.Attempts = c.tries
		r.delivered[c.at].entry = &again
	case v.Passed:
		if !over { // otherwise, the command has canceled the delivery of the head
			r.end(r.head, outbound.Poison, "passed")
		}
		r.end(c, outbound.Delivered, "")
	case over && v.State == outbound.Cancelled:
		if !r.jobs[0].ended[c.at] {
			r.storeFinal(c, v.State, v.Reason)
		}
	case v.State != outbound.Pending && !probe:
		r.end(c, v.State, v.Reason)
	case r.isCommanded() && r.jobs[0].ended[c.at]: // the delivery keeps its state until it ends again
	default:
		r.storePending(c)
	}
	if !r.isCommanded() && v.State == outbound.Pending && r.e.paused() {
		// Nothing is sent until the endpoint is enabled again, so an alert is undelivered.
		r.e.h.askPeople = true
		r.e.h.consider()
	}
	if !r.isCommanded() && (failing || v.State != outbound.Delivered) {
		if !r.e.reportNotice(now, v) {
			r.e.write()
		}
		r.e.report()
	}
	r.schedule()
}

// kept returns the last attempts, at most MaxAttemptsKept.
func kept(all []sending.Attempt) []sending.Attempt {
	return all[max(0, len(all)-sending.MaxAttemptsKept):]
}

func (r *runner) line(w *waiting, a *sending.Attempt) {
	n := r.e.h.owner.n
	n.traced(r.traceparent(w)).Info("delivery attempt",
		"hospital", r.e.h.id, "endpoint", r.e.id, "host", r.e.host,
		"delivery", r.deliveryID(w), "event", w.Event.Event, "attempt", a.N,
		"class", a.Class, "status", a.Status, "ms", a.Took.Milliseconds(), "next_at", r.queue.NextAt)
}
