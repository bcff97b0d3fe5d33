package hospital

import (
	"slices"
	"strconv"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/location"
)

// chartBuilder makes the charts of rooms from the facts of those who are in them.
type chartBuilder struct {
	*registry
	names      *names
	matcher    *matcher
	locations  *locations
	statements *statements

	belonging int  // rooms that belong to the unit
	crowded   bool // more rooms belong to the unit than it may have

	// Memory for the next room.
	spare         acuity.RoomChart
	present       []roomStay // of the room whose chart is built, see seePresent
	lastComer     *visit     // the patient of them who came last
	evidenceInput evidence.Input
}

// rebuildAll makes the charts of touched rooms.
func (m *chartBuilder) rebuildAll(list []*room) {
	for _, r := range list {
		r.marks &^= touched
		before := r.chart
		r.chart, m.spare = m.spare, acuity.RoomChart{}
		m.rebuild(r)
		if r.chart.Equal(&before) {
			r.chart, before = before, r.chart
		} else {
			m.work.markRoom(r, unshown|rejudge)
		}
		m.spare = before
	}
}

// rebuild makes the chart of a room from the facts of those who are in it.
func (m *chartBuilder) rebuild(r *room) {
	if r.own() {
		if label, own := m.locations.table.Label(r.ID); own && label != r.Label {
			r.Label = label
			m.work.markRoom(r, unsaved)
		}
	}
	c := &r.chart
	c.ID, c.Label, c.Area, c.Listed = r.ID, r.Label, r.Area, r.known()
	if c.Label == "" {
		c.Label = strconv.Itoa(int(r.ID))
	}
	c.Patients, c.NewestSignal = c.Patients[:0], 0
	m.seePresent(r)
	for _, s := range m.present {
		if !s.v.timeline.Newborn {
			m.admit(r, s.v, s.From)
		}
	}
	if r.anonymous() {
		m.admitOccupant(r)
	}
	m.admitAlone(r)
	switch {
	case len(c.Patients) > 0:
		c.Status = acuity.RoomOccupied
	case r.Listed && r.Status == acuity.RoomBlocked:
		c.Status = acuity.RoomBlocked
	case c.Listed:
		c.Status = acuity.RoomEmpty
	default:
		c.Status = acuity.RoomUnknown
		m.admitUnknown(r)
		if len(c.Patients) == 0 && len(m.statements.withdrawn[r.ID]) > 0 {
			c.Status = acuity.RoomEmpty
		}
	}
}

// admit adds the entry of a mother, or of another patient who is no newborn.
func (m *chartBuilder) admit(r *room, v *visit, arrived acuity.Instant) {
	p := r.entry()
	p.Visit, p.Arrived = v.ID, arrived
	e := &m.evidenceInput
	m.gatherStatements(e, binding{v, toVisit}, r)
	known := v.censusFacts()
	addDiagnoses(e, &v.timeline)
	bornBy, cesareanBy := addConditions(e)
	addCensus(e, known)
	e.Babies = v.timeline.Babies

	birth, cesarean := acuity.Instant(0), false
	if known != nil {
		birth, cesarean = known.birth(), known.Cesarean || known.cesarean()
	}
	birth, cesarean = codes.Soonest(birth, bornBy), cesarean || cesareanBy
	for _, n := range v.babies {
		if n.timeline.OpenedAt != 0 {
			birth = codes.Soonest(birth, n.timeline.OpenedAt) // docs/decisions.md#birth
			e.Babies = max(e.Babies, n.timeline.Babies, n.birthOrder)
		}
	}
	chosen, kind := m.primary(r, v, known, birth, cesarean)
	p.Mother = !chosen.Factor.IsNewborn()
	addPrimary(e, chosen, kind, v.feed(), 0)
	p.Birth = codes.Soonest(birth, v.timeline.Birth)
	if chosen.Factor.IsPostpartum() {
		p.Birth = codes.Soonest(p.Birth, chosen.Since)
	}
	m.addBabies(r, e, v, known)
	p.Evidence = append(p.Evidence[:0], evidence.Fold(e, &m.matcher.reader)...)
	p.UnnamedFetus = e.UnnamedFetus
	m.addBabyEvidence(r, p, v)
}

// admitOccupant adds the entry of an occupant whom a census sees without a visit.
func (m *chartBuilder) admitOccupant(r *room) {
	p, o := r.entry(), r.Occupant
	p.Visit, p.Arrived = "room:"+strconv.Itoa(int(r.ID)), o.First
	e := &m.evidenceInput
	m.gatherStatements(e, binding{kind: toOccupant}, r)
	addCensus(e, &o.Facts)
	p.Birth = o.Facts.birth()
	chosen := r.primaryByCensus(&o.Facts, o.First, p.Birth)
	p.Mother = !chosen.Factor.IsNewborn()
	addPrimary(e, chosen, acuity.ByCensus, acuity.ChannelCensus, 0)
	if chosen.Factor.IsPostpartum() {
		p.Birth = codes.Soonest(p.Birth, chosen.Since)
	}
	m.addBabies(r, e, nil, &o.Facts)
	p.Evidence = append(p.Evidence[:0], evidence.Fold(e, &m.matcher.reader)...)
	p.UnnamedFetus = e.UnnamedFetus
	m.addBabyEvidence(r, p, nil)
}

// admitUnknown adds the entry of a room that only clinical ingest knows.
func (m *chartBuilder) admitUnknown(r *room) {
	e := &m.evidenceInput
	m.gatherStatements(e, binding{kind: toRoom}, r)
	for h := range r.statements.All {
		if h.Owner.Kind == toRoom {
			r.chart.NewestSignal = max(r.chart.NewestSignal, h.OrderTime())
		}
	}
	list := evidence.Fold(e, &m.matcher.reader)
	if len(list) == 0 {
		return
	}
	p := r.entry()
	p.Visit, p.Arrived, p.Birth, p.Mother = "room:"+strconv.Itoa(int(r.ID)), 0, 0, true
	p.Evidence, p.UnnamedFetus = append(p.Evidence[:0], list...), e.UnnamedFetus
}

// entry appends an entry to the chart, in the memory of an old one.
func (r *room) entry() *acuity.PatientChart {
	n := len(r.chart.Patients)
	if n < cap(r.chart.Patients) {
		r.chart.Patients = r.chart.Patients[:n+1]
	} else {
		r.chart.Patients = append(r.chart.Patients, acuity.PatientChart{})
	}
	return &r.chart.Patients[n]
}

// feed returns the feed that placed the visit where it is.
func (v *visit) feed() acuity.Channel {
	if n := len(v.timeline.Stays); n > 0 {
		return v.timeline.Stays[n-1].Placing.Feed
	}
	return acuity.ChannelADT
}

// primary returns the primary of a visit by ADT and census: the newer of the two. An
// explicit primary of a census holds until ADT moves the patient to another area (docs/decisions.md#explicit-primary).
func (m *chartBuilder) primary(
	r *room, v *visit, known *CensusFacts, birth acuity.Instant, cesarean bool,
) (adt.Primary, acuity.EvidenceKind) {
	byADT := m.chosen(v, birth, cesarean)
	if known == nil {
		return byADT, acuity.ByADT
	}
	stay, here := v.censusStayIn(r)
	placed := v.timeline.PlacedAt()
	if n := len(v.timeline.Stays); n > 0 && v.timeline.Stays[n-1].Placing.NamesNoPlace(m.locations.table.IsWard) {
		placed = 0 // the census knows where she is (docs/decisions.md#encounter-without-location)
	}
	same := placed != 0 && m.placedIn(v, r)
	census := r.primaryByCensus(known, max(stay.First, stay.From), birth)
	switch {
	case byADT.Factor == 0:
		return census, acuity.ByCensus
	case known.Primary != 0:
		if placed <= stay.Last || m.sameArea(v, known) {
			return census, acuity.ByCensus
		}
	case !here || same || census.Factor == 0: // ADT knows more than the name of an area
	case placed <= stay.Last:
		if census.Factor == byADT.Factor {
			return byADT, acuity.ByADT
		}
		return census, acuity.ByCensus
	}
	return byADT, acuity.ByADT
}

// chosen returns the primary of a visit by ADT. It depends on the timeline and on what
// is known of her births.
func (m *chartBuilder) chosen(v *visit, birth acuity.Instant, cesarean bool) adt.Primary {
	if c := &v.primary; !c.known || c.birth != birth || c.cesarean != cesarean {
		*c = chosen{true, cesarean, birth, v.timeline.Primary(m.locations.table.Describe, birth, cesarean)}
	}
	return v.primary.choice
}

// censusStayIn returns the newest census stay, and whether it is in the room.
func (v *visit) censusStayIn(r *room) (CensusStay, bool) {
	if v.occupantOf != nil && v.occupantOf.Occupant != nil {
		return v.occupantOf.Occupant.CensusStay, v.occupantOf == r
	}
	if n := len(v.Stays); n > 0 {
		return v.Stays[n-1], v.Stays[n-1].Room == r.ID
	}
	return CensusStay{}, false
}

// placedIn reports whether ADT has the visit in the room.
func (m *chartBuilder) placedIn(v *visit, r *room) bool {
	p := m.locations.table.Placement(v.timeline.Stays[len(v.timeline.Stays)-1].Place())
	return p.Kind == location.InRoom && p.Room == r.ID
}

// sameArea reports whether ADT has the visit in an area of the same kind as the census
// row.
func (m *chartBuilder) sameArea(v *visit, f *CensusFacts) bool {
	place := m.locations.table.Describe(v.timeline.Stays[len(v.timeline.Stays)-1].Place())
	return place.KindFor(v.timeline.Service) == (&adt.CareFacts{Area: f.Area, Service: f.Service}).Kind()
}

// primaryByCensus returns the primary that a census row gives.
func (r *room) primaryByCensus(f *CensusFacts, from, birth acuity.Instant) adt.Primary {
	at := from
	if f.PrimarySince != 0 {
		at = f.PrimarySince
	}
	return adt.ChoosePrimary(&adt.CareFacts{
		Explicit: f.Primary, Area: f.Area, Service: f.Service, Label: r.Label, Class: f.Class,
		At: at, PlacedAt: at, Birth: birth, Cesarean: f.Cesarean, CesareanDue: f.cesarean(), Newborn: f.Class == 'N', Born: birth,
	})
}

// addDiagnoses adds the diagnoses that stand by ADT to the input.
func addDiagnoses(e *evidence.Input, t *adt.Timeline) {
	for _, d := range t.Diagnoses {
		e.Diagnoses = append(e.Diagnoses, evidence.Diagnosis{Diagnosis: d.Diagnosis, Start: d.Start, Last: d.Last, Feed: d.Feed})
	}
}

// addConditions adds the conditions that stand to the input. It returns the earliest birth
// among them, 0: none, and whether a birth is, or will be, by cesarean.
func addConditions(e *evidence.Input) (birth acuity.Instant, cesarean bool) {
	for d, codings := range e.Conditions {
		e.Diagnoses = append(e.Diagnoses, d)
		for _, c := range codings {
			other := acuity.Diagnosis{System: c.System, Code: c.Code}
			if adt.IsBirth(&other) {
				birth = codes.Soonest(birth, d.Start)
			}
			cesarean = cesarean || adt.IsCesarean(&other)
		}
	}
	return birth, cesarean
}

// addCensus adds what censuses say to the input; nil: nothing.
func addCensus(e *evidence.Input, f *CensusFacts) {
	if f == nil {
		return
	}
	e.Listed = append(e.Listed, f.Listed...)
	for i := range f.Diagnoses {
		d := &f.Diagnoses[i]
		e.Diagnoses = append(e.Diagnoses, evidence.Diagnosis{Diagnosis: d.Diagnosis, Start: d.Start, Last: d.Last, Feed: acuity.ChannelCensus})
	}
}

// addPrimary adds a primary to the input; the zero choice adds nothing.
func addPrimary(e *evidence.Input, c adt.Primary, kind acuity.EvidenceKind, feed acuity.Channel, baby uint8) {
	if c.Factor == 0 {
		return
	}
	ev := acuity.Evidence{
		Factor: c.Factor, Baby: baby, Kind: kind, Start: c.Since, Last: c.Since,
		AssignedBy: c.AssignedBy, Source: acuity.Source{Feed: feed},
	}
	if kind == acuity.ByCensus {
		ev.Source.Feed = acuity.ChannelCensus
	}
	if c.AssignedBy == "site" {
		ev.Kind = acuity.ByLocalRule
	}
	e.Primaries = append(e.Primaries, ev)
}

// gatherStatements begins the input of b with where its statements are: those settled
// with it, and those of the rooms where it was.
func (m *chartBuilder) gatherStatements(e *evidence.Input, b binding, r *room) {
	e.Reset(b.owner())
	if !m.work.plain {
		at := &r.cache
		if b.v != nil {
			at = &b.v.cache
		}
		if *at == nil {
			*at = &evidence.Cache{}
		}
		e.Cache = *at
	}
	if b.v == nil {
		e.Statements = append(e.Statements, m.matcher.rereadAll(&r.statements))
		return
	}
	e.Statements = append(e.Statements, m.matcher.rereadAll(&b.v.statements))
	for _, o := range b.v.joined.rest() {
		e.Statements = append(e.Statements, m.matcher.rereadAll(&o.statements))
	}
	for i, s := range b.v.spans {
		if s.Kind != location.InRoom || slices.ContainsFunc(b.v.spans[:i], func(o locationSpan) bool { return o.Placement == s.Placement }) {
			continue
		}
		if in := m.room(s.Room); in != nil {
			e.Statements = append(e.Statements, m.matcher.rereadAll(&in.statements))
		}
	}
	m.gatherResourceStatements(e, b.v)
	e.SortResources()
}
