package notifier

import (
	"cmp"
	"maps"
	"slices"

	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/notifier/event"
)

// fold rebuilds the state of an ownership's hospitals from the partition's ledger. The final state of a delivery
// applies no matter which owner wrote it. A pending delivery, an event or a stored state is ignored if its term is
// lower than that of an earlier entry, because a process that resumes after having been suspended may still write for
// a moment.
type fold struct {
	ownership *ownership
	source    int64 // highest offset, in the verdicts topic, of a change with an event in the ledger
	ids       map[string]bool
	over      map[*hospital]map[string]ended // messages with a final entry, by id
	entries   int
}

// finish sets the state that is known only after the last entry has been read.
func (f *fold) finish() {
	for h, messages := range f.over {
		h.ended = slices.SortedFunc(maps.Values(messages), func(a, b ended) int { return cmp.Compare(a.at, b.at) })
	}
}

func (f *fold) apply(offset int64, entry any) {
	f.entries++
	switch e := entry.(type) {
	case *outbound.Event:
		if f.late(e.Term) || f.ids[e.ID] {
			return
		}
		f.ids[e.ID] = true
		f.source = max(f.source, e.Source)
		f.applyEvent(offset, e)
	case *outbound.Entry:
		f.applyDelivery(offset, e)
	case *outbound.EndpointQueue:
		h := f.hospital(e.Hospital)
		l := f.endpoint(h, e.Endpoint)
		cursor := max(l.record.Cursor, e.Cursor) // a final state is valid no matter which owner wrote it
		if !f.late(e.Term) {
			l.record, l.at = *e, offset
		}
		l.record.Cursor = cursor
	case *outbound.HospitalState:
		if h := f.hospital(e.Hospital); !f.late(e.Term) {
			h.recordAt, h.policy = offset, e.Policy
			h.version, h.whole = max(h.version, e.Version), max(h.whole, e.Version)
		}
	case *outbound.Order:
		f.applyCommand(offset, e)
	}
}

// late reports whether an entry's term is lower than that of an earlier entry. Such an entry was written by a
// previous owner of the partition that was suspended and then resumed. If the entry is not late, late stores its term
// as the ownership's number.
func (f *fold) late(term int64) bool {
	if term < f.ownership.number {
		return true
	}
	f.ownership.number = term
	return false
}

func (f *fold) hospital(id string) *hospital {
	h := f.ownership.hospitals[id]
	if h == nil {
		h = newHospital(f.ownership, id)
		f.ownership.hospitals[id] = h
	}
	return h
}

func (f *fold) applyEvent(offset int64, e *outbound.Event) {
	h := f.hospital(e.Hospital)
	if h.recordAt < 0 {
		h.recordAt = offset
	}
	if e.Version > h.version {
		h.version = e.Version
		clear(h.ids)
	}
	if e.Source >= 0 {
		h.ids[e.ID] = true
	} else {
		h.sent[e.ID] = true
	}
	one := &waiting{Event: e, at: offset}
	h.log = append(h.log, one)
	h.bytes += one.size()
	if e.Event == outbound.LevelChanged && e.Command == "" {
		if effect, cause, ok := event.LevelOf(e.Body); ok {
			h.level, h.known = effect.Level, true
			change := LevelChange{Version: e.Version, OccurredAt: e.OccurredAt, Cause: cause, Effect: effect, Traceparent: e.Traceparent}
			h.unseen = append(h.unseen, unseenChange{offset, change})
		}
	}
}

// endpoint returns the state of an endpoint, which it creates if necessary.
func (f *fold) endpoint(h *hospital, endpoint string) *foldedEndpoint {
	l := h.folded[endpoint]
	if l == nil {
		l = &foldedEndpoint{
			record: outbound.EndpointQueue{Hospital: h.id, Endpoint: endpoint, Cursor: -1}, at: -1,
			open: map[int64]*recorded{}, delivered: map[int64]*recorded{},
		}
		h.folded[endpoint] = l
	}
	return l
}

func (f *fold) applyDelivery(offset int64, e *outbound.Entry) {
	d := &e.Delivery
	h := f.hospital(d.Hospital)
	if f.late(e.Term) && d.State == outbound.Pending {
		return
	}
	if d.Channel != subscriber.ChannelWebhook {
		switch {
		case d.State != outbound.Pending:
			delete(h.messages, d.ID)
			h.sent[d.ID] = true
			f.recordEnded(h, offset, e)
		case !h.sent[d.ID]:
			h.messages[d.ID] = &message{h: h, entry: *e, at: offset}
		}
		return
	}
	if d.State != outbound.Pending {
		delete(h.commandDeliveries, d.ID)
		if d.Event == outbound.Alert {
			one := endOfAlert(e)
			f.recordEnded(h, offset, &one)
		}
	}
	l := f.endpoint(h, d.EndpointID)
	if e.Command != "" { // the entry does not belong to the main queue
		switch d.State { //nolint:exhaustive // other states do not concern the main queue
		case outbound.Pending:
			h.commandDeliveries[d.ID] = &recorded{e, offset}
		case outbound.Delivered:
			delete(l.open, e.Position)
			if e.Position > l.record.Cursor {
				l.delivered[e.Position] = &recorded{e, offset}
			}
		}
		return
	}
	if d.State == outbound.Pending {
		l.open[e.Position] = &recorded{e, offset}
		return
	}
	l.ended = max(l.ended, e.Position)
	// A probe that its endpoint no longer wants ends before the head.
	if head := l.head(); head == nil || e.Position <= head.entry.Position {
		l.record.Cursor = max(l.record.Cursor, l.ended)
	}
	delete(l.open, e.Position)
}

// recordEnded records a final message and passes its final state to [People] again, because People may not have
// processed that state before the restart. Of two final records of a message, the later one applies, because a
// receipt may report that a delivered message did not arrive.
func (f *fold) recordEnded(h *hospital, offset int64, e *outbound.Entry) {
	if f.over[h] == nil {
		f.over[h] = map[string]ended{}
	}
	one := *e
	one.Sealed = nil // the message text is no longer needed
	f.over[h][e.Delivery.ID] = ended{offset, one}
}

func (f *fold) applyCommand(offset int64, o *outbound.Order) {
	h := f.hospital(o.Command.Hospital)
	id := o.Command.ID
	old := h.orders[id]
	switch {
	case o.Progress.Done:
		delete(h.orders, id)
		h.done[id] = true
	case h.done[id]:
	case old == nil || o.Term >= old.order.Term:
		h.orders[id] = newCommand(h, offset, o)
	}
	f.ownership.number = max(f.ownership.number, o.Term)
}
