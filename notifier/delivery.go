package notifier

import (
	"cmp"
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// chosen is an event that a queue has begun to send, with the attempts so far.
type chosen struct {
	*waiting
	tries  []sending.Attempt
	record int64 // ledger offset of its pending delivery; nothing: none
}

// addRetry adds an attempt that a retry has made.
func (c *chosen) addRetry(a sending.Attempt) {
	a.N = nextAttempt(c.tries)
	c.tries = kept(append(slices.Clip(c.tries), a))
}

// recorded is a webhook delivery as its last record describes it.
type recorded struct {
	entry *outbound.Entry
	at    int64 // ledger offset of the record; nothing: not known yet
}

func byPosition(a, b *recorded) int { return cmp.Compare(a.entry.Position, b.entry.Position) }

// mustSend reports whether the main queue still has to send an event.
func (r *runner) mustSend(w *waiting) bool {
	return w.at > r.queue.Cursor && !r.e.gone && r.wants(r.hook, w)
}

// recordDelivered records that the attempt a of a command has delivered an event that the main queue still has to send.
// It adds the attempts of the main queue to c, whose final state is stored next.
func (r *runner) recordDelivered(c *chosen, a sending.Attempt) {
	d := &recorded{at: nothing}
	r.delivered[c.at] = d
	for _, own := range []*chosen{r.head, r.probe} {
		if own != nil && own.at == c.at {
			own.addRetry(a)
			c.tries, d.at = own.tries, own.record
		}
	}
	r.resumed = slices.DeleteFunc(r.resumed, func(p *recorded) bool {
		if p.entry.Position != c.at {
			return false
		}
		c.tries, d.at = p.entry.Delivery.Attempts, p.at
		c.addRetry(a)
		return true
	})
}

// keep adds the failed attempt of a retry to a delivery that the queue still has to send. The delivery stays pending,
// because the queue has not given up and may have made another attempt in the meantime.
func (r *runner) keep(c *chosen) {
	a := c.tries[len(c.tries)-1]
	for _, own := range []*chosen{r.head, r.probe} {
		if own != nil && own.at == c.at {
			own.addRetry(a)
			c = own
		}
	}
	for i, p := range r.resumed {
		if p.entry.Position == c.at {
			c = &chosen{c.waiting, p.entry.Delivery.Attempts, p.at}
			c.addRetry(a)
			r.resumed[i] = r.storePending(c)
			return
		}
	}
	r.storePending(c)
}

// end stores the final state of the head or the probe. If there was a probe, end makes it the new head.
func (r *runner) end(c *chosen, state outbound.State, reason string) {
	r.storeFinal(c, state, reason)
	r.forget(c, state)
}

// forget removes the head or the probe, whose state is final. If there was a probe, forget makes it the new head.
func (r *runner) forget(c *chosen, state outbound.State) {
	if r.head, r.probe = r.probe, nil; r.head == c {
		r.head = nil
	}
	if r.isCommanded() {
		r.jobs[0].countEnded(c.waiting, state)
	}
}

// storeFinal stores the final state of a delivery. If a command has made the delivery for the main queue, the delivery
// stays delivered, and is not counted and reported again.
func (r *runner) storeFinal(c *chosen, state outbound.State, reason string) {
	byCommand := r.e.main.delivered[c.at]
	again := byCommand != nil && !r.isCommanded()
	if again {
		state, reason = outbound.Delivered, ""
	}
	d := r.delivery(c)
	d.State, d.Reason = state, reason
	for _, queue := range r.e.commandQueues() {
		for _, j := range queue.jobs {
			j.recordEnd(c)
		}
	}
	for _, command := range r.e.h.orders {
		delete(command.pending, d.ID)
	}
	if !r.isCommanded() {
		r.count(-1)
	}
	e := &outbound.Entry{Delivery: d, Position: c.at}
	if again {
		r.save(e, func(int64) { delete(r.delivered, c.at) })
		return
	}
	var stored func(at int64)
	if byCommand != nil && state == outbound.Delivered {
		byCommand.entry = e
		stored = func(at int64) { byCommand.at = at }
	}
	r.save(e, stored)
	r.e.h.owner.n.cfg.Metrics.Ended(subscriber.ChannelWebhook, state)
	r.e.h.reportEnd(e)
}

// storePending stores a delivery that is not final, and returns it.
func (r *runner) storePending(c *chosen) *recorded {
	d := r.delivery(c)
	d.State, d.NextAttemptAt = outbound.Pending, r.queue.NextAt
	if !r.isCommanded() && r.e.paused() {
		d.NextAttemptAt = time.Time{} // unknown while the endpoint is paused
	}
	p := &recorded{&outbound.Entry{Delivery: d, Position: c.at}, c.record}
	if r.isCommanded() {
		r.jobs[0].command.pending[d.ID] = p
	}
	r.save(p.entry, func(at int64) { p.at, c.record = at, at })
	return p
}

// delivery returns the delivery of an event to the endpoint.
func (r *runner) delivery(c *chosen) outbound.Delivery {
	return outbound.Delivery{
		ID: r.deliveryID(c.waiting), Hospital: c.Hospital, EventID: c.ID, Event: c.Event.Event, Channel: subscriber.ChannelWebhook,
		EndpointID: r.e.id, OccurredAt: c.OccurredAt, Attempts: c.tries,
	}
}

func (r *runner) deliveryID(w *waiting) string {
	return event.DeliveryID(w.ID, r.e.id, subscriber.ChannelWebhook)
}

func (r *runner) save(e *outbound.Entry, then func(at int64)) {
	e.Term = r.e.h.owner.number
	if r.isCommanded() {
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

// cancel ends a pending delivery that is not the head or the probe of a queue.
func (h *hospital) cancel(p *recorded, reason string) {
	e := h.storeCancelled(p.entry, reason)
	h.owner.n.cfg.Metrics.Ended(subscriber.ChannelWebhook, outbound.Cancelled)
	h.reportEnd(e)
}

// storeCancelled stores that a pending delivery is canceled, but does not report it. The process may die during an
// attempt, whose result is otherwise stored and reported when the attempt ends.
func (h *hospital) storeCancelled(pending *outbound.Entry, reason string) *outbound.Entry {
	e := *pending
	e.Term = h.owner.number
	e.Delivery.State, e.Delivery.Reason, e.Delivery.NextAttemptAt = outbound.Cancelled, reason, time.Time{}
	h.owner.n.cfg.Lists.Delivery(&e)
	h.owner.append(&e, nil)
	return &e
}

// reportEnd passes the final state of an alert to a webhook to [People].
func (h *hospital) reportEnd(e *outbound.Entry) {
	if h.owner.n.cfg.People == nil || e.Delivery.Event != outbound.Alert {
		return
	}
	h.ended = append(h.ended, ended{h.owner.end, endOfAlert(e)})
	h.consider()
}

// endOfAlert returns what [People] needs of the final record of an alert to a webhook. It does not end the command that
// caused the delivery, and omits the attempts, because there may be many such records.
func endOfAlert(e *outbound.Entry) outbound.Entry {
	one := *e
	one.Command, one.Delivery.Attempts = "", nil
	return one
}
