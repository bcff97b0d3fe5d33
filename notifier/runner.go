package notifier

import (
	"math/rand/v2"
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/endpointqueue"
	"svc/notifier/event"
)

// runner sends the events of one queue sequentially. The main runner sends the hospital's events after its cursor;
// the second runner sends the events of its jobs.
type runner struct {
	e     *endpoint
	hook  *subscriber.Webhook // settings that the last attempt used
	queue endpointqueue.Queue
	timer timer

	busy    bool // whether an attempt is in flight
	queued  bool // whether the attempt waits in notifier.queue
	unsaved int  // number of outcomes that the ledger has not acknowledged

	head       *waiting // the next event to finish; nil: not picked yet
	tries      []sending.Attempt
	probe      *waiting // the event after the head, sent while the head fails
	probeTries []sending.Attempt

	resumed *outbound.Entry // record of the delivery that was pending before the restart; nil: none, or picked

	own     []*waiting // events read back from the ledger, older than those in memory
	readTo  int64      // ledger offset up to which own is complete
	ahead   *waiting   // event for a probe that a search of the ledger has found; nil: none
	aheadTo int64      // ledger offset up to which that search has found no other event
	reading bool
	backlog int // number of waiting events, approximate

	jobs []*job // only for the second runner
}

func (r *runner) second() bool { return r != &r.e.main }

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
	if r.busy || r.queued || owner.stopping || r.e.gone || r.unsaved >= n.cfg.Limits.Unsaved {
		return
	}
	hook, ok := n.cfg.Settings.Webhook(r.e.h.id, r.e.id)
	if !ok || !r.second() && r.e.paused() {
		n.timers.stop(&r.timer)
		return
	}
	r.hook = hook
	for r.unsaved < n.cfg.Limits.Unsaved {
		w := r.pick()
		if w == nil {
			n.timers.stop(&r.timer)
			return
		}
		now := n.clock.readTime()
		if until := r.until(w); w == r.head && r.queue.Expired(now, until) {
			r.queue.Skip(w.at)
			r.end(w, r.tries, outbound.Expired, "late")
			continue
		}
		if due := r.queue.Due(r.rate()); due.After(now) {
			n.timers.set(&r.timer, due, r.schedule)
			return
		}
		n.timers.stop(&r.timer)
		r.queued = true
		n.queue.add(r.attempt(w))
		return
	}
}

func (r *runner) rate() float64 {
	if r.second() {
		return r.hook.RatePerSecond / 2 // half the rate, in addition to the full rate of the main queue
	}
	return r.hook.RatePerSecond
}

// until returns the instant at which an event expires.
func (r *runner) until(w *waiting) time.Time {
	if r.second() {
		return r.jobs[0].command.order.Command.At.Add(endpointqueue.Expiry)
	}
	return w.OccurredAt.Add(endpointqueue.Expiry)
}

// attempt returns a task that sends an event.
func (r *runner) attempt(w *waiting) *task {
	var began time.Time
	return &task{
		ownership: r.e.h.owner, host: r.e.host, slow: r.queue.Slow, channel: subscriber.ChannelWebhook,
		message: func() (sending.Message, bool) {
			n := r.e.h.owner.n
			hook, ok := n.cfg.Settings.Webhook(r.e.h.id, r.e.id)
			if !ok || r.e.gone || w != r.head && w != r.probe || !r.wants(hook, w) || !r.second() && r.e.paused() {
				return sending.Message{}, false
			}
			r.hook, r.queued, r.busy = hook, false, true
			began = n.clock.readTime()
			r.queue.Begin(began, r.rate())
			return sending.Message{
				Traceparent: r.traceparent(w),
				Hospital:    r.e.h.id, DeliveryID: r.deliveryID(w), EventID: w.ID, Event: w.Event.Event,
				Attempt: nextAttempt(r.triesOf(w)), Webhook: hook, Body: w.Body,
			}, true
		},
		dropped: func() {
			r.queued = false
			r.schedule()
		},
		ended: func(result sending.Result) { r.handleResult(w, began, result) },
	}
}

// traceparent returns the trace of an attempt, or "" if a command caused the attempt, because such an attempt belongs
// to no request.
func (r *runner) traceparent(w *waiting) string {
	if r.second() {
		return ""
	}
	return w.Traceparent
}

// triesOf returns the attempts of the head or of the probe.
func (r *runner) triesOf(w *waiting) []sending.Attempt {
	if w == r.head {
		return r.tries
	}
	return r.probeTries
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
func (r *runner) handleResult(w *waiting, began time.Time, result sending.Result) {
	r.busy = false
	owner := r.e.h.owner
	n := owner.n
	if owner.gone || r.second() && len(r.jobs) == 0 {
		return
	}
	now := n.clock.readTime()
	failing := !r.queue.FailingSince.IsZero()
	probe, tries := w != r.head, r.triesOf(w)
	a := attemptOf(tries, began, &result)
	v := r.queue.End(now, w.at, r.until(w), result, rand.Float64()) //nolint:gosec // only for jitter
	n.cfg.Metrics.Attempt(subscriber.ChannelWebhook, result.Class, result.Took, traceID(r.traceparent(w)))
	r.line(w, &a)
	if result.Class == sending.ClassInterrupted {
		r.schedule()
		return
	}
	if r.e.gone && v.State == outbound.Pending {
		v.State, v.Reason = outbound.Cancelled, deleted
	}
	if r.second() && r.jobs[0].once && v.State == outbound.Pending {
		v.State, v.Reason = outbound.Failed, string(result.Class)
		r.queue.Skip(w.at)
	}
	if r.second() && result.Class == sending.ClassGone {
		r.jobs[0].command.finish(endpointqueue.Gone)
	}
	tries = kept(append(tries, a))
	if probe {
		r.probeTries = tries
	} else {
		r.tries = tries
	}
	main := &r.e.main
	if o := main.resumed; r.second() && o != nil && o.Position == w.at { // the queue need not read the event again
		main.head, main.tries, main.resumed = w, o.Delivery.Attempts, nil
	}
	switch {
	case r.second() && v.State == outbound.Failed && main.mustSend(w):
		main.keep(w, tries)
		r.forget(w, v.State)
	case r.second() && v.State == outbound.Delivered && main.head != nil && main.head.at == w.at && !main.busy:
		main.queue.Skip(w.at)
		main.end(main.head, withRetry(main.tries, a), v.State, "")
		r.forget(w, v.State)
		main.schedule()
	case v.Passed:
		r.end(r.head, r.tries, outbound.Poison, "passed")
		r.end(w, r.tries, outbound.Delivered, "")
	case probe && r.e.gone:
		r.end(r.head, r.tries, outbound.Cancelled, deleted)
		r.end(w, tries, v.State, v.Reason)
	case v.State != outbound.Pending && !probe:
		r.end(w, tries, v.State, v.Reason)
	default:
		r.storePending(w, tries)
	}
	if v.State == outbound.Delivered {
		n.cfg.Metrics.Accepted(now.Sub(w.OccurredAt), traceID(r.traceparent(w)))
	}
	if !r.second() && !r.e.gone {
		if failing || v.State != outbound.Delivered {
			if !r.e.reportNotice(now, v) {
				r.e.write()
			}
			r.e.report()
		}
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

// mustSend reports whether the queue still has to send an event that a retry has sent.
func (r *runner) mustSend(w *waiting) bool {
	return w.Command == "" && w.at > r.queue.Cursor && !r.e.gone
}

// keep adds the failed attempt of a retry to a delivery that the queue still has to send. The delivery stays pending,
// because the queue has not given up. tries are the attempts that the retry knows of.
func (r *runner) keep(w *waiting, tries []sending.Attempt) {
	a := tries[len(tries)-1]
	switch {
	case r.head != nil && r.head.at == w.at:
		w, r.tries = r.head, withRetry(r.tries, a)
		tries = r.tries
	case r.probe != nil && r.probe.at == w.at:
		w, r.probeTries = r.probe, withRetry(r.probeTries, a)
		tries = r.probeTries
	}
	r.storePending(w, tries)
}

// withRetry adds the attempt of a retry to the attempts of a queue, which may have made another one in the meantime.
func withRetry(tries []sending.Attempt, a sending.Attempt) []sending.Attempt {
	a.N = nextAttempt(tries)
	return kept(append(slices.Clip(tries), a))
}

// end stores the final state of the head or the probe. If there was a probe, end makes it the new head.
func (r *runner) end(w *waiting, tries []sending.Attempt, state outbound.State, reason string) {
	r.storeFinal(w, tries, state, reason)
	r.forget(w, state)
}

// forget removes the head or the probe, whose state is final. If there was a probe, forget makes it the new head.
func (r *runner) forget(w *waiting, state outbound.State) {
	r.head, r.tries = r.probe, r.probeTries
	if r.head == w {
		r.head, r.tries = nil, nil
	}
	r.probe, r.probeTries = nil, nil
	if r.second() {
		r.jobs[0].countEnded(w, state)
	}
}

// storeFinal stores the final state of a delivery.
func (r *runner) storeFinal(w *waiting, tries []sending.Attempt, state outbound.State, reason string) {
	d := r.delivery(w)
	d.State, d.Reason, d.Attempts = state, reason, tries
	r.e.h.owner.n.cfg.Metrics.Ended(subscriber.ChannelWebhook, state)
	if !r.second() {
		r.count(-1)
		r.e.openAt = -1
	}
	r.save(&outbound.Entry{Delivery: d, Position: w.at}, nil)
}

// storePending stores a delivery that is not final.
func (r *runner) storePending(w *waiting, tries []sending.Attempt) {
	d := r.delivery(w)
	d.State, d.NextAttemptAt, d.Attempts = outbound.Pending, r.queue.NextAt, tries
	if !r.second() && r.e.paused() {
		d.NextAttemptAt = time.Time{} // unknown while the endpoint is paused
	}
	head := w == r.head
	r.save(&outbound.Entry{Delivery: d, Position: w.at}, func(at int64) {
		if head && r.head == w && !r.second() {
			r.e.openAt = at
		}
	})
}

// delivery returns the delivery of an event to the endpoint.
func (r *runner) delivery(w *waiting) outbound.Delivery {
	return outbound.Delivery{
		ID: r.deliveryID(w), Hospital: w.Hospital, EventID: w.ID, Event: w.Event.Event, Channel: subscriber.ChannelWebhook,
		EndpointID: r.e.id, OccurredAt: w.OccurredAt,
	}
}

func (r *runner) deliveryID(w *waiting) string {
	return event.DeliveryID(w.ID, r.e.id, subscriber.ChannelWebhook)
}

func (r *runner) save(e *outbound.Entry, then func(at int64)) {
	e.Term = r.e.h.owner.number
	if r.second() {
		e.Command = r.jobs[0].command.order.Command.ID
	}
	r.unsaved++
	r.e.h.owner.n.cfg.Lists.Delivery(e)
	r.e.h.owner.append(e, func(at int64) {
		r.unsaved--
		if then != nil {
			then(at)
		}
		r.schedule()
	})
}
