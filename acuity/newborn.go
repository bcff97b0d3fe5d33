package acuity

import "slices"

// admitAlone adds one entry for the newborns of a room without a mother.
func (u *Unit) admitAlone(r *room) {
	if len(r.chart.Patients) > 0 {
		return
	}
	i := slices.IndexFunc(u.work.present, func(s sit) bool { return s.v.timeline.newborn })
	if i < 0 {
		return
	}
	first := u.work.present[i]
	p, e := r.entry(), &u.work.episode
	p.Visit, p.Arrived, p.Mother, p.Birth = first.v.ID, first.From, false, 0
	e.folds = nil
	e.file()
	e.from, e.diagnoses, e.listed, e.primaries, e.babies = e.from[:0], e.diagnoses[:0], e.listed[:0], e.primaries[:0], 0
	u.addBabies(r, e, nil, nil)
	p.Evidence = append(p.Evidence[:0], u.cat.settled(e, &u.work.reader)...)
	u.addBabyEvidence(r, p, nil)
}

// addBabies adds the primaries of the newborns of an entry: those whom ADT has
// in the room, and those whom a census lists with the mother.
func (u *Unit) addBabies(r *room, e *episode, mother *visit, facts *CensusFacts) {
	baby, unnamed := uint8(0), 0
	for _, s := range u.work.present {
		if !s.v.timeline.newborn || !u.isOf(r, s.v, mother) {
			continue
		}
		baby++
		c, kind := u.newbornPrimary(r, s, facts)
		e.choose(c, kind, s.v.feed(), baby)
		if facts == nil || !slices.ContainsFunc(facts.Newborns, func(n NewbornSeen) bool { return n.Visit == s.v.ID }) {
			unnamed++
		}
	}
	if facts == nil {
		return
	}
	for i := range facts.Newborns {
		n := &facts.Newborns[i]
		if n.Visit == "" && unnamed > 0 {
			unnamed-- // ADT knows it already
			continue
		}
		if n.Visit != "" {
			if v := u.visits[n.Visit]; v != nil && len(v.spans) > 0 {
				continue // here and counted, or elsewhere by now
			}
		}
		baby++
		c := choice{Factor: n.Primary, Since: facts.since(n), AssignedBy: "explicit"}
		if n.Primary == 0 {
			born := facts.birth()
			c = primaryOf(&careFacts{Newborn: true, At: n.Since, PlacedAt: n.Since, Born: born})
		}
		e.choose(c, ByCensus, ChannelCensus, baby)
	}
}

// isOf reports whether a newborn in the room belongs to the entry of a mother:
// its own if she is here, else the one who came last; nil: there is no mother.
func (u *Unit) isOf(r *room, v, mother *visit) bool {
	if v.mother != nil && !v.mother.timeline.newborn && u.whereIs(v.mother) == r {
		return mother == v.mother
	}
	return mother == u.work.last
}

// seePresent notes who of those in a room its chart has: of too many the ones who came
// last, patients and newborns apart.
func (r *room) seePresent(w *work) {
	w.present, w.last = w.present[:0], nil
	var patients, newborns int
	for i := len(r.here) - 1; i >= 0 && (patients < capPresent || newborns < capPresent); i-- {
		n := &patients
		if v := r.here[i].v; v.timeline.newborn {
			n = &newborns
		} else if w.last == nil {
			w.last = v
		}
		if *n++; *n <= capPresent {
			w.present = append(w.present, r.here[i])
		}
	}
	slices.Reverse(w.present)
}

// newbornPrimary returns the primary of a newborn visit.
func (u *Unit) newbornPrimary(r *room, s sit, facts *CensusFacts) (choice, EvidenceKind) {
	v := s.v
	if facts != nil {
		for i := range facts.Newborns {
			if n := &facts.Newborns[i]; n.Visit == v.ID && n.Primary != 0 {
				return choice{Factor: n.Primary, Since: facts.since(n), AssignedBy: "explicit"}, ByCensus
			}
		}
	}
	if own := u.factsOf(v); own != nil && own.Primary != 0 {
		n, born := NewbornSeen{Primary: own.Primary, Since: own.PrimarySince}, own
		switch {
		case own.DeliveredAt != 0:
		case facts != nil:
			born = facts
		case v.mother != nil && u.factsOf(v.mother) != nil: // in another room
			born = u.factsOf(v.mother)
		}
		return choice{Factor: own.Primary, Since: born.since(&n), AssignedBy: "explicit"}, ByCensus
	}
	born := Instant(0)
	if facts != nil {
		born = facts.DeliveredAt
	}
	if c := u.chosen(v, born, false); c.Factor != 0 {
		return c, ByADT
	}
	if born == 0 {
		born = v.timeline.openedAt // as for its mother (X14)
	}
	return primaryOf(&careFacts{Newborn: true, At: s.From, PlacedAt: s.From, Born: born, Label: r.Label, Area: r.Area}), ByADT
}

// addBabyEvidence adds what is said about the newborns themselves.
func (u *Unit) addBabyEvidence(r *room, p *PatientChart, mother *visit) {
	baby := uint8(0)
	for _, s := range u.work.present {
		if !s.v.timeline.newborn || !u.isOf(r, s.v, mother) {
			continue
		}
		baby++
		e := &u.work.episode
		u.gather(e, binding{s.v, toVisit}, r)
		e.diagnoses = append(e.diagnoses[:0], s.v.timeline.diagnoses...)
		e.addConditions()
		e.state(u.factsOf(s.v))
		e.primaries, e.babies = e.primaries[:0], 0
		for _, ev := range u.cat.settled(e, &u.work.reader) {
			ev.Baby = baby
			p.Evidence = append(p.Evidence, ev)
		}
	}
}
