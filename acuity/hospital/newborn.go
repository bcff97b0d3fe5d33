package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
)

// admitAlone adds one entry for the newborns of a room without a mother.
func (m *chartBuilder) admitAlone(r *room) {
	if len(r.chart.Patients) > 0 {
		return
	}
	i := slices.IndexFunc(m.present, func(s roomStay) bool { return s.v.timeline.Newborn })
	if i < 0 {
		return
	}
	first := m.present[i]
	p, e := r.entry(), &m.evidenceInput
	p.Visit, p.Arrived, p.Mother, p.Birth = first.v.ID, first.From, false, 0
	e.Reset(evidence.Owner{})
	m.addBabies(r, e, nil, nil)
	p.Evidence = append(p.Evidence[:0], evidence.Fold(e, &m.matcher.reader)...)
	p.UnnamedFetus = e.UnnamedFetus
	m.addBabyEvidence(r, p, nil)
}

// addBabies adds the primaries of the newborns of an entry: those whom ADT has in the
// room, and those whom a census lists with the mother.
func (m *chartBuilder) addBabies(r *room, e *evidence.Input, mother *visit, known *CensusFacts) {
	baby, unnamed := uint8(0), 0
	for _, s := range m.present {
		if !s.v.timeline.Newborn || !m.isOf(r, s.v, mother) {
			continue
		}
		baby++
		c, kind := m.newbornPrimary(r, s, known)
		addPrimary(e, c, kind, s.v.feed(), baby)
		isListed := func(n ListedNewborn) bool { return n.Visit != "" && m.names.isCalled(s.v, n.Visit) }
		if known == nil || !slices.ContainsFunc(known.Newborns, isListed) {
			unnamed++
		}
	}
	if known == nil {
		return
	}
	for i := range known.Newborns {
		n := &known.Newborns[i]
		if n.Visit == "" && unnamed > 0 {
			unnamed-- // ADT knows it already
			continue
		}
		if n.Visit != "" {
			if v := m.names.visitNamed(n.Visit); v != nil && len(v.spans) > 0 {
				continue // counted already, or elsewhere
			}
		}
		baby++
		c := adt.Primary{Factor: n.Primary, Since: known.since(n), AssignedBy: "explicit"}
		if n.Primary == 0 {
			born := known.birth()
			c = adt.ChoosePrimary(&adt.CareFacts{Newborn: true, At: n.Since, PlacedAt: n.Since, Born: born})
		}
		addPrimary(e, c, acuity.ByCensus, acuity.ChannelCensus, baby)
	}
}

// isOf reports whether a newborn in the room belongs to the entry of a mother: its own
// if she is here, else the last to come; nil: there is no mother.
func (m *chartBuilder) isOf(r *room, v, mother *visit) bool {
	if v.mother != nil && !v.mother.timeline.Newborn && m.whereIs(v.mother) == r {
		return mother == v.mother
	}
	return mother == m.lastComer
}

// seePresent chooses the patients of a room for its chart: if there are too many, the
// last to come, patients and newborns apart.
func (m *chartBuilder) seePresent(r *room) {
	m.present, m.lastComer = m.present[:0], nil
	var patients, newborns int
	for i := len(r.here) - 1; i >= 0 && (patients < capPresent || newborns < capPresent); i-- {
		n := &patients
		if v := r.here[i].v; v.timeline.Newborn {
			n = &newborns
		} else if m.lastComer == nil {
			m.lastComer = v
		}
		if *n++; *n <= capPresent {
			m.present = append(m.present, r.here[i])
		}
	}
	slices.Reverse(m.present)
}

// newbornPrimary returns the primary of a newborn visit.
func (m *chartBuilder) newbornPrimary(r *room, s roomStay, known *CensusFacts) (adt.Primary, acuity.EvidenceKind) {
	v := s.v
	if known != nil {
		for i := range known.Newborns {
			if n := &known.Newborns[i]; n.Primary != 0 && n.Visit != "" && m.names.isCalled(v, n.Visit) {
				return adt.Primary{Factor: n.Primary, Since: known.since(n), AssignedBy: "explicit"}, acuity.ByCensus
			}
		}
	}
	if own := v.censusFacts(); own != nil && own.Primary != 0 {
		n, born := ListedNewborn{Primary: own.Primary, Since: own.PrimarySince}, own
		switch {
		case own.DeliveredAt != 0:
		case known != nil:
			born = known
		case v.mother != nil && v.mother.censusFacts() != nil: // in another room
			born = v.mother.censusFacts()
		}
		return adt.Primary{Factor: own.Primary, Since: born.since(&n), AssignedBy: "explicit"}, acuity.ByCensus
	}
	born := acuity.Instant(0)
	if known != nil {
		born = known.DeliveredAt
	}
	if c := m.chosen(v, born, false); c.Factor != 0 {
		return c, acuity.ByADT
	}
	if born == 0 {
		born = v.timeline.OpenedAt // as for its mother (docs/decisions.md#birth)
	}
	care := adt.CareFacts{Newborn: true, At: s.From, PlacedAt: s.From, Born: born, Label: r.Label, Area: r.Area}
	return adt.ChoosePrimary(&care), acuity.ByADT
}

// addBabyEvidence adds the evidence of the newborns themselves.
func (m *chartBuilder) addBabyEvidence(r *room, p *acuity.PatientChart, mother *visit) {
	baby := uint8(0)
	for _, s := range m.present {
		if !s.v.timeline.Newborn || !m.isOf(r, s.v, mother) {
			continue
		}
		baby++
		e := &m.evidenceInput
		m.gatherStatements(e, binding{s.v, toVisit}, r)
		addDiagnoses(e, &s.v.timeline)
		addConditions(e)
		addCensus(e, s.v.censusFacts())
		for _, ev := range evidence.Fold(e, &m.matcher.reader) {
			ev.Baby = baby
			p.Evidence = append(p.Evidence, ev)
		}
	}
}
