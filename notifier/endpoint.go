package notifier

import (
	"maps"
	"net/url"
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/endpointqueue"
)

// deleted is the reason in the last record of a queue whose endpoint has been removed.
const deleted = "deleted"

// endpoint is one webhook of a hospital. It has a main queue, and two more once commands need them: one for retries and
// replays, which may take hours, and one for tests, whose result a person waits for.
type endpoint struct {
	h       *hospital
	id      string
	host    string
	version int64 // version of the settings that are in use
	gone    bool
	enabled bool

	main    runner
	retries *runner
	tests   *runner

	recordAt      int64 // ledger offset of the queue's record
	recordSet     time.Time
	deliveriesSet time.Time // when rewriteDeliveries was last called
	reported      outbound.Health
}

// newEndpoint returns an endpoint with its state from the ledger. If known is nil, the ledger has no state for the
// endpoint, and its queue starts with the first event after its creation, because the notifier may learn of the
// endpoint later than of that event.
func newEndpoint(h *hospital, hook *subscriber.Webhook, known *foldedEndpoint) *endpoint {
	now := h.owner.n.clock.readTime()
	e := &endpoint{h: h, id: hook.ID, recordAt: h.owner.end, deliveriesSet: now}
	e.main.e, e.main.hook, e.main.delivered = e, hook, map[int64]*recorded{}
	if known == nil {
		e.main.queue.Cursor = -1
		e.write()
		return e
	}
	r := &known.record
	e.main.queue = endpointqueue.Queue{
		Cursor: r.Cursor, NextAt: r.NextAt, FailingSince: r.FailingSince, Failures: r.Failures,
		Disabled: r.Disabled, Noticed: endpointqueue.Notice(r.Noticed), //nolint:gosec // the ledger has only valid notices
	}
	e.version = r.Version
	if e.recordAt = known.at; known.at < 0 { // the record precedes the part of the ledger that was read, so the state is stored again
		e.write()
	}
	e.recordSet = now
	for at, d := range known.delivered {
		if at > r.Cursor {
			e.main.delivered[at] = d
			delete(known.open, at)
		}
	}
	var attempts []sending.Attempt
	var position int64
	if head := known.head(); head != nil {
		position, attempts = head.entry.Position, head.entry.Delivery.Attempts
	}
	e.main.queue.Resume(now, position, attempts)
	e.main.resumed = slices.SortedFunc(maps.Values(known.open), byPosition)
	for _, w := range h.after(r.Cursor) {
		if wants(hook, w) {
			e.main.count(1)
		}
	}
	return e
}

// updateSettings applies new settings to the endpoint.
func (e *endpoint) updateSettings(hook *subscriber.Webhook) {
	wasPaused := e.paused()
	e.host = ""
	if u, err := url.Parse(hook.URL); err == nil {
		e.host = u.Host
	}
	e.enabled = hook.Enabled
	if hook.Version > e.version && hook.Enabled && e.main.queue.Disabled != "" {
		e.main.queue.Enable(e.h.owner.n.clock.readTime())
		e.version = hook.Version
		e.write()
	}
	if e.main.queue.Disabled == "" {
		e.version = hook.Version
	}
	if r := &e.main; e.paused() != wasPaused && r.sending == nil && r.head != nil && len(r.head.tries) > 0 {
		r.storePending(r.head) // the time of the next attempt has changed
	}
	e.main.schedule()
	e.report()
}

// paused reports whether the main queue sends nothing, because an administrator has turned the endpoint off or
// because the queue is disabled.
func (e *endpoint) paused() bool { return !e.enabled || e.main.queue.Disabled != "" }

// remove ends the queues permanently: an attempt in flight finishes, and pending events are canceled.
func (e *endpoint) remove() {
	e.gone = true
	done := slices.Collect(maps.Keys(e.main.delivered)) // offsets of events whose records contain attempts
	e.h.owner.n.timers.stop(&e.main.timer)
	for _, c := range []*chosen{e.main.head, e.main.probe} {
		switch {
		case c == nil:
			continue
		case c != e.main.sending:
			e.main.storeFinal(c, outbound.Cancelled, deleted)
		case e.main.delivered[c.at] == nil:
			e.h.storeCancelled(&outbound.Entry{Delivery: e.main.delivery(c), Position: c.at}, deleted)
		}
		done = append(done, c.at)
	}
	e.main.head, e.main.probe = nil, nil
	for _, r := range e.commandQueues() {
		e.h.owner.n.timers.stop(&r.timer)
		for _, j := range r.jobs {
			j.command.finish(deleted)
		}
	}
	for _, p := range e.main.resumed {
		done = append(done, p.entry.Position)
	}
	e.main.cancelResumed(nothing, deleted)
	for _, w := range e.h.after(e.main.queue.Cursor) {
		if !slices.Contains(done, w.at) && wants(e.main.hook, w) {
			e.main.storeFinal(&chosen{waiting: w}, outbound.Cancelled, deleted)
		}
	}
	e.main.count(-e.main.backlog)
	e.main.dropRead(nothing)
	e.main.queue.Disabled = deleted
	e.write()
}

// write stores the state of the main queue. The cursor of an idle queue moves to the known end of the ledger, so that
// a restore that starts there needs no earlier events.
func (e *endpoint) write() {
	l := &e.main.queue
	from := nothing
	if e.main.idle() {
		from = e.h.owner.end
		l.Cursor = max(l.Cursor, from-1)
	}
	e.recordSet = e.h.owner.n.clock.readTime()
	e.h.owner.append(&outbound.EndpointQueue{
		Hospital: e.h.id, Endpoint: e.id, Cursor: l.Cursor, NextAt: l.NextAt, FailingSince: l.FailingSince, Failures: l.Failures,
		Disabled: l.Disabled, Version: e.version, Noticed: int(l.Noticed), Term: e.h.owner.number,
	}, func(at int64) { e.recordAt = min(at, from) })
}

// low returns the oldest ledger offset that a restore needs for the main queue.
func (e *endpoint) low() int64 {
	least := e.recordAt
	for _, c := range []*chosen{e.main.head, e.main.probe} {
		if c != nil {
			least = min(least, c.record)
		}
	}
	for _, p := range e.main.resumed {
		least = min(least, p.at)
	}
	for _, d := range e.main.delivered {
		least = min(least, d.at)
	}
	return least
}

// rewriteDeliveries appends the records of the main queue's deliveries to the ledger again, so that a restore can start
// at a later offset although the endpoint is disabled or has been failing for a long time.
func (e *endpoint) rewriteDeliveries(now time.Time) {
	e.deliveriesSet = now
	r := &e.main
	for _, c := range []*chosen{r.head, r.probe} {
		if c != nil && c.record != nothing && c != r.sending && r.delivered[c.at] == nil {
			r.storePending(c)
		}
	}
	for _, d := range slices.SortedFunc(maps.Values(r.delivered), byPosition) {
		e.rewriteRecord(d)
	}
	for _, p := range r.resumed {
		e.rewriteRecord(p)
	}
}

// rewriteRecord appends the last record of a delivery to the ledger again.
func (e *endpoint) rewriteRecord(d *recorded) {
	if d.entry == nil || d.at == nothing { // not stored yet
		return
	}
	again := *d.entry
	again.Term = e.h.owner.number
	e.h.owner.append(&again, func(at int64) { d.at = at })
}

// commandQueues returns the queues that send what commands request.
func (e *endpoint) commandQueues() (list []*runner) {
	for _, r := range []*runner{e.retries, e.tests} {
		if r != nil {
			list = append(list, r)
		}
	}
	return list
}

// report updates the health of the endpoint in the delivery lists.
func (e *endpoint) report() {
	l := &e.main.queue
	h := outbound.Health{Status: "active", FailingSince: l.FailingSince, Waiting: e.main.backlog}
	switch {
	case !e.enabled:
		h.Status = "disabled"
	case l.Disabled != "":
		h.Status, h.Reason = "disabled", l.Disabled
	case !l.FailingSince.IsZero():
		h.Status = "failing"
	}
	if h != e.reported && !e.gone {
		e.reported = h
		e.h.owner.n.cfg.Lists.Health(e.h.id, e.id, h)
	}
}

// reportNotice writes a notice about the endpoint to the log and passes it to [People]. It returns false if there is no
// notice or no [People]. Otherwise, applyStep stores the state of the queue after the messages about the notice, because
// the next owner of the partition must report the notice if this process dies first.
func (e *endpoint) reportNotice(now time.Time, v endpointqueue.Verdict) bool {
	n := e.h.owner.n
	switch v.Notice { //nolint:exhaustive // operators need not know about other notices
	case 0:
		return false
	case endpointqueue.Disabled:
		n.log.Warn("endpoint disabled", "hospital", e.h.id, "endpoint", e.id, "host", e.host, "reason", e.main.queue.Disabled)
	case endpointqueue.Recovered:
		n.log.Info("endpoint recovered", "hospital", e.h.id, "endpoint", e.id, "host", e.host)
	}
	if n.cfg.People == nil {
		return false
	}
	e.h.notices = append(e.h.notices, Notice{
		Endpoint: e.id, Host: e.host, Kind: v.Notice, Reason: e.main.queue.Disabled, At: now, Since: v.Since,
	})
	e.h.consider()
	return true
}

func (e *endpoint) close() {
	e.h.owner.n.timers.stop(&e.main.timer)
	for _, r := range e.commandQueues() {
		e.h.owner.n.timers.stop(&r.timer)
	}
	e.main.count(-e.main.backlog)
	e.main.dropRead(nothing)
}

// wants reports whether an endpoint receives an event.
func wants(hook *subscriber.Webhook, w *waiting) bool {
	switch {
	case w.Command != "":
		return false
	case w.Only != nil:
		return slices.Contains(w.Only, hook.ID)
	case w.OccurredAt.Before(hook.CreatedAt):
		return false
	}
	return subscribed(hook, hook.Events, w.Event)
}

// subscribed reports whether the name of the event e is in events and, if e is about a room, whether the endpoint
// includes that room.
func subscribed(hook *subscriber.Webhook, events []string, e *outbound.Event) bool {
	return slices.Contains(events, e.Event) && (e.Event != outbound.RoomRescored || hook.Rooms == nil || slices.Contains(hook.Rooms, e.RoomID))
}
