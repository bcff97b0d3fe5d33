package notifier

import (
	"context"
	"maps"
	"slices"
	"time"

	"svc/internal/outbound"
)

// stepWithin bounds the duration of a step.
const stepWithin = 2 * time.Second

// consider starts a step of People for the hospital if something happened. What
// happens during a step waits for the next one.
func (h *hospital) consider() {
	t := h.t
	n := t.n
	if n.cfg.People == nil || h.stepping || t.stopping || t.catching {
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
	seen := len(h.unseen)
	for _, u := range h.unseen {
		happening.Changes = append(happening.Changes, u.change)
	}
	for i := range h.ended {
		happening.Ended = append(happening.Ended, h.ended[i].entry)
	}
	for _, id := range slices.Sorted(maps.Keys(h.messages)) {
		happening.Waiting = append(happening.Waiting, h.messages[id].entry)
	}
	h.commands, h.ended, h.notices = nil, nil, nil
	go func() {
		ctx, cancel := context.WithTimeout(t.saving, stepWithin)
		defer cancel()
		s := n.cfg.People.Step(ctx, now, happening)
		n.post(func() { h.applyStep(s, seen) })
	}()
}

// applyStep carries out a step. The memory of People is stored after the messages.
// After a crash between the two the step is repeated, and messages with the same id
// are not sent twice. Until the memory is stored, a restore still finds the input of
// the step.
func (h *hospital) applyStep(s Step, seen int) {
	t := h.t
	n := t.n
	if t.gone {
		return
	}
	for _, d := range s.Decisions {
		n.cfg.Metrics.Decided(d.Reason)
		n.log.Info("alert decided", "hospital", h.id, "reason", d.Reason, "tier", d.Tier)
	}
	for _, id := range s.Supersede {
		if l := h.messages[id]; l != nil {
			l.end(outbound.Superseded, "newer")
		}
	}
	for _, l := range s.Messages {
		h.post(l, "")
	}
	for i := range s.Events {
		e := &s.Events[i]
		if !h.sent[e.ID] {
			h.sent[e.ID] = true
			e.Source, e.RoomID = -1, -1
			h.publish(e, nil)
		}
	}
	if seen > 0 || s.Memory != nil {
		if s.Memory != nil {
			h.policy = s.Memory
		}
		h.unseen = h.unseen[seen:]
		h.unsaved = append(h.unsaved, h.handed)
		h.writeThen(func() { h.unsaved = h.unsaved[1:] })
	}
	h.handed = nothing
	for _, a := range s.Answers {
		if c := h.orders[a.Command]; c != nil {
			c.finish(a.Reason)
		}
	}
	n.timers.stop(&h.wake)
	if !s.Next.IsZero() {
		n.timers.set(&h.wake, s.Next, func() {
			h.askPeople = true
			h.consider()
		})
	}
	h.stepping = false // messages that ended above wait for the next step
	h.consider()
}
