package charts

import (
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// admitAlone adds one entry for all newborns in a room without any other patient.
func (m *Builder) admitAlone(r *registry.Room) {
	if len(r.Chart.Patients) > 0 {
		return
	}
	i := slices.IndexFunc(m.present, func(s registry.RoomStay) bool { return s.V.Timeline.Newborn })
	if i < 0 {
		return
	}
	first := m.present[i]
	p, e := addEntry(r), &m.evidenceInput
	p.Visit, p.Arrived, p.Mother, p.Birth = first.V.ID, first.From, false, 0
	e.Reset(evidence.Owner{})
	m.addBabies(r, e, nil, nil)
	m.foldEntry(p, e, 0, false)
	m.addBabyEvidence(r, p, nil)
}

// addBabies adds the primary factors of the newborns in an entry: the newborns who are in the room according to ADT,
// and those whom a census lists with the mother.
func (m *Builder) addBabies(r *registry.Room, e *evidence.Input, mother *registry.Visit, known *facts.CensusFacts) {
	baby, unnamed := uint8(0), 0
	for _, s := range m.present {
		if !s.V.Timeline.Newborn || !m.isOf(r, s.V, mother) {
			continue
		}
		baby++
		c, kind := m.newbornPrimary(r, s, known)
		addPrimary(e, c, kind, s.V.Feed(), baby)
		isListed := func(n facts.ListedNewborn) bool { return n.Visit != "" && m.Names.IsCalled(s.V, n.Visit) }
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
			unnamed-- // this newborn is already known from ADT
			continue
		}
		if n.Visit != "" {
			if v := m.Names.VisitNamed(n.Visit); v != nil && len(v.Spans) > 0 {
				continue // already counted, or in another room
			}
		}
		baby++
		c := adt.Primary{Factor: n.Primary, Since: known.Since(n), AssignedBy: "explicit"}
		if n.Primary == 0 {
			born := known.Birth()
			c = adt.ChoosePrimary(&adt.CareFacts{Newborn: true, At: n.Since, PlacedAt: n.Since, Born: born})
		}
		addPrimary(e, c, acuity.ByCensus, acuity.ChannelCensus, baby)
	}
}

// isOf reports whether a newborn in the room belongs to a mother's entry. A newborn belongs to its own mother if she
// is in the room, or else to the patient, other than a newborn, who arrived last. If mother is nil, isOf reports
// whether the newborn belongs to no mother.
func (m *Builder) isOf(r *registry.Room, v, mother *registry.Visit) bool {
	if v.Mother != nil && !v.Mother.Timeline.Newborn && m.WhereIs(v.Mother) == r {
		return mother == v.Mother
	}
	return mother == m.lastComer
}

// choosePresent chooses the patients for a room's chart. If there are too many, it chooses the most recent arrivals,
// separately for newborns and other patients.
func (m *Builder) choosePresent(r *registry.Room) {
	m.present, m.lastComer = m.present[:0], nil
	var patients, newborns int
	for i := len(r.Here) - 1; i >= 0 && (patients < CapPresent || newborns < CapPresent); i-- {
		n := &patients
		if v := r.Here[i].V; v.Timeline.Newborn {
			n = &newborns
		} else if m.lastComer == nil {
			m.lastComer = v
		}
		if *n++; *n <= CapPresent {
			m.present = append(m.present, r.Here[i])
		}
	}
	slices.Reverse(m.present)
}

// newbornPrimary returns the primary factor of a newborn's visit.
func (m *Builder) newbornPrimary(r *registry.Room, s registry.RoomStay, known *facts.CensusFacts) (adt.Primary, acuity.EvidenceKind) {
	v := s.V
	if known != nil {
		for i := range known.Newborns {
			if n := &known.Newborns[i]; n.Primary != 0 && n.Visit != "" && m.Names.IsCalled(v, n.Visit) {
				return adt.Primary{Factor: n.Primary, Since: known.Since(n), AssignedBy: "explicit"}, acuity.ByCensus
			}
		}
	}
	if own := v.CensusFacts(); own != nil && own.Primary != 0 {
		n, born := facts.ListedNewborn{Primary: own.Primary, Since: own.PrimarySince}, own
		switch {
		case own.DeliveredAt != 0:
		case known != nil:
			born = known
		case v.Mother != nil && v.Mother.CensusFacts() != nil: // the mother is in another room
			born = v.Mother.CensusFacts()
		}
		return adt.Primary{Factor: own.Primary, Since: born.Since(&n), AssignedBy: "explicit"}, acuity.ByCensus
	}
	born := acuity.Instant(0)
	if known != nil {
		born = known.DeliveredAt
	}
	if c := m.chosen(v, born, false); c.Factor != 0 {
		return c, acuity.ByADT
	}
	if born == 0 {
		born = v.Timeline.OpenedAt // without a known birth, the newborn's admission counts as the birth (docs/decisions.md#birth)
	}
	care := adt.CareFacts{Newborn: true, At: s.From, PlacedAt: s.From, Born: born, Label: r.Label, Area: r.Area}
	return adt.ChoosePrimary(&care), acuity.ByADT
}

// addBabyEvidence adds to a mother's entry the evidence from statements, diagnoses and censuses about her newborns.
func (m *Builder) addBabyEvidence(r *registry.Room, p *acuity.PatientChart, mother *registry.Visit) {
	baby := uint8(0)
	for _, s := range m.present {
		if !s.V.Timeline.Newborn || !m.isOf(r, s.V, mother) {
			continue
		}
		baby++
		e := &m.evidenceInput
		m.gatherStatements(e, registry.Binding{V: s.V, Kind: registry.ToVisit}, r)
		addDiagnoses(e, &s.V.Timeline)
		addConditions(e)
		addCensus(e, s.V.CensusFacts())
		for _, ev := range evidence.Fold(e, &m.Matcher.Reader) {
			ev.Baby = baby
			p.Evidence = append(p.Evidence, ev)
		}
	}
}
