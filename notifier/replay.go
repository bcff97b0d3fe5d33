package notifier

import (
	"slices"

	"svc/internal/outbound"
	"svc/notifier/endpointqueue"
	"svc/notifier/event"
)

// job is the part of a command that a second queue does: it sends some events again.
type job struct {
	command *command
	once    bool                         // one attempt each
	tries   map[int64][]outbound.Attempt // earlier attempts of its events, by ledger offset of the event
	stopped bool

	events  []*waiting // in memory
	list    []int64    // ledger offsets of the events behind those
	reading bool
}

// replay sends a window of events again.
func (c *command) replay() {
	h, o := c.h, c.order.Command
	e := h.endpoints[o.Endpoint]
	hook, ok := h.t.n.cfg.Settings.Webhook(h.id, o.Endpoint)
	if e == nil || !ok {
		c.finish(reasonEndpoint)
		return
	}
	wanted := o.Events
	if len(wanted) == 0 {
		wanted = hook.Events
	}
	cursor, ids := e.main.queue.Cursor, map[string]bool{}
	var list []int64
	at := map[string]int64{} // by delivery
	states := map[string]outbound.State{}
	tries := map[int64][]outbound.Attempt{}
	c.scan(o.Since, func(offset int64, entry any) {
		switch x := entry.(type) {
		case *outbound.Event:
			w := &waiting{Event: x, at: offset}
			in := !x.OccurredAt.Before(o.Since) && (o.Until.IsZero() || x.OccurredAt.Before(o.Until))
			// Events behind the cursor wait in the main queue anyway.
			if x.Hospital == h.id && x.Command == "" && in && offset <= cursor && !ids[x.ID] && offset > c.order.Position &&
				(x.Only == nil || slices.Contains(x.Only, hook.ID)) && subscribed(hook, wanted, w) {
				ids[x.ID] = true
				list = append(list, offset)
				at[event.DeliveryID(x.ID, e.id, outbound.ChannelWebhook)] = offset
			}
		case *outbound.Entry:
			if x.Delivery.EndpointID == e.id && (x.Delivery.State != outbound.Pending || states[x.Delivery.ID] == "") {
				if states[x.Delivery.ID] != outbound.Delivered {
					states[x.Delivery.ID] = x.Delivery.State
				}
			}
			if place, ours := at[x.Delivery.ID]; ours {
				tries[place] = x.Delivery.Attempts
			}
		}
	}, func() {
		drop := map[int64]bool{}
		for id, offset := range at {
			state := states[id]
			switch o.Only {
			case outbound.SelectFailed:
				drop[offset] = state == outbound.Delivered || state == outbound.Pending || state == ""
			case outbound.SelectMissing:
				drop[offset] = state == outbound.Delivered
			case outbound.SelectAll:
			}
			if drop[offset] {
				delete(tries, offset)
			}
		}
		list = slices.DeleteFunc(list, func(offset int64) bool { return drop[offset] })
		c.order.Progress.Count = len(list) + c.order.Progress.Delivered + c.order.Progress.Failed
		if h.endpoints[o.Endpoint] != e || len(list) == 0 || o.DryRun {
			c.finish("")
			return
		}
		c.write()
		e.addJob(&job{command: c, tries: tries, list: list})
	})
}

// addJob gives a job to the second queue.
func (e *endpoint) addJob(j *job) {
	if e.gone {
		j.command.finish(deleted)
		return
	}
	if e.second == nil {
		e.second = &runner{e: e}
	}
	e.second.jobs = append(e.second.jobs, j)
	if !e.second.busy {
		e.second.schedule()
	}
}

// nextOfJob returns the event behind another one in the jobs' lists.
func (r *runner) nextOfJob(before *waiting) *waiting {
	for len(r.jobs) > 0 {
		j := r.jobs[0]
		if j.stopped || j.command.over || len(j.events) == 0 && len(j.list) == 0 {
			if before != nil {
				return nil
			}
			if !j.command.over {
				j.command.finish("")
			}
			r.jobs = r.jobs[1:]
			r.queue = endpointqueue.Queue{Slow: r.queue.Slow}
			r.e.h.t.n.timers.stop(&r.timer)
			continue
		}
		for _, w := range j.events {
			if before == nil || w.at > before.at {
				return w
			}
		}
		if before == nil {
			j.read(r)
		}
		return nil
	}
	return nil
}

// read reads the next few events of the job from the ledger.
func (j *job) read(r *runner) {
	if j.reading {
		return
	}
	j.reading = true
	t := r.e.h.t
	some := j.list[:min(len(j.list), keepBacklog)]
	last := some[len(some)-1]
	t.n.readAside(func() {
		list, _, err := t.n.events(t.saving, t.partition, r.e.h.id, some[0], func(at int64, _ int) bool { return at <= last })
		t.n.post(func() {
			j.reading = false
			if t.gone {
				return
			}
			if err != nil {
				j.stopped = true
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

// ended counts a finished delivery of the job.
func (j *job) ended(w *waiting, state outbound.State) {
	j.events = slices.DeleteFunc(j.events, func(x *waiting) bool { return x == w })
	delete(j.tries, w.at)
	c := j.command
	c.countEnd(state)
	c.order.Position = max(c.order.Position, w.at)
	if !c.over && len(j.events)+len(j.list) > 0 && c.h.t.n.clock.readTime().Sub(c.written) >= progressEvery {
		c.write()
	}
}
