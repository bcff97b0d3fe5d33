package acuity

import "slices"

// admitAlone adds one entry for the newborns of a room without a mother.
func (u *Unit) admitAlone(r *room) {
	if len(r.chart.Patients) > 0 {
		return
	}
	i := slices.IndexFunc(r.here, func(s sit) bool { return s.v.story.newborn })
	if i < 0 {
		return
	}
	first := r.here[i]
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
	for _, s := range r.here {
		if !s.v.story.newborn || !r.isOf(s.v, mother) {
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
func (r *room) isOf(v, mother *visit) bool {
	var last *visit
	for _, s := range r.here {
		if !s.v.story.newborn {
			last = s.v
			if v.mother == s.v {
				return mother == s.v
			}
		}
	}
	return last == mother
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
		born = v.story.openedAt // as for its mother (X14)
	}
	return primaryOf(&careFacts{Newborn: true, At: s.From, PlacedAt: s.From, Born: born, Label: r.Label, Area: r.Area}), ByADT
}

// addBabyEvidence adds what is said about the newborns themselves.
func (u *Unit) addBabyEvidence(r *room, p *PatientChart, mother *visit) {
	baby := uint8(0)
	for _, s := range r.here {
		if !s.v.story.newborn || !r.isOf(s.v, mother) {
			continue
		}
		baby++
		e := &u.work.episode
		u.gather(e, binding{s.v, toVisit}, r)
		e.diagnoses = append(e.diagnoses[:0], s.v.story.diagnoses...)
		e.addConditions()
		e.state(u.factsOf(s.v))
		e.primaries, e.babies = e.primaries[:0], 0
		for _, ev := range u.cat.settled(e, &u.work.reader) {
			ev.Baby = baby
			p.Evidence = append(p.Evidence, ev)
		}
	}
}
