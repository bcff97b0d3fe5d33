package acuity

import (
	"cmp"
	"slices"
)

// sit is the presence of a visit in a room.
type sit struct {
	v        *visit
	From, To Instant // To 0: still
}

func (s sit) holds(t Instant) bool { return s.From <= t && (s.To == 0 || t < s.To) }

// seat weaves the marked visits, mothers before newborns, and puts them into
// the rooms.
func (u *Unit) seat() {
	if len(u.work.weave) == 0 {
		return
	}
	for _, v := range u.work.weave {
		if !v.timeline.newborn {
			u.move(v, u.weave(v, &u.work.weaving, u.work.spans[:0]))
		}
	}
	for _, v := range u.newborns { // births are told to the mothers
		if v.marks&dirtyLocation != 0 || u.follows(v) {
			u.stirBound(binding{v: v.mother})
			u.move(v, u.weaveNewborn(v))
			u.stirBound(binding{v: v.mother})
		}
	}
	for _, v := range u.work.weave {
		v.marks &^= dirtyLocation
	}
	u.work.weave = u.work.weave[:0]
}

// follows reports whether the newborn may have to go where its mother went.
func (u *Unit) follows(v *visit) bool {
	if v.mother != nil && v.mother.marks&dirtyLocation != 0 {
		return true
	}
	for _, s := range v.spans {
		if r := u.room(s.Room); s.Kind == inRoom && r != nil && r.marks&dirtyAssignment != 0 {
			return true
		}
	}
	return u.motherOf(v) != v.mother
}

// weaveNewborn returns the stays of a newborn.
func (u *Unit) weaveNewborn(v *visit) []sojourn {
	own := u.weave(v, &u.work.weaving, u.work.own[:0])
	u.work.own = own
	v.bornTo(u.motherOf(v))
	if v.mother == nil || v.timeline.openedAt == 0 {
		return append(u.work.spans[:0], own...)
	}
	if len(own) > 0 && own[len(own)-1].Kind == nowhere {
		own = own[:len(own)-1]
	}
	return withMother(own, v.mother.spans, v.timeline.openedAt, v.timeline.closedAt, u.work.spans[:0])
}

// motherOf returns the mother's visit of a newborn, by the links that were sent,
// never by name; without one, whoever was in the room that it was placed in.
func (u *Unit) motherOf(v *visit) *visit {
	if id := v.timeline.motherVisit; id != "" && id != v.ID {
		if m := u.visitCalled(id); m != nil && m != v {
			return m
		}
	}
	if p := v.timeline.motherPatient; p != "" {
		if m := u.visitOf(p, v); m != nil {
			return m
		}
	}
	if v.timeline.motherVisit != "" || v.timeline.motherPatient != "" || len(v.timeline.stays) == 0 {
		return nil
	}
	s := &v.timeline.stays[len(v.timeline.stays)-1]
	p := u.table.of(s.place())
	if p.Kind != inRoom {
		return nil
	}
	if r := u.room(p.Room); r != nil {
		for _, m := range slices.Backward(r.sits) {
			if m.holds(s.From) && !m.v.timeline.newborn {
				return m.v
			}
		}
	}
	return nil
}

// bornTo makes a newborn that of a mother; nil: of nobody who is known.
func (v *visit) bornTo(mother *visit) {
	if v.mother == mother {
		return
	}
	if old := v.mother; old != nil {
		last := len(old.babies) - 1
		old.babies[v.babyAt] = old.babies[last]
		old.babies[v.babyAt].babyAt = v.babyAt
		old.babies[last] = nil
		old.babies = old.babies[:last]
	}
	if v.mother = mother; mother != nil {
		v.babyAt = len(mother.babies)
		mother.babies = append(mother.babies, v)
	}
}

// move puts a visit into its rooms, and asks for the charts of all rooms that
// it is or was in; if it is where it was, for that of this room.
func (u *Unit) move(v *visit, to []sojourn) {
	u.work.spans = to
	if slices.Equal(v.spans, to) {
		u.stirBound(binding{v: v})
		return
	}
	u.stir(v)
	u.stirListed(v)
	u.reseat(v, to)
	v.spans = append(v.spans[:0], to...)
	if v.folds.forget(); u.whereIs(v) == nil {
		v.folds = nil // there is no chart of it any more
	}
	if lost := v.isLost(); lost != v.lost {
		v.lost = lost
		if lost {
			u.unplaced++
		} else {
			u.unplaced--
		}
	}
	u.stir(v)
}

// reseat takes a visit out of the rooms of its stays, and puts it into those of its
// new ones. Who goes on from room to room was in the rooms before as before, and the
// stay that ends is changed in its place: in a week hundreds are in a room.
func (u *Unit) reseat(v *visit, to []sojourn) {
	was, n := v.spans, 0
	for n < len(was) && n < len(to) && was[n] == to[n] {
		n++
	}
	if !ascend(was) || !ascend(to) { // then a stay is not told by its begin
		n = 0
	}
	was, to = was[n:], to[n:]
	if len(was) > 0 && len(to) > 0 && was[0].placement == to[0].placement && was[0].From == to[0].From {
		if r := u.room(was[0].Room); was[0].Kind == inRoom && r != nil {
			r.leave(v, was[0], to[0].To)
		}
		was, to = was[1:], to[1:]
	}
	u.unseat(v, was)
	for _, s := range to {
		r := u.roomOf(s.placement)
		if r == nil {
			continue
		}
		n := sit{v: v, From: s.From, To: s.To}
		r.sits = seated(r.sits, n)
		if n.To == 0 {
			r.here = seated(r.here, n)
		}
	}
}

// ascend reports whether no two stays begin at the same time.
func ascend(spans []sojourn) bool {
	for i := 1; i < len(spans); i++ {
		if spans[i-1].From >= spans[i].From {
			return false
		}
	}
	return true
}

// leave changes the end of a stay; 0: it goes on.
func (r *room) leave(v *visit, s sojourn, to Instant) {
	n := sit{v: v, From: s.From, To: to}
	if i, ok := slices.BinarySearchFunc(r.sits, n, compareSits); ok {
		r.sits[i].To = to
	}
	if r.here = unseated(r.here, n); to == 0 {
		r.here = seated(r.here, n)
	}
}

// isLost reports whether the visit is in the unit, but in no room.
func (v *visit) isLost() bool {
	n := len(v.spans)
	return n > 0 && v.spans[n-1].To == 0 && (v.spans[n-1].Kind == nowhere || v.spans[n-1].Kind == withoutRoom)
}

// roomOf returns the room of a placement, made known if ADT alone names it.
func (u *Unit) roomOf(p placement) *room {
	if p.Kind != inRoom {
		return nil
	}
	if r := u.room(p.Room); r != nil {
		return r
	}
	s := RoomState{ID: p.Room, Registered: true}
	if o := u.table.slot(p.Room); o != nil {
		s.Label, _ = u.table.label(p.Room)
		s.PointOfCare, s.Room = o.pointOfCare, o.room
	}
	return u.addRoom(s)
}

// unseat takes a visit out of the rooms of stays.
func (u *Unit) unseat(v *visit, stays []sojourn) {
	for _, s := range stays {
		if r := u.room(s.Room); s.Kind == inRoom && r != nil {
			n := sit{v: v, From: s.From}
			r.sits, r.here = unseated(r.sits, n), unseated(r.here, n)
		}
	}
}

// stir asks for the statements and the charts of a visit's rooms anew.
func (u *Unit) stir(v *visit) {
	for _, s := range v.spans {
		if r := u.room(s.Room); s.Kind == inRoom && r != nil {
			u.markRoom(r, dirtyAssignment|dirtyChart)
		}
	}
}

// stirListed asks for all charts if a census lists the visit with a mother: her
// entry has it no more, or again.
func (u *Unit) stirListed(v *visit) {
	if u.listed[v.ID] {
		for _, r := range u.rooms {
			u.markRoom(r, dirtyChart)
		}
	}
}

// seated adds to who is or was in a room.
func seated(list []sit, s sit) []sit {
	i, _ := slices.BinarySearchFunc(list, s, compareSits)
	return slices.Insert(list, i, s)
}

// unseated takes out who came when s did.
func unseated(list []sit, s sit) []sit {
	i, ok := slices.BinarySearchFunc(list, s, compareSits)
	switch {
	case !ok:
		return list
	case i < len(list)/2: // as of a visit that is forgotten: those after it stay where they are
		copy(list[1:], list[:i])
		list[0] = sit{}
		return list[1:]
	}
	return slices.Delete(list, i, i+1)
}

// compareSits orders who is or was in a room by arrival.
func compareSits(a, b sit) int {
	if a.From != b.From {
		return cmp.Compare(a.From, b.From)
	}
	return cmp.Compare(a.v.ID, b.v.ID)
}
