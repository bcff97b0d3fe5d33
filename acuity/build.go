package acuity

import (
	"slices"
	"strconv"
)

// rebuild makes the chart of a room from the facts of those who are in it.
func (u *Unit) rebuild(r *room) {
	if r.own() {
		if label, own := u.table.label(r.ID); own && label != r.Label {
			r.Label = label
			u.markRoom(r, markState)
		}
	}
	c := &r.chart
	c.ID, c.Label, c.Area, c.Listed = r.ID, r.Label, r.Area, r.known()
	if c.Label == "" {
		c.Label = strconv.Itoa(int(r.ID))
	}
	c.Patients, c.NewestSignal, r.lone = c.Patients[:0], 0, nil
	r.seePresent(&u.work)
	for _, s := range u.work.present {
		if !s.v.timeline.newborn {
			u.admit(r, s.v, s.From)
			r.lone = s.v
		}
	}
	if r.anonymous() {
		u.admitOccupant(r)
	}
	u.admitAlone(r)
	if len(c.Patients) != 1 || slices.ContainsFunc(u.work.present, func(s sit) bool { return s.v.timeline.newborn }) {
		r.lone = nil
	}
	switch {
	case len(c.Patients) > 0:
		c.Status = RoomOccupied
	case r.Listed && r.Status == RoomBlocked:
		c.Status = RoomBlocked
	case c.Listed:
		c.Status = RoomEmpty
	default:
		c.Status = RoomUnknown
		u.admitUnknown(r)
		if len(c.Patients) == 0 && len(u.withdrawn[r.ID]) > 0 {
			c.Status = RoomEmpty
		}
	}
}

// admit adds the entry of a mother, or of another patient who is no newborn.
func (u *Unit) admit(r *room, v *visit, arrived Instant) {
	p := r.entry()
	p.Visit, p.Arrived = v.ID, arrived
	e := &u.work.episode
	u.gather(e, binding{v, toVisit}, r)
	facts := u.factsOf(v)
	e.diagnoses = append(e.diagnoses[:0], v.timeline.diagnoses...)
	bornBy, cesareanBy := e.addConditions()
	e.state(facts)
	e.babies = v.timeline.babies
	e.primaries = e.primaries[:0]

	birth, cesarean := Instant(0), false
	if facts != nil {
		birth, cesarean = facts.birth(), facts.Cesarean || facts.cesarean()
	}
	birth, cesarean = Soonest(birth, bornBy), cesarean || cesareanBy
	for _, n := range v.babies {
		if n.timeline.openedAt != 0 {
			birth = Soonest(birth, n.timeline.openedAt) // X14
			e.babies = max(e.babies, n.timeline.babies, n.order)
		}
	}
	chosen, kind := u.primary(r, v, facts, birth, cesarean)
	p.Mother = !u.cat.isNewborn(chosen.Factor)
	e.choose(chosen, kind, v.feed(), 0)
	p.Birth = Soonest(birth, v.timeline.birth)
	if u.cat.Spec(chosen.Factor).postpartum {
		p.Birth = Soonest(p.Birth, chosen.Since)
	}
	u.addBabies(r, e, v, facts)
	p.Evidence = append(p.Evidence[:0], u.cat.settled(e, &u.work.reader)...)
	u.addBabyEvidence(r, p, v)
}

// admitOccupant adds the entry of somebody whom a census sees without a visit.
func (u *Unit) admitOccupant(r *room) {
	p, o := r.entry(), r.Occupant
	p.Visit, p.Arrived = "room:"+strconv.Itoa(int(r.ID)), o.First
	e := &u.work.episode
	u.gather(e, binding{kind: toOccupant}, r)
	e.diagnoses, e.primaries, e.babies = e.diagnoses[:0], e.primaries[:0], 0
	e.state(&o.Facts)
	p.Birth = o.Facts.birth()
	chosen := u.byCensus(r, &o.Facts, o.First, p.Birth)
	p.Mother = !u.cat.isNewborn(chosen.Factor)
	e.choose(chosen, ByCensus, ChannelCensus, 0)
	if u.cat.Spec(chosen.Factor).postpartum {
		p.Birth = Soonest(p.Birth, chosen.Since)
	}
	u.addBabies(r, e, nil, &o.Facts)
	p.Evidence = append(p.Evidence[:0], u.cat.settled(e, &u.work.reader)...)
	u.addBabyEvidence(r, p, nil)
}

// admitUnknown adds the entry of a room that only clinical ingest knows.
func (u *Unit) admitUnknown(r *room) {
	e := &u.work.episode
	u.gather(e, binding{kind: toRoom}, r)
	for h := range r.threads.each {
		if h.to == toRoom {
			r.chart.NewestSignal = max(r.chart.NewestSignal, h.orderTime())
		}
	}
	e.diagnoses, e.listed, e.primaries, e.babies = e.diagnoses[:0], e.listed[:0], e.primaries[:0], 0
	list := u.cat.settled(e, &u.work.reader)
	if len(list) == 0 {
		return
	}
	p := r.entry()
	p.Visit, p.Arrived, p.Birth, p.Mother = "room:"+strconv.Itoa(int(r.ID)), 0, 0, true
	p.Evidence = append(p.Evidence[:0], list...)
}

// entry appends an entry to the chart, using the memory of one that was there.
func (r *room) entry() *PatientChart {
	n := len(r.chart.Patients)
	if n < cap(r.chart.Patients) {
		r.chart.Patients = r.chart.Patients[:n+1]
	} else {
		r.chart.Patients = append(r.chart.Patients, PatientChart{})
	}
	return &r.chart.Patients[n]
}

// choose adds a primary to an episode; the zero choice adds nothing.
func (e *episode) choose(c choice, kind EvidenceKind, feed Channel, baby uint8) {
	if c.Factor == 0 {
		return
	}
	ev := Evidence{
		Factor: c.Factor, Baby: baby, Kind: kind, Start: c.Since, Last: c.Since,
		AssignedBy: c.AssignedBy, Source: Source{Feed: feed},
	}
	if kind == ByCensus {
		ev.Source.Feed = ChannelCensus
	}
	if c.AssignedBy == "site" {
		ev.Kind = BySite
	}
	e.primaries = append(e.primaries, ev)
}

// feed returns the feed that placed the visit where it is.
func (v *visit) feed() Channel {
	if n := len(v.timeline.stays); n > 0 {
		return v.timeline.stays[n-1].Placing.Feed
	}
	return ChannelADT
}

// primary returns the primary of a visit by ADT and census: of both the one that
// spoke last. What a census states explicitly holds until ADT brings the patient
// to another area (X12).
func (u *Unit) primary(r *room, v *visit, facts *CensusFacts, birth Instant, cesarean bool) (choice, EvidenceKind) {
	adt := u.chosen(v, birth, cesarean)
	if facts == nil {
		return adt, ByADT
	}
	seen, here := u.seenIn(v, r)
	placed := v.timeline.placedAt()
	if n := len(v.timeline.stays); n > 0 && v.timeline.stays[n-1].Placing.saysNothingOfPlace(u.table.isWard) {
		placed = 0 // the census knows where she is (F2)
	}
	same := placed != 0 && u.placedIn(v, r)
	census := u.byCensus(r, facts, max(seen.First, seen.From), birth)
	switch {
	case adt.Factor == 0:
		return census, ByCensus
	case facts.Primary != 0:
		if placed <= seen.Last || u.sameArea(v, facts) {
			return census, ByCensus
		}
	case !here || same || census.Factor == 0: // ADT knows more than the name of an area
	case placed <= seen.Last:
		if census.Factor == adt.Factor {
			return adt, ByADT
		}
		return census, ByCensus
	}
	return adt, ByADT
}

// chosen is the primary of a visit by ADT: a function of its timeline and of what
// is known of its births.
func (u *Unit) chosen(v *visit, birth Instant, cesarean bool) choice {
	if c := &v.primary; !c.known || c.birth != birth || c.cesarean != cesarean {
		*c = chosen{true, cesarean, birth, v.timeline.primary(&u.table, birth, cesarean)}
	}
	return v.primary.choice
}

// seenIn returns the newest stay by census, and whether it is in the room.
func (u *Unit) seenIn(v *visit, r *room) (Stay, bool) {
	if v.adopts != nil && v.adopts.Occupant != nil {
		return v.adopts.Occupant.Stay, v.adopts == r
	}
	if n := len(v.Stays); n > 0 {
		return v.Stays[n-1], v.Stays[n-1].Room == r.ID
	}
	return Stay{}, false
}

// placedAt returns when ADT brought the visit to where it is; 0: never.
func (s *timeline) placedAt() Instant {
	if n := len(s.stays); n > 0 && s.stays[n-1].To == 0 {
		return s.stays[n-1].From
	}
	return 0
}

// placedIn reports whether ADT has the visit in the room.
func (u *Unit) placedIn(v *visit, r *room) bool {
	p := u.table.of(v.timeline.stays[len(v.timeline.stays)-1].place())
	return p.Kind == inRoom && p.Room == r.ID
}

// sameArea reports whether ADT has the visit in an area of the kind that the
// census row named.
func (u *Unit) sameArea(v *visit, f *CensusFacts) bool {
	adt := u.table.find(v.timeline.stays[len(v.timeline.stays)-1].place())
	return adt.kindFor(v.timeline.service) == places().areaOf(&careFacts{Area: f.Area, Service: f.Service})
}

// byCensus returns the primary that a census row gives.
func (u *Unit) byCensus(r *room, f *CensusFacts, from, birth Instant) choice {
	at := from
	if f.PrimarySince != 0 {
		at = f.PrimarySince
	}
	return primaryOf(&careFacts{
		Explicit: f.Primary, Area: f.Area, Service: f.Service, Label: r.Label, Class: f.Class,
		At: at, PlacedAt: at, Birth: birth, Cesarean: f.Cesarean, CesareanDue: f.cesarean(), Newborn: f.Class == 'N', Born: birth,
	})
}
