package acuity

import (
	"cmp"
	"maps"
	"slices"
)

// hourOf is an hour of the hospital's clock.
const hourOf Instant = 3_600_000

// applyRetention settles and forgets what is old enough. It runs at the first step of
// each hour of the hospital's clock, so a restored unit does it at the same steps.
func (u *Unit) applyRetention(now Instant) {
	u.forgetSeen(now)
	for _, r := range u.rooms {
		u.settle(r, now)
		old := func(s Stay) bool { return s.To.Add(settleAfter) <= now }
		if slices.ContainsFunc(r.Past, old) {
			r.Past = slices.DeleteFunc(r.Past, old)
			u.markRoom(r, markState|dirtyAssignment|dirtyChart)
		}
	}
	u.settleReferrals(now)
	u.forgetVisits(now)
	u.touchedAfter(now - hourOf) // the hour is cut by now
	if len(u.versions)+len(u.encounters)+len(u.resources) > 0 {
		u.index()
	}
	u.waits = true // for less than an hour ago
}

// forgetSeen drops the identities that are a day old.
func (u *Unit) forgetSeen(now Instant) {
	u.forgetOldest(func(s *SeenState) bool { return s.At.Add(forgetSeen) <= now })
}

// forgetIdentities drops the oldest identities above the limit.
func (u *Unit) forgetIdentities() {
	u.forgetOldest(func(*SeenState) bool { return len(u.seen) > u.limits.identities })
}

// forgetOldest drops identities, the oldest first, while they are to go.
func (u *Unit) forgetOldest(goes func(*SeenState) bool) {
	n := 0
	for ; n < len(u.aging) && goes(u.aging[n]); n++ {
		s := u.aging[n]
		if u.aging[n] = nil; u.seen[s.ID] == s {
			delete(u.seen, s.ID)
			u.dirty.unseen = append(u.dirty.unseen, s.ID)
		}
	}
	u.aging = u.aging[n:]
}

// compareSeen orders identities by age.
func compareSeen(a, b *SeenState) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
}

// touch notes that something is said about a visit.
func (u *Unit) touch(v *visit) {
	v.Touched = u.facts.Clock
	if !v.recent {
		v.recent, u.recent = true, append(u.recent, v)
	}
}

// touchedAfter returns the visits about which something was said after an instant;
// nobody asks for those before it any more.
func (u *Unit) touchedAfter(at Instant) []*visit {
	if u.plain {
		return slices.Collect(maps.Values(u.visits))
	}
	u.recent = slices.DeleteFunc(u.recent, func(v *visit) bool {
		v.recent = v.Touched > at && u.visits[v.ID] == v
		return !v.recent
	})
	return u.recent
}

// forgetVisits drops the visits that are over. Nothing but a name can be over before
// nobody has said anything about it for so long: until then it need not be looked at.
func (u *Unit) forgetVisits(now Instant) {
	due := append(u.unknown.sorted(), u.fresh...)
	u.fresh = nil
	for _, hour := range slices.Sorted(maps.Keys(u.looks)) {
		if hour > now.Hour() {
			break
		}
		due = append(due, u.looks[hour]...)
		delete(u.looks, hour)
	}
	var over []*visit
	for _, v := range due {
		switch {
		case u.visits[v.ID] != v || v.gone: // it is forgotten already
		case u.isOver(v, now):
			v.gone, over = true, append(over, v)
		case v.isName(): // it is looked at each time
			v.watched = false
		default:
			hour := max(v.Touched.Add(forgetVisit), now+1).Hour()
			u.looks[hour] = append(u.looks[hour], v)
		}
	}
	u.forget(over)
}

// isOver reports whether a visit can be forgotten: 7 days after its discharge,
// or after the last word about it if it is nowhere; 28 days after the discharge
// if it came by batch, for another batch that tells more of the same hours.
func (u *Unit) isOver(v *visit, now Instant) bool {
	if n := len(v.spans); n > 0 && v.spans[n-1].To == 0 {
		return false
	}
	if v.isName() {
		return v.threads.size+len(v.filed) == 0
	}
	if v.timeline.closedAt.Add(backfillDays) > now && v.feed() == ChannelBatch {
		return false
	}
	return max(v.Touched, v.timeline.closedAt).Add(forgetVisit) <= now
}

// forget drops visits. The rooms that they made known stay in the unit. Each list of
// the unit is gone through once, however many visits there are.
func (u *Unit) forget(over []*visit) {
	if len(over) == 0 {
		return
	}
	u.past = nil
	for _, v := range over {
		v.gone = true
		u.unsee(v.events)
		u.takeOut(v)
	}
	u.work.parts, u.waits = true, true // their mothers are known by others
	for _, r := range u.rooms {
		for h := range r.threads.each {
			if v := u.visitOfHeard(h); v != nil && v.gone {
				h.bind(binding{kind: toNobody})
			}
		}
	}
	for _, r := range u.referrals {
		u.unbind(r)
	}
	maps.DeleteFunc(u.versions, func(_ string, v *visit) bool { return v.gone })
	maps.DeleteFunc(u.encounters, func(_ string, v *visit) bool { return v.gone })
	maps.DeleteFunc(u.resources, func(_ string, by holder) bool { return by.v != nil && by.v.gone })
	for _, list := range [...]*[]*visit{&u.newborns, &u.parts, &u.work.visits, &u.work.weave, &u.dirty.visits} {
		*list = slices.DeleteFunc(*list, func(v *visit) bool { return v.gone })
	}
	for _, v := range over {
		u.slots.leave(v)
		v.marks |= dirtyTimeline | dirtyLocation | markState // it is on no list from now on
	}
}

// takeOut takes a visit that is forgotten out of everything that is found by it.
func (u *Unit) takeOut(v *visit) {
	for _, s := range v.spans {
		if r := u.room(s.Room); s.Kind == inRoom && r != nil && (s.To == 0 || s.To > u.facts.CensusAt) && !r.Placed {
			r.Placed = true
			u.markRoom(r, markState)
		}
	}
	for _, w := range v.withdrawn { // or what was said there would be the room's own
		if r := u.room(w.room); r != nil && r.Clinical && !r.Placed {
			r.Placed = true
			u.markRoom(r, markState)
		}
	}
	replaceWithdrawn(u, v, nil)
	u.stir(v)
	u.stirListed(v)
	u.unseat(v, v.spans)
	u.markNames(v)
	u.delist(v)
	u.turnOver(v.moves(), nil)
	if v.lost {
		u.unplaced--
	}
	if v.claimed != nil {
		v.claimed.claims = slices.DeleteFunc(v.claimed.claims, func(c claim) bool { return c.v == v })
		u.markRoom(v.claimed, dirtyOccupant)
	}
	if v.adopts != nil {
		v.adopts.adopter = nil
		u.markRoom(v.adopts, dirtyOccupant|dirtyAssignment|dirtyChart)
	}
	u.stirBound(binding{v: v.mother})
	v.bornTo(nil)
	for len(v.babies) > 0 {
		n := v.babies[0]
		n.bornTo(nil)
		u.markVisit(n, dirtyLocation)
	}
	for h := range v.threads.each {
		u.lose(h)
	}
	for i := range v.filed {
		u.unfile(&v.filed[i])
	}
	v.filed = nil
	delete(u.visits, v.ID)
	delete(u.unknown, v)
	u.eventBytes -= v.bytes
	u.dirty.gone = append(u.dirty.gone, string(u.visitKey(v.ID)))
}

// learn makes the table of rooms anew from the facts, and fills the list of newborns in
// censuses.
func (u *Unit) learn() {
	u.table = roomTable{referents: u.referents}
	u.table.site(u.locations())
	u.relabel()
	for _, r := range u.referents {
		u.join(&r.Referent)
	}
	u.index()
	for _, v := range u.visits {
		for i := range v.events {
			u.table.see(*v.events[i].Place)
		}
		u.enter(v.Facts)
	}
	for _, r := range u.rooms {
		if r.Occupant != nil {
			u.enter(&r.Occupant.Facts)
		}
	}
}

// enter notes the newborns that a census lists; nil: there is no census.
func (u *Unit) enter(f *CensusFacts) {
	if f == nil {
		return
	}
	for i := range f.Newborns {
		if id := f.Newborns[i].Visit; id != "" {
			u.listed[id] = true
		}
	}
}

// fold makes one event of the oldest ones of a visit that has too many
// (clinical-decisions R10): where the patient was after them, and with which
// diagnoses. Cancels of what was folded come too late from then on.
func (v *visit) fold(u *Unit) {
	if u.weigh(v); len(v.events) <= capEvents && v.bytes-v.Facts.size() <= capEventBytes {
		return
	}
	order := slices.Clone(v.events)
	slices.SortFunc(order, func(a, b event) int { return compareEvents(&a, &b) })
	n := len(order) / 4
	for n+1 < len(order) && order[n].At == order[n-1].At {
		n++
	}
	old, rest := order[:n], order[n:]
	u.unsee(old)
	until := max(v.FoldAt, old[n-1].At)
	s := buildTimeline(old, timelineOptions{SameRoom: u.table.sameRoom, IsWard: u.table.isWard, FoldAt: v.FoldAt, TrustA08: u.setting().TrustA08Location})
	v.Folded += int32(n) //nolint:gosec // at most capEvents
	v.FoldAt = until
	v.events = append(u.shared.keepEvents(v.base(&s)), rest...)
	base := v.events[:len(v.events)-len(rest)]
	u.locateEvents(base, 1)
	for i := range base {
		u.table.see(*base[i].Place)
	}
	u.weigh(v)
}

// base returns the fewest events that give the state at the end of a timeline.
func (v *visit) base(s *timeline) []Event {
	if len(s.stays) == 0 && !s.open && s.closedAt == 0 {
		return nil
	}
	e := Event{
		ID: foldedID, Type: A01, At: max(s.openedAt, 1), Visit: v.ID, Patient: cmp.Or(s.patient, append(s.referred, "")[0]), MotherVisit: s.motherVisit,
		MotherPatient: s.motherPatient, Class: s.class, Service: s.service, Newborn: s.newborn, Babies: s.babies,
	}
	for i := range s.events {
		if t := &s.events[i]; t.disposition == eventApplied {
			e.ReceivedAt = max(e.ReceivedAt, t.event.ReceivedAt)
			e.Feed = t.event.Feed
			if t.event.Primary != 0 {
				e.Primary = t.event.Primary
			}
			if t.event.Reasons != 0 {
				e.Reasons = t.event.Reasons
			}
		}
	}
	if n := len(s.stays); n > 0 {
		e.At, e.Place = s.stays[n-1].From, *s.stays[n-1].place()
	}
	e.PlaceNull = e.Place.IsZero()
	if len(s.diagnoses) > 0 {
		e.DiagnosisMode = DiagnosisSnapshot
		for i := range s.diagnoses {
			d := s.diagnoses[i].Diagnosis
			d.OnsetAt = s.diagnoses[i].Start
			e.Diagnoses = append(e.Diagnoses, d)
		}
	}
	if s.open {
		return []Event{e}
	}
	end := Event{ID: foldedID + "-end", Type: A03, At: s.closedAt, ReceivedAt: e.ReceivedAt, Visit: v.ID}
	if len(s.stays) == 0 {
		return []Event{end}
	}
	return []Event{e, end}
}

// size is about how many bytes the record of a visit takes.
func (v *visit) size() int {
	n := v.Facts.size()
	for i := range v.events {
		e := &v.events[i]
		n += 160 + len(e.ID) + len(e.Resource) + len(e.Encounter) + len(e.Subject) + len(e.Patient) + len(e.MotherVisit) + len(e.MotherPatient) + len(e.Place.Room) +
			len(e.Place.PointOfCare) + len(e.Place.Label) + len(e.Prior.Room) + len(e.Prior.PointOfCare)
		for j := range e.Diagnoses {
			n += 32 + len(e.Diagnoses[j].Code) + len(e.Diagnoses[j].Display)
		}
	}
	return n
}

// size is about how many bytes the record of the facts takes; nil: there are none.
func (f *CensusFacts) size() int {
	if f == nil {
		return 0
	}
	n := 100 + 24*len(f.Listed) + 60*len(f.Newborns)
	for i := range f.Diagnoses {
		n += 48 + len(f.Diagnoses[i].Code) + len(f.Diagnoses[i].Display)
	}
	return n
}
