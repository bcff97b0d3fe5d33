package notifier

import (
	"context"

	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// task is one attempt that is ready to start.
type task struct {
	ownership *ownership
	host      string
	slow      bool
	channel   subscriber.Channel
	// message is called when the attempt starts and returns the message, made with the settings at that time. It
	// returns false if there is nothing left to send.
	message func() (sending.Message, bool)
	ended   func(sending.Result)
	dropped func() // called if the attempt is not started
}

// host counts the attempts to one host.
type host struct {
	inFlight int
	parked   []*task
}

// queue starts attempts within three limits: in total, per host, and for slow endpoints. Slow endpoints have a
// separate limit so that they cannot exhaust the total.
type queue struct {
	notifier   *Notifier
	fast, slow []*task
	hosts      map[string]*host
	inFlight   int
	slowNow    int
}

func (q *queue) add(t *task) {
	if t.slow {
		q.slow = append(q.slow, t)
	} else {
		q.fast = append(q.fast, t)
	}
}

// dispatch starts the attempts that the limits allow.
func (q *queue) dispatch() {
	limits := &q.notifier.cfg.Limits
	for len(q.fast) > 0 && q.inFlight < limits.InFlight {
		q.begin(pop(&q.fast))
	}
	for len(q.slow) > 0 && q.inFlight < limits.InFlight && q.slowNow < limits.Slow {
		q.begin(pop(&q.slow))
	}
}

func pop(list *[]*task) *task {
	t := (*list)[0]
	(*list)[0] = nil
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil
	}
	return t
}

func (q *queue) begin(t *task) {
	h := q.hosts[t.host]
	if h == nil {
		h = &host{}
		q.hosts[t.host] = h
	}
	if h.inFlight >= q.notifier.cfg.Limits.PerHost {
		h.parked = append(h.parked, t)
		return
	}
	var m sending.Message
	ok := !t.ownership.stopping
	if ok {
		m, ok = t.message()
	}
	if !ok {
		q.release(t.host, h)
		t.dropped()
		return
	}
	h.inFlight++
	q.inFlight++
	if t.slow {
		q.slowNow++
	}
	t.ownership.inFlight++
	sender := q.notifier.cfg.Senders[t.channel]
	go func() {
		r := send(t.ownership.attempts, sender, m)
		q.notifier.post(func() { q.end(t, h, r) })
	}()
}

// send makes one attempt. If ctx ends before the message is accepted, the result is ClassInterrupted.
func send(ctx context.Context, sender sending.Sender, m sending.Message) sending.Result {
	if sender == nil {
		return sending.Result{Class: sending.ClassBlocked, Final: true}
	}
	r := sender.Send(ctx, m)
	if ctx.Err() != nil && r.Class != sending.ClassOK {
		return sending.Result{Class: sending.ClassInterrupted}
	}
	return r
}

func (q *queue) end(t *task, h *host, r sending.Result) {
	h.inFlight--
	q.inFlight--
	if t.slow {
		q.slowNow--
	}
	t.ownership.inFlight--
	q.release(t.host, h)
	t.ended(r)
	t.ownership.finishDrain()
}

// release returns one parked task of a host to the queue, and removes the host if it has no attempts.
func (q *queue) release(name string, h *host) {
	switch {
	case len(h.parked) > 0:
		q.add(pop(&h.parked))
	case h.inFlight == 0:
		delete(q.hosts, name)
	}
}
