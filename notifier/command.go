package notifier

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// The reasons why a command fails.
const (
	reasonEndpoint = "no_endpoint"
	reasonDelivery = "no_delivery"
	reasonCommand  = "no_command"
	reasonVerb     = "unknown_verb"
	reasonLedger   = "ledger_unreadable"
	reasonStopped  = "stopped"
)

// progressEvery is how often a long command reports its progress.
const progressEvery = time.Second

// command is an administrator's command, such as a test or a retry, that is in progress.
type command struct {
	h       *hospital
	order   outbound.Order
	at      int64 // ledger offset of the command's record
	written time.Time
	over    bool
	queue   *runner              // queue that executes the command; nil: none yet
	why     string               // once the command is over: the reason of the deliveries that it cancels
	pending map[string]*recorded // webhook deliveries that the command has not ended, by id
}

func newCommand(h *hospital, at int64, o *outbound.Order) *command {
	return &command{h: h, order: *o, at: at, pending: map[string]*recorded{}}
}

// addCommand starts a new command.
func (h *hospital) addCommand(at int64, o *outbound.Order) {
	id := o.Command.ID
	if h.orders[id] != nil || h.done[id] {
		return
	}
	c := newCommand(h, at, o)
	h.orders[id] = c
	c.run()
}

func (c *command) run() {
	o := &c.order.Command
	p := &c.order.Progress
	p.ID, p.Hospital, p.Verb = o.ID, o.Hospital, o.Verb
	for i := range c.h.ended { // the process may have died between the end of the message and that of the command
		if e := &c.h.ended[i].entry; e.Command == o.ID {
			p.Count, p.Delivery = 1, e.Delivery.ID
			c.countEnd(e.Delivery.State)
			c.finish("")
			return
		}
	}
	switch o.Verb {
	case outbound.VerbTest:
		c.test()
	case outbound.VerbRetry:
		c.retry()
	case outbound.VerbReplay:
		c.replay()
	case outbound.VerbStop:
		c.stop()
	case outbound.VerbAck, outbound.VerbReceipt:
		if c.h.owner.n.cfg.People == nil {
			c.finish(reasonVerb)
			return
		}
		c.h.commands = append(c.h.commands, *o)
		c.h.consider()
	default:
		c.finish(reasonVerb)
	}
}

// write stores the progress of the command.
func (c *command) write() {
	n := c.h.owner.n
	c.written = n.clock.readTime()
	c.order.Term = c.h.owner.number
	c.order.Progress.UpdatedAt = c.written
	order := c.order
	n.cfg.Lists.Progress(order.Progress)
	c.h.owner.append(&order, func(at int64) {
		if !c.over {
			c.at = at
		}
	})
}

// countEnd counts a delivery of the command whose state has become final.
func (c *command) countEnd(state outbound.State) {
	if state == outbound.Delivered {
		c.order.Progress.Delivered++
	} else {
		c.order.Progress.Failed++
	}
}

// finish ends the command; a nonempty reason says why it failed. Deliveries that are still pending are canceled.
func (c *command) finish(reason string) {
	if c.over {
		return
	}
	c.over = true
	c.why = cmp.Or(reason, reasonStopped)
	if reason == reasonEndpoint {
		c.why = deleted
	}
	for _, p := range slices.SortedFunc(maps.Values(c.pending), byPosition) {
		if c.isSending(p) { // counted and reported when the attempt ends
			c.h.storeCancelled(p.entry, c.why)
		} else {
			c.h.cancel(p, c.why)
		}
	}
	c.pending = nil
	c.order.Progress.Done, c.order.Progress.Reason = true, reason
	c.order.Progress.Stopped = reason == reasonStopped
	delete(c.h.orders, c.order.Command.ID)
	c.h.done[c.order.Command.ID] = true
	c.write()
}

// isSending reports whether an attempt of the command to make a delivery is in flight.
func (c *command) isSending(d *recorded) bool {
	r := c.queue
	return r != nil && r.sending != nil && r.jobs[0].command == c && r.deliveryID(r.sending.waiting) == d.entry.Delivery.ID
}

// test sends a ping or a sample to an endpoint, or a test message to a recipient.
func (c *command) test() {
	o := &c.order.Command
	h := c.h
	n := h.owner.n
	c.order.Progress.Count = 1
	if o.Channel == subscriber.ChannelMail || o.Channel == subscriber.ChannelSMS {
		if n.cfg.People == nil {
			c.finish(reasonEndpoint)
			return
		}
		m, reason := n.cfg.People.Test(n.clock.readTime(), o)
		if reason != "" {
			c.finish(reason)
			return
		}
		c.order.Progress.Delivery = m.Delivery.ID
		h.post(&m, o.ID)
		return
	}
	e := h.endpoints[o.Endpoint]
	if e == nil {
		h.reconcile() // the command may arrive before the settings that it depends on
		if e = h.endpoints[o.Endpoint]; e == nil {
			c.finish(reasonEndpoint)
			return
		}
	}
	made, err := event.Test(o, h.level)
	if err != nil {
		c.finish("unknown_event")
		return
	}
	c.order.Progress.Delivery = event.DeliveryID(made.ID, e.id, subscriber.ChannelWebhook)
	made.Term = h.owner.number
	h.owner.append(&made, func(at int64) {
		e.addJob(&e.tests, &job{command: c, once: true, events: []*waiting{{Event: &made, at: at}}})
	})
}

// retry sends one delivery of a webhook, an e-mail or an SMS again.
func (c *command) retry() {
	h, o := c.h, c.order.Command
	c.order.Progress.Count, c.order.Progress.Delivery = 1, o.Delivery
	var found *outbound.Entry
	c.scan(o.Since, func(_ int64, entry any) {
		e, ok := entry.(*outbound.Entry)
		if !ok || e.Delivery.ID != o.Delivery || e.Delivery.Hospital != o.Hospital {
			return
		}
		if found != nil && len(e.Sealed) == 0 { // an entry written for a delivery receipt has no message text
			e.Sealed = found.Sealed
		}
		found = e
	}, func() {
		switch {
		case found == nil:
			c.finish(reasonDelivery)
		case found.Delivery.Channel != subscriber.ChannelWebhook:
			h.resend(found, c)
		case h.endpoints[found.Delivery.EndpointID] == nil:
			c.finish(reasonEndpoint)
		case found.Position < 0:
			c.finish(reasonDelivery)
		default:
			at := found.Position
			tries := map[int64][]sending.Attempt{at: found.Delivery.Attempts}
			e := h.endpoints[found.Delivery.EndpointID]
			e.addJob(&e.retries, &job{command: c, once: true, tries: tries, list: []int64{at}})
		}
	})
}

// scan reads the hospital's ledger entries in a separate goroutine and calls fn for each entry. It begins shortly
// before the instant since, or with the oldest entry if since is zero. Afterwards, the notifier's loop calls done, or
// ends the command as failed if the ledger could not be read. If the command or the ownership has ended by then, it
// does neither.
func (c *command) scan(since time.Time, fn func(at int64, entry any), done func()) {
	owner := c.h.owner
	go func() {
		var from int64
		var err error
		if !since.IsZero() {
			from, err = owner.n.cfg.Ledger.At(owner.saving, owner.partition, since.Add(-clocksDiffer))
		}
		if err == nil {
			_, err = owner.n.cfg.Ledger.Read(owner.saving, owner.partition, from, c.h.id+"/", func(at int64, entry any) bool {
				fn(at, entry)
				return true
			})
		}
		owner.n.post(func() {
			switch {
			case owner.gone || c.over:
			case err != nil:
				c.finish(reasonLedger)
			default:
				done()
			}
		})
	}()
}

// stop ends the other command that this command names.
func (c *command) stop() {
	other := c.h.orders[c.order.Command.Command]
	if other == nil || other == c {
		c.finish(reasonCommand)
		return
	}
	other.finish(reasonStopped)
	c.finish("")
	for _, e := range c.h.endpoints {
		for _, r := range e.commandQueues() {
			r.schedule()
		}
	}
}
