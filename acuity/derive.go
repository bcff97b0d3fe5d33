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

// derive brings everything derived up to the facts, touching only what the
// marks ask for. Its result does not depend on the order of the marks.
func (u *Unit) derive() {
	if u.plain {
		u.forgetDerived()
		u.markAll()
	}
	u.retell()
	u.chooseOccupants()
	u.seat()
	u.refer()
	for _, r := range u.work.rebind {
		r.marks &^= markRebind
		u.rebind(r)
	}
	u.work.rebind = u.work.rebind[:0]
	for _, r := range u.work.heard {
		r.marks &^= markHeard
		u.bindHeard(r)
	}
	u.work.heard = u.work.heard[:0]
	for _, r := range u.work.moving {
		r.marks &^= markProgress
		if r.marks&markRebuild == 0 && !u.progress(r) {
			u.markRoom(r, markRebuild)
		}
	}
	u.work.moving = u.work.moving[:0]
	for _, r := range u.work.rebuild {
		r.marks &^= markRebuild
		before := r.chart
		r.chart, u.work.chart = u.work.chart, RoomChart{}
		u.rebuild(r)
		if r.chart.equal(&before) {
			r.chart, before = before, r.chart
		} else {
			u.markRoom(r, markView|markJudge)
		}
		u.work.chart = before
	}
	u.arrange()
}

// markAll asks for everything anew: after a restore, a census, a mapping or a
// change of the rooms known.
func (u *Unit) markAll() {
	for _, v := range u.visits {
		u.markVisit(v, markRetell|markWeave)
	}
	for _, r := range u.rooms {
		u.markRoom(r, markAdopt|markRebind|markRebuild)
	}
	for _, r := range u.referrals {
		u.markReferral(r)
	}
}

// retell tells the marked visits anew.
func (u *Unit) retell() {
	if len(u.work.visits) == 0 {
		return
	}
	how := telling{SameRoom: u.table.sameRoom, TrustA08: u.setting().TrustA08Location}
	for _, v := range u.work.visits {
		v.marks &^= markRetell
		how.FoldAt = v.FoldAt
		u.turnOver(v, false)
		u.waits = u.waits || len(v.story.waiting) > 0
		v.story, v.primary = tell(v.Events, how), chosen{}
		v.born = v.story.newborn
		v.story.newborn = v.born || v.baby // until all are told
		u.turnOver(v, true)
		if len(v.story.waiting) > 0 {
			u.waits = true
			if !slices.Contains(u.cancels, v) {
				u.cancels = append(u.cancels, v)
			}
		}
		u.partake(v)
		u.enlist(v)
		u.markVisit(v, markWeave)
	}
	for _, list := range [...][]*visit{u.work.visits, u.parts} {
		for _, v := range list {
			if is := u.isNewborn(v); is != v.story.newborn {
				u.turnOver(v, false)
				v.story.newborn, v.primary = is, chosen{}
				u.turnOver(v, true)
				u.enlist(v)
				u.markVisit(v, markWeave)
			}
		}
	}
	u.work.visits = u.work.visits[:0]
}

// chooseOccupants finds the visits that censuses saw without naming them: of
// several that ADT has in the room, the one that came last.
func (u *Unit) chooseOccupants() {
	for i := 0; i < len(u.work.weave); i++ {
		v := u.work.weave[i]
		r, from := u.stake(v)
		if v.claimed != nil {
			v.claimed.claims = slices.DeleteFunc(v.claimed.claims, func(c claim) bool { return c.v == v })
			u.markRoom(v.claimed, markAdopt)
		}
		v.claimed = r
		if r != nil {
			r.claims = append(r.claims, claim{v, from})
			u.markRoom(r, markAdopt)
		}
	}
	for _, r := range u.work.adopt {
		r.marks &^= markAdopt
		var best claim
		for _, c := range r.claims {
			if best.v == nil || cmp.Or(cmp.Compare(c.from, best.from), cmp.Compare(c.v.ID, best.v.ID)) > 0 {
				best = c
			}
		}
		if r.Occupant == nil {
			best.v = nil
		}
		if r.adopter == best.v {
			continue
		}
		if old := r.adopter; old != nil && old.adopts == r {
			old.adopts = nil
			u.markVisit(old, markWeave)
		}
		r.adopter = best.v
		if best.v != nil {
			best.v.adopts = r
			u.markVisit(best.v, markWeave)
		}
		u.markRoom(r, markRebind|markRebuild)
	}
	u.work.adopt = u.work.adopt[:0]
}

// seat weaves the marked visits, mothers before newborns, and puts them into
// the rooms.
func (u *Unit) seat() {
	if len(u.work.weave) == 0 {
		return
	}
	for _, v := range u.work.weave {
		if !v.story.newborn {
			u.move(v, u.weave(v, &u.work.weaving, u.work.spans[:0]))
		}
	}
	for _, v := range u.newborns { // births are told to the mothers
		if v.marks&markWeave != 0 || u.follows(v) {
			u.stirBound(binding{v: v.mother})
			u.move(v, u.weaveNewborn(v))
			u.stirBound(binding{v: v.mother})
		}
	}
	for _, v := range u.work.weave {
		v.marks &^= markWeave
	}
	u.work.weave = u.work.weave[:0]
}

// follows reports whether the newborn may have to go where its mother went.
func (u *Unit) follows(v *visit) bool {
	if v.mother != nil && v.mother.marks&markWeave != 0 {
		return true
	}
	for _, s := range v.spans {
		if r := u.room(s.Room); s.Kind == inRoom && r != nil && r.marks&markRebind != 0 {
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
	if v.mother == nil || v.story.openedAt == 0 {
		return append(u.work.spans[:0], own...)
	}
	if len(own) > 0 && own[len(own)-1].Kind == nowhere {
		own = own[:len(own)-1]
	}
	return withMother(own, v.mother.spans, v.story.openedAt, v.story.closedAt, u.work.spans[:0])
}

// motherOf returns the mother's visit of a newborn, by the links that were sent,
// never by name; without one, whoever was in the room that it was placed in.
func (u *Unit) motherOf(v *visit) *visit {
	if id := v.story.motherVisit; id != "" && id != v.ID {
		if m := u.visitCalled(id); m != nil && m != v {
			return m
		}
	}
	if p := v.story.motherPatient; p != "" {
		if m := u.visitOf(p, v); m != nil {
			return m
		}
	}
	if v.story.motherVisit != "" || v.story.motherPatient != "" || len(v.story.stays) == 0 {
		return nil
	}
	s := &v.story.stays[len(v.story.stays)-1]
	p := u.table.resolve(s.Place)
	if p.Kind != inRoom {
		return nil
	}
	if r := u.room(p.Room); r != nil {
		for _, m := range slices.Backward(r.sits) {
			if m.holds(s.From) && !m.v.story.newborn {
				return m.v
			}
		}
	}
	return nil
}

// visitOf returns the newest open visit of a patient, else her newest; nil if
// there is none.
func (u *Unit) visitOf(patient string, not *visit) *visit {
	var best *visit
	better := func(v *visit) bool {
		if best == nil || v.story.open != best.story.open {
			return best == nil || v.story.open
		}
		return cmp.Or(cmp.Compare(v.story.openedAt, best.story.openedAt), cmp.Compare(v.ID, best.ID)) > 0
	}
	look := func(name string) {
		for _, v := range u.patients[name] {
			if v != not && !v.story.newborn && better(v) {
				best = v
			}
		}
	}
	look(patient)
	for _, name := range u.persons[patient] {
		look(name)
	}
	return best
}

// enlist keeps the indexes by patient and of newborns.
func (u *Unit) enlist(v *visit) {
	u.markNames(v)
	if !v.isCalled(&v.story) {
		u.delist(v)
		for _, p := range append([]string{v.story.patient}, v.story.referred...) {
			if p != "" && !slices.Contains(v.names, p) {
				v.names = append(v.names, p)
				u.patients[p] = append(u.patients[p], v)
			}
		}
		u.markNames(v)
	}
	if v.story.newborn != v.baby {
		v.baby = v.story.newborn
		u.stir(v) // a statement is a mother's before it is a newborn's
		if v.baby {
			i, _ := slices.BinarySearchFunc(u.newborns, v.ID, byVisitID)
			u.newborns = slices.Insert(u.newborns, i, v)
		} else {
			u.newborns = slices.DeleteFunc(u.newborns, func(n *visit) bool { return n == v })
			u.stirBound(binding{v: v.mother})
			v.bornTo(nil)
		}
	}
}

// bornTo makes a newborn that of a mother; nil: of nobody who is known.
func (v *visit) bornTo(mother *visit) {
	if v.mother == mother {
		return
	}
	if old := v.mother; old != nil {
		old.babies = slices.DeleteFunc(old.babies, func(n *visit) bool { return n == v })
	}
	if v.mother = mother; mother != nil {
		mother.babies = append(mother.babies, v)
	}
}

func byVisitID(v *visit, id string) int { return cmp.Compare(v.ID, id) }

// delist takes a visit out of the index by patient.
func (u *Unit) delist(v *visit) {
	for _, p := range v.names {
		left := slices.DeleteFunc(u.patients[p], func(o *visit) bool { return o == v })
		if len(left) == 0 {
			delete(u.patients, p)
		} else {
			u.patients[p] = left
		}
	}
	v.names = nil
}

// isCalled reports whether the index has the patient under her names in a story.
func (v *visit) isCalled(s *story) bool {
	n := 0
	if s.patient != "" {
		n++
		if !slices.Contains(v.names, s.patient) {
			return false
		}
	}
	for _, p := range s.referred {
		if p == s.patient {
			continue
		}
		if n++; !slices.Contains(v.names, p) {
			return false
		}
	}
	return n == len(v.names)
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
	u.unseat(v)
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
	for _, s := range v.spans {
		r := u.roomOf(s.placement)
		if r == nil {
			continue
		}
		n := sit{v: v, From: s.From, To: s.To}
		i, _ := slices.BinarySearchFunc(r.sits, n, compareSits)
		r.sits = slices.Insert(r.sits, i, n)
	}
	u.stir(v)
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
	if o := u.table.slots[p.Room]; o != nil {
		s.Label, _ = u.table.label(p.Room)
		s.PointOfCare, s.Room = o.pointOfCare, o.room
	}
	return u.addRoom(s)
}

// unseat takes a visit out of all rooms.
func (u *Unit) unseat(v *visit) {
	for _, s := range v.spans {
		if r := u.room(s.Room); s.Kind == inRoom && r != nil {
			if i, ok := slices.BinarySearchFunc(r.sits, sit{v: v, From: s.From}, compareSits); ok {
				r.sits = slices.Delete(r.sits, i, i+1)
			}
		}
	}
}

// stir asks for the statements and the charts of a visit's rooms anew.
func (u *Unit) stir(v *visit) {
	for _, s := range v.spans {
		if r := u.room(s.Room); s.Kind == inRoom && r != nil {
			u.markRoom(r, markRebind|markRebuild)
		}
	}
}

// stirListed asks for all charts if a census lists the visit with a mother: her
// entry has it no more, or again.
func (u *Unit) stirListed(v *visit) {
	if u.listed[v.ID] {
		for _, r := range u.rooms {
			u.markRoom(r, markRebuild)
		}
	}
}

// arrange puts the charts of the rooms in the unit together.
func (u *Unit) arrange() {
	rebuilt := u.work.rebuild
	u.work.rebuild = u.work.rebuild[:0]
	for _, r := range rebuilt {
		if in := u.isIn(r); in != r.inUnit {
			r.inUnit = in
			u.markRoom(r, markView|markJudge)
			u.work.layout = true
		}
	}
	if u.work.layout {
		u.work.layout, u.work.known, u.work.relaid = false, true, true
		u.chart.Rooms = u.chart.Rooms[:0]
		for _, r := range u.rooms {
			if r.inUnit {
				u.chart.Rooms = append(u.chart.Rooms, r.chart)
			}
		}
		return
	}
	for _, r := range rebuilt {
		if i, ok := u.chartOf(r.ID); ok {
			u.chart.Rooms[i] = r.chart
		}
	}
}

// chartOf returns where the chart of a room is.
func (u *Unit) chartOf(id int32) (int, bool) {
	return slices.BinarySearchFunc(u.chart.Rooms, id, func(r RoomChart, id int32) int { return cmp.Compare(r.ID, id) })
}

// isIn reports whether a room belongs to the unit: the newest census lists it,
// or since then somebody was placed or something was said there.
func (u *Unit) isIn(r *room) bool {
	if r.Listed || r.Clinical || r.Placed {
		return true
	}
	for _, s := range r.sits {
		if s.To == 0 || s.To > u.facts.CensusAt {
			return true
		}
	}
	return false
}
