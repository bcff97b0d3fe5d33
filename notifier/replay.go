package notifier

import (
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// job is the part of a command that a queue executes: sending some events again, or a test event.
type job struct {
	command *command
	once    bool                        // whether each event gets only one attempt
	tries   map[int64][]sending.Attempt // earlier attempts to send its events, by ledger offset of the event
	ended   map[int64]bool              // whether the delivery of an event had a final state before the command, by ledger offset

	events []*waiting // events in memory
	list   []int64    // ledger offsets of the events that follow those in events
}

// replay sends events of a time window again. It leaves out events that the main queue will send anyway.
func (c *command) replay() {
	h, o := c.h, c.order.Command
	e := h.endpoints[o.Endpoint]
	hook, ok := h.owner.n.cfg.Settings.Webhook(h.id, o.Endpoint)
	if e == nil || !ok {
		c.finish(reasonEndpoint)
		return
	}
	wanted := o.Events
	if len(wanted) == 0 {
		wanted = hook.Events
	}
	cursor, from := e.main.queue.Cursor, c.order.Position
	var all []*replayed // in ledger order
	byDelivery := map[string]*replayed{}
	c.scan(o.Since, func(offset int64, entry any) {
		switch x := entry.(type) {
		case *outbound.Event:
			id := event.DeliveryID(x.ID, e.id, subscriber.ChannelWebhook)
			in := !x.OccurredAt.Before(o.Since) && (o.Until.IsZero() || x.OccurredAt.Before(o.Until))
			waits := offset > cursor && wants(hook, &waiting{Event: x})
			if x.Hospital == h.id && x.Command == "" && in && !waits && offset > from && byDelivery[id] == nil &&
				(x.Only == nil || slices.Contains(x.Only, hook.ID)) && subscribed(hook, wanted, x) {
				byDelivery[id] = &replayed{offset: offset}
				all = append(all, byDelivery[id])
			}
		case *outbound.Entry:
			one := byDelivery[x.Delivery.ID]
			if one == nil {
				return
			}
			one.tries = x.Delivery.Attempts
			if one.state != outbound.Delivered && (one.state == "" || x.Delivery.State != outbound.Pending) {
				one.state = x.Delivery.State
			}
		}
	}, func() {
		j := &job{command: c, tries: map[int64][]sending.Attempt{}, ended: map[int64]bool{}}
		for _, one := range all {
			if one.selected(o.Only) {
				j.list, j.tries[one.offset] = append(j.list, one.offset), one.tries
				j.ended[one.offset] = one.state != outbound.Pending && one.state != ""
			}
		}
		c.order.Progress.Count = len(j.list) + c.order.Progress.Delivered + c.order.Progress.Failed
		switch {
		case h.endpoints[o.Endpoint] != e:
			c.finish(deleted)
			return
		case len(j.list) == 0 || o.DryRun:
			c.finish("")
			return
		}
		c.write()
		e.addJob(&e.retries, j)
	})
}

// replayed is an event within the window of a replay, with its delivery to the endpoint.
type replayed struct {
	offset int64          // ledger offset of the event
	state  outbound.State // Delivered if the event was ever delivered; "" if it has not been sent yet
	tries  []sending.Attempt
}

// selected reports whether a replay with this selection sends the event again.
func (r *replayed) selected(only outbound.Selection) bool {
	switch only {
	case outbound.SelectFailed:
		return r.state != outbound.Delivered && r.state != outbound.Pending && r.state != ""
	case outbound.SelectMissing:
		return r.state != outbound.Delivered
	case outbound.SelectAll:
	}
	return true
}

// addJob adds a job to a queue of the endpoint, which it creates if necessary.
func (e *endpoint) addJob(queue **runner, j *job) {
	if e.gone {
		j.command.finish(deleted)
		return
	}
	if *queue == nil {
		*queue = &runner{e: e}
	}
	(*queue).jobs = append((*queue).jobs, j)
	j.command.queue = *queue
	(*queue).schedule()
}

// nextOfJob returns the next event of the first job: if before is nil, the job's first event, and otherwise the event
// that follows the event in before. The result is nil if there is no such event or if events are still being read.
func (r *runner) nextOfJob(before *waiting) *waiting {
	for len(r.jobs) > 0 {
		j := r.jobs[0]
		if j.command.over || len(j.events) == 0 && len(j.list) == 0 {
			if before != nil {
				return nil
			}
			j.command.finish("")
			r.jobs = r.jobs[1:]
			r.queue.Reset()
			if r == r.e.tests {
				r.queue.NextAt = time.Time{} // a person waits for the next test
			}
			r.e.h.owner.n.timers.stop(&r.timer)
			continue
		}
		for _, w := range j.events {
			if before == nil || w.at > before.at {
				return w
			}
		}
		if len(j.list) > 0 { // the event after the last one in memory may be needed for a probe
			j.read(r)
		}
		return nil
	}
	return nil
}

// read reads the next events of the job from the ledger.
func (j *job) read(r *runner) {
	if r.reading {
		return
	}
	r.reading = true
	owner := r.e.h.owner
	some := j.list[:min(len(j.list), keepBacklog)]
	last := some[len(some)-1]
	owner.n.readConcurrently(func() {
		list, _, err := owner.n.readEvents(owner.saving, owner.partition, r.e.h.id, some[0], nil, func(at int64, _ int) bool {
			return at <= last
		})
		owner.n.post(func() {
			r.reading = false
			if owner.gone {
				return
			}
			if err != nil {
				j.command.finish(reasonLedger)
			} else {
				j.list = j.list[len(some):]
				for _, w := range list {
					if _, ours := slices.BinarySearch(some, w.at); ours {
						j.events = append(j.events, w)
					}
				}
			}
			r.schedule()
		})
	})
}

// recordEnd records that a delivery has ended, for whatever reason, if its event belongs to the job.
func (j *job) recordEnd(c *chosen) {
	if _, ours := j.tries[c.at]; ours {
		j.tries[c.at] = c.tries
	}
	if _, ours := j.ended[c.at]; ours {
		j.ended[c.at] = true
	}
}

// countEnded counts a delivery of the job whose state has become final.
func (j *job) countEnded(w *waiting, state outbound.State) {
	j.events = slices.DeleteFunc(j.events, func(x *waiting) bool { return x == w })
	delete(j.tries, w.at)
	delete(j.ended, w.at)
	c := j.command
	c.countEnd(state)
	c.order.Position = max(c.order.Position, w.at)
	if !c.over && len(j.events)+len(j.list) > 0 && c.h.owner.n.clock.readTime().Sub(c.written) >= progressEvery {
		c.write()
	}
}
