package acuity

import (
	"slices"
	"strings"
)

// intakeEvent is where an event went.
type intakeEvent struct {
	v    *visit
	id   string
	left bool // a census had the visit leave the room where ADT has it
}

// eventPath names an event of a request; one event alone needs no name.
func (in *intake) eventPath(i int) string {
	if len(in.o.Events) == 1 {
		return ""
	}
	return item("events", i)
}

// takeEvents adds the events to the sets of their visits.
func (u *Unit) takeEvents(in *intake) {
	in.Items = make([]ItemResult, len(in.o.Events))
	in.events = append(u.work.events[:0], make([]intakeEvent, len(in.o.Events))...)
	for i := range in.o.Events {
		e := &in.o.Events[i]
		for _, w := range e.Warnings {
			in.warn(w.Code, w.Path)
		}
		outcome, reason := u.takeEvent(in, i, e)
		in.Items[i] = ItemResult{Outcome: outcome, Reason: reason}
	}
}

// takeEvent adds one event.
func (u *Unit) takeEvent(in *intake, i int, e *Event) (Outcome, string) {
	if e.Resource != "" {
		k := u.takeVersion(in, e)
		if k.v == nil {
			return k.outcome, k.reason
		}
		u.store(in, i, e, k.v, strings.Clone(e.ID))
		return Applied, ""
	}
	if s := u.seen[e.ID]; s != nil && e.ID != "" {
		if s.Digest != e.Digest {
			in.warn("event_id_reused", in.eventPath(i))
		}
		return Duplicate, ""
	}
	if e.Type == EventOther {
		u.remember(e, in.o.ReceivedAt)
		return Ignored, eventOther.reason()
	}
	id := e.Visit
	if id == "" && e.Patient != "" {
		if v := u.visitOf(e.Patient, nil); v != nil {
			id = v.ID
		}
	}
	if id == "" {
		return Ignored, "visit_unknown"
	}
	v := u.visitCalled(id)
	if e.ID != "" && v != nil && v.has(e.ID) {
		return Duplicate, ""
	}
	if reason := u.roomForEvent(in, v, id, e); reason != "" {
		return Rejected, reason
	}
	if v == nil {
		v = u.visit(id)
	}
	u.store(in, i, e, v, u.remember(e, in.o.ReceivedAt))
	return Applied, ""
}

// store adds an event to the set of its visit, under an identity with a text of its own.
func (u *Unit) store(in *intake, i int, e *Event, v *visit, id string) {
	said := *e
	if e.Resource != "" && e.Encounter == "" && e.Visit != v.ID {
		said.Encounter = e.Visit // the reference was all the name it gave
	}
	said.ReceivedAt, said.Feed = in.o.ReceivedAt, in.o.Channel
	if said.ID != "" {
		said.Digest = "" // the identity has it
	}
	u.stopWaiting(v)
	stored := u.shared.keepEvent(&said, v.newest())
	stored.ID = id
	if v.events == nil {
		v.events = make([]event, 0, usualEvents)
	}
	v.events = append(tight(v.events, 4), stored)
	u.indexKnown(v)
	u.call(v, stored.Encounter)
	u.touch(v)
	u.locate(stored.Place, 1)
	u.locate(stored.Prior, 1)
	u.meet(in, i, stored.Place)
	v.fold(u)
	u.markVisit(v, markState|dirtyTimeline)
	u.noteUnmappedDiagnoses(in, stored.Diagnoses)
	in.events[i] = intakeEvent{v, e.ID, v.timeline.placedAt() != 0 && u.whereIs(v) == nil}
}

// has reports whether the visit has an event.
func (v *visit) has(id string) bool {
	for i := range v.events {
		if v.events[i].ID == id {
			return true
		}
	}
	return false
}

// newest returns the event that came last; nil: there is none.
func (v *visit) newest() *event {
	if n := len(v.events); n > 0 {
		return &v.events[n-1]
	}
	return nil
}

// own lets a place have its texts for itself.
func (l *Location) own() {
	l.Label, l.PointOfCare, l.Room = strings.Clone(l.Label), strings.Clone(l.PointOfCare), strings.Clone(l.Room)
	l.Bed, l.Facility = strings.Clone(l.Bed), strings.Clone(l.Facility)
}

// remember keeps the identity of an event for 24 h, and returns its text for whoever
// keeps it, too. In a past there are only events that were taken.
func (u *Unit) remember(e *Event, at Instant) (id string) {
	id = strings.Clone(e.ID)
	if id == "" || u.isPast {
		return id
	}
	s := &SeenState{ID: id, At: at}
	if s.Digest = s.ID; e.Digest != e.ID {
		s.Digest = strings.Clone(e.Digest)
	}
	u.note(s)
	return id
}

// note keeps an identity, from now on.
func (u *Unit) note(s *SeenState) {
	u.seen[s.ID] = s
	i := len(u.aging)
	if i > 0 && compareSeen(u.aging[i-1], s) > 0 {
		i, _ = slices.BinarySearchFunc(u.aging, s, compareSeen)
	}
	u.aging = slices.Insert(u.aging, i, s)
	u.dirty.seen = append(u.dirty.seen, s)
}

// answerEvents tells what became of the events, now that the timelines are built.
func (u *Unit) answerEvents(in *intake) {
	counts := [Time + 1]int{}
	for i := range in.Items {
		item := &in.Items[i]
		if item.Outcome == Duplicate { // who sends it again is told the same
			item.stands(u.whereIs(u.visitCalled(in.o.Events[i].Visit)))
		} else if v := in.events[i].v; v != nil {
			r := u.whereIs(v)
			if t := v.appliedEventOf(in.events[i].id, &in.o.Events[i]); t != nil {
				switch reason := t.disposition.reason(); {
				case t.disposition == eventDuplicate:
					item.Outcome = Duplicate
				case t.disposition == eventSameRoom && in.events[i].left && r != nil:
					// The transfer brings it back (X3).
				case reason != "":
					item.Outcome, item.Reason = Ignored, reason
				}
				for _, code := range t.remarks.codes() {
					in.warn(code, in.eventPath(i))
				}
			}
			item.stands(r)
			if u.withoutRoom(v) {
				in.warn("location_without_room", in.eventPath(i))
			}
		}
		counts[item.Outcome]++
	}
	if n := len(in.Items); n > 0 && counts[Applied] == 0 && in.o.Census == nil && len(in.o.Signals) == 0 {
		in.Outcome = Ignored
		if counts[Duplicate] == n {
			in.Outcome = Duplicate
		}
		in.Reason = in.Items[0].Reason
	}
	if len(in.events) > 0 {
		u.work.events = emptied(in.events)
	}
}

// stands says in which room the visit is after the event; nil: in none.
func (item *ItemResult) stands(r *room) {
	if r != nil {
		item.HasRoom, item.RoomID = true, r.ID
	}
}

// meet makes the room of an event known.
func (u *Unit) meet(in *intake, i int, l *Location) {
	switch r := u.room(l.RoomID); {
	case !l.HasRoomID:
	case r != nil:
		if l.Label != "" && r.Label != "" && l.Label != r.Label {
			in.warn("room_label_differs", in.eventPath(i)) // a census says what a room is called (H18)
		}
		return
	default:
		u.addRoom(RoomState{ID: l.RoomID, Label: l.Label, Registered: true})
		u.work.relabel = true
		return
	}
	before := len(u.table.own)
	u.table.see(*l)
	if len(u.table.own) != before {
		u.work.retable = true // a number that two points of care use means neither
	}
}

// appliedEventOf returns what became of an event of the visit.
func (v *visit) appliedEventOf(id string, e *Event) *appliedEvent {
	for i := range v.timeline.events {
		t := &v.timeline.events[i]
		if t.event.ID == id && (id != "" || t.event.At == e.At && t.event.Type == e.Type) {
			return t
		}
	}
	return nil
}

// withoutRoom reports whether the visit is in a unit, but not said in which room.
func (u *Unit) withoutRoom(v *visit) bool {
	n := len(v.spans)
	return n > 0 && v.spans[n-1].To == 0 && v.spans[n-1].Kind == withoutRoom
}
