package acuity

import (
	"cmp"
	"slices"
)

// The pace of a backfill. Its hours are due one after the other, so that inputs
// pass between them; a replay cuts them at the same places.
const (
	backfillAfter = Instant(2_000) // since the last batch that told of the past
	backfillStep  = Instant(5)
)

// backfillDue returns when the next past hour is to be cut; 0: there is none.
func (u *Unit) backfillDue() Instant {
	if u.facts.Backfill.Due == 0 || u.isPast {
		return 0
	}
	return max(u.facts.Backfill.Due, u.facts.Clock)
}

// noticePast begins a backfill, or puts it off, if a batch tells of hours that
// are closed. Whatever changes the past of a backfill has it read again.
func (u *Unit) noticePast(in *intake) {
	o, f := in.o, &u.facts
	closed := f.Clock / hourOf * hourOf
	oldest := Instant(0)
	for i := range o.Events {
		if at := o.Events[i].At; in.Items[i].Outcome == Applied && at < closed {
			oldest = Soonest(oldest, at)
		}
	}
	if oldest != 0 || o.Census != nil || o.administers() {
		u.past = nil
	}
	if o.Channel != ChannelBatch || oldest == 0 {
		return
	}
	b := f.Backfill
	from := max(oldest, f.Clock.Add(-backfillDays)).Hour() + 1
	if b.Due != 0 {
		from = min(from, b.From)
	}
	b = Backfill{Due: f.Clock + backfillAfter, From: from, Next: from, Until: closed.Hour()}
	if b.skip(f.Live); b.Due != 0 {
		f.Backfill = b
		f.Generation++ // also of a backfill that is cut short by this one
	}
}

// skip moves on to the next hour that was not observed when it came.
func (b *Backfill) skip(live []HourSpan) {
	for _, s := range live {
		if s.From <= b.Next && b.Next <= s.To {
			b.Next = s.To + 1
		}
	}
	if b.Next > b.Until {
		*b = Backfill{}
	}
}

// left returns how many hours are still to be cut.
func (b *Backfill) left(live []HourSpan) int32 {
	n := b.Until - b.Next + 1
	for _, s := range live {
		n -= max(min(s.To, b.Until)-max(s.From, b.Next)+1, 0)
	}
	return n
}

// Recall brings the past of a backfill that is due at now nearer to its next hour,
// by at most so many events. It returns how many these were, and whether it is
// there. After a restore, after what changes the past, and after hours that are left
// out, there are more than those of an hour; who does not call it has [Unit.Advance]
// take them in one piece.
func (u *Unit) Recall(now Instant, most int) (told int, there bool) {
	if due := u.backfillDue(); due == 0 || due > now {
		return 0, true
	}
	if u.past == nil {
		u.past = u.recall()
	}
	before := u.past.told
	there = u.past.tell(Instant(u.facts.Backfill.Next)*hourOf, most)
	return u.past.told - before, there
}

// cutPast adds the snapshot of the next past hour to a change.
func (u *Unit) cutPast(in *intake) {
	f := &u.facts
	b := &f.Backfill
	if u.past == nil {
		u.past = u.recall()
	}
	s := u.past.cut(b.Next)
	s.Generation, s.Position, s.Backfill = f.Generation, f.Offset, b.left(f.Live)
	in.Snapshot = s
	b.Next++
	b.Due = f.Clock + backfillStep
	b.skip(f.Live)
	if b.Due == 0 {
		u.past = nil
	}
}

// past is a unit that is told again what happened, at the times at which it did. It
// keeps no house: what its unit still knows counts to the end, and what would be
// forgotten would depend on the hours that are cut.
type past struct {
	unit   *Unit
	events []pastEvent // that are still to come, ascending by time
	told   int         // of those that came
}

// pastEvent is an event of a visit, as if it had been received when it happened.
type pastEvent struct {
	visit string
	*event
}

// recall makes the past of the unit of the events that it keeps. Only ADT tells
// of hours before its receipt; places and rules are those of today.
func (u *Unit) recall() *past {
	p := &past{unit: NewUnit(u.hospital)}
	p.unit.isPast, p.unit.limits = true, u.limits
	p.unit.site = u.site
	p.unit.referents = u.referents // whoever tells of others ends this past
	for _, r := range u.rooms {
		p.unit.rooms = append(p.unit.rooms, &room{RoomState: RoomState{
			ID: r.ID, Label: r.Label, Area: r.Area, Registered: r.Registered, PointOfCare: r.PointOfCare, Room: r.Room,
		}})
	}
	p.unit.Restored()
	n := 0
	for _, v := range u.visits {
		n += len(v.events)
	}
	all := make([]event, 0, n)
	p.events = make([]pastEvent, 0, n)
	for _, v := range u.visits {
		for i := range v.events {
			all = append(all, v.events[i])
			e := &all[len(all)-1]
			e.ReceivedAt = e.At
			p.events = append(p.events, pastEvent{v.ID, e})
		}
	}
	slices.SortFunc(p.events, func(a, b pastEvent) int {
		if c := cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.visit, b.visit)); c != 0 {
			return c
		}
		return compareEvents(a.event, b.event)
	})
	return p
}

// tell takes at most so many of the events before an instant, and reports whether
// that was all of them.
func (p *past) tell(before Instant, most int) bool {
	n := 0
	for ; n < len(p.events) && p.events[n].At < before; n++ {
		if n == most {
			break
		}
		e := p.events[n]
		p.unit.pass(e.At)
		events := e.appendTo(nil, e.visit)
		events[0].Resource, events[0].Encounter, events[0].Subject = "", "", "" // its versions are settled
		p.unit.Apply(&Observation{Hospital: p.unit.hospital, ReceivedAt: e.At, Channel: e.Feed, Events: events}, 0)
	}
	p.events, p.told = p.events[n:], p.told+n
	return len(p.events) == 0 || p.events[0].At >= before
}

// cut returns the snapshot of an hour after those that were cut.
func (p *past) cut(hour int32) *Snapshot {
	u, at := p.unit, Instant(hour)*hourOf
	p.tell(at, len(p.events))
	u.pass(at)
	in := intake{Change: Change{Cause: CauseTime, Outcome: Time}}
	u.begin(max(at, u.facts.Clock), 0)
	u.derive()
	u.conclude(&in)
	u.snap(&in)
	u.Dirty(func([]byte, State) {})
	u.View(func(int32, *RoomChart) {})
	return in.Snapshot
}

// pass lets time go by.
func (u *Unit) pass(now Instant) {
	for more := true; more; {
		_, more = u.Advance(now)
	}
}
