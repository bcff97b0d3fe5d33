// Package charts builds the chart of each room from the facts about the patients in it.
package charts

import (
	"slices"
	"strconv"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/codes"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/location"
	"svc/acuity/registry"
	"svc/acuity/stays"
)

// Builder builds the charts of rooms from the facts about the patients in them.
type Builder struct {
	*registry.Registry
	Names      *identity.Names
	Matcher    *identity.Matcher
	Locations  *identity.Locations
	Statements *stays.Statements

	Belonging int  // number of rooms that belong to the unit
	Crowded   bool // whether more rooms belong to the unit than the maximum

	// The fields below are scratch memory that is reused from room to room.
	spare         acuity.RoomChart
	present       []registry.RoomStay // patients in the room whose chart is built, see choosePresent
	lastComer     *registry.Visit     // the patient in present, other than a newborn, who arrived last
	evidenceInput evidence.Input
}

// RebuildAll rebuilds the charts of the given rooms, and clears the rooms' Touched marks.
func (m *Builder) RebuildAll(list []*registry.Room) {
	for _, r := range list {
		r.Marks &^= registry.Touched
		before := r.Chart
		r.Chart, m.spare = m.spare, acuity.RoomChart{}
		m.rebuild(r)
		if r.Chart.Equal(&before) {
			r.Chart, before = before, r.Chart
		} else {
			m.Work.MarkRoom(r, registry.Unshown|registry.Rejudge)
		}
		m.spare = before
	}
}

// rebuild rebuilds the chart of a room from the facts of the patients in it.
func (m *Builder) rebuild(r *registry.Room) {
	if r.IsOwn() {
		if label, own := m.Locations.Table.Label(r.ID); own && label != r.Label {
			r.Label = label
			m.Work.MarkRoom(r, registry.Unsaved)
		}
	}
	c := &r.Chart
	c.ID, c.Label, c.Area, c.Listed = r.ID, r.Label, r.Area, r.IsKnown()
	if c.Label == "" {
		c.Label = strconv.Itoa(int(r.ID))
	}
	c.Patients, c.NewestSignal = c.Patients[:0], 0
	m.choosePresent(r)
	for _, s := range m.present {
		if !s.V.Timeline.Newborn {
			m.admit(r, s.V, s.From)
		}
	}
	if r.Anonymous() {
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
		if len(c.Patients) == 0 && len(m.Statements.Withdrawn[r.ID]) > 0 {
			c.Status = acuity.RoomEmpty
		}
	}
}

// admit adds an entry to the room's chart for a mother, or for any other patient who is not a newborn.
func (m *Builder) admit(r *registry.Room, v *registry.Visit, arrived acuity.Instant) {
	p := addEntry(r)
	p.Visit, p.Arrived = v.ID, arrived
	e := &m.evidenceInput
	m.gatherStatements(e, registry.Binding{V: v, Kind: registry.ToVisit}, r)
	known := v.CensusFacts()
	addDiagnoses(e, &v.Timeline)
	bornBy, cesareanBy, delivered := addConditions(e)
	addCensus(e, known)
	e.Babies = v.Timeline.Babies

	birth, cesarean := acuity.Instant(0), false
	if known != nil {
		birth, cesarean = known.Birth(), known.Cesarean || known.TellsCesarean()
	}
	birth, cesarean = codes.Soonest(birth, bornBy), cesarean || cesareanBy
	born := 0 // number of newborns whose birth is known
	for _, n := range v.Babies {
		if n.Timeline.OpenedAt != 0 {
			born++
			birth = codes.Soonest(birth, n.Timeline.OpenedAt) // docs/decisions.md#birth
			e.Babies = max(e.Babies, n.Timeline.Babies, n.BirthOrder)
		}
	}
	chosen, kind := m.primary(r, v, known, birth, cesarean)
	p.Mother = !chosen.Factor.IsNewborn()
	addPrimary(e, chosen, kind, v.Feed(), 0)
	p.Birth = codes.Soonest(birth, v.Timeline.Birth)
	if chosen.Factor.IsPostpartum() {
		p.Birth = codes.Soonest(p.Birth, chosen.Since)
	}
	m.addBabies(r, e, v, known)
	if known != nil {
		born = max(born, len(known.Newborns))
	}
	m.foldEntry(p, e, born, delivered || chosen.AfterLabor)
	m.addBabyEvidence(r, p, v)
}

// foldEntry sets Evidence, UnnamedFetus and Unborn of p. The argument born is the number of newborns whose birth is
// known; a birth without a known newborn counts as one. The argument delivered reports whether all babies are born even
// if fewer newborns are known, as for a stillborn twin.
func (m *Builder) foldEntry(p *acuity.PatientChart, e *evidence.Input, born int, delivered bool) {
	p.Evidence = append(p.Evidence[:0], evidence.Fold(e, &m.Matcher.Reader)...)
	delivered = delivered || slices.ContainsFunc(e.Diagnoses, func(d evidence.Diagnosis) bool {
		return endsMultipleBirth(&d.Diagnosis)
	})
	p.UnnamedFetus, p.Unborn = e.UnnamedFetus, p.Birth != 0 && max(born, 1) < e.Fetuses && !delivered
}

// admitOccupant adds an entry to the room's chart for an occupant whom a census reports without a visit.
func (m *Builder) admitOccupant(r *registry.Room) {
	p, o := addEntry(r), r.Occupant
	p.Visit, p.Arrived = "room:"+strconv.Itoa(int(r.ID)), o.First
	e := &m.evidenceInput
	m.gatherStatements(e, registry.Binding{Kind: registry.ToOccupant}, r)
	addCensus(e, &o.Facts)
	p.Birth = o.Facts.Birth()
	chosen := PrimaryByCensus(r, &o.Facts, o.First, p.Birth)
	p.Mother = !chosen.Factor.IsNewborn()
	addPrimary(e, chosen, acuity.ByCensus, acuity.ChannelCensus, 0)
	if chosen.Factor.IsPostpartum() {
		p.Birth = codes.Soonest(p.Birth, chosen.Since)
	}
	m.addBabies(r, e, nil, &o.Facts)
	m.foldEntry(p, e, len(o.Facts.Newborns), chosen.AfterLabor)
	m.addBabyEvidence(r, p, nil)
}

// admitUnknown adds an entry, if any evidence is active, to the chart of a room that only clinical ingest names. It
// also sets NewestSignal.
func (m *Builder) admitUnknown(r *registry.Room) {
	e := &m.evidenceInput
	m.gatherStatements(e, registry.Binding{Kind: registry.ToRoom}, r)
	for h := range r.Statements.All {
		if h.Owner.Kind == registry.ToRoom {
			r.Chart.NewestSignal = max(r.Chart.NewestSignal, h.OrderTime())
		}
	}
	list := evidence.Fold(e, &m.Matcher.Reader)
	if len(list) == 0 {
		return
	}
	p := addEntry(r)
	p.Visit, p.Arrived, p.Birth, p.Mother = "room:"+strconv.Itoa(int(r.ID)), 0, 0, true
	p.Evidence, p.UnnamedFetus, p.Unborn = append(p.Evidence[:0], list...), e.UnnamedFetus, false
}

// addEntry appends an entry to the chart, reusing the memory of an old entry.
func addEntry(r *registry.Room) *acuity.PatientChart {
	n := len(r.Chart.Patients)
	if n < cap(r.Chart.Patients) {
		r.Chart.Patients = r.Chart.Patients[:n+1]
	} else {
		r.Chart.Patients = append(r.Chart.Patients, acuity.PatientChart{})
	}
	return &r.Chart.Patients[n]
}

// primary returns the primary factor of a visit and the kind of its source. An explicit primary factor from a census
// applies until ADT moves the patient to a different area (docs/decisions.md#explicit-primary). A factor that is
// derived from the census row applies only if ADT gives no factor, or if the visit's newest census row is about room
// r and ADT neither places the visit in r nor has moved the visit since that census.
func (m *Builder) primary(
	r *registry.Room, v *registry.Visit, known *facts.CensusFacts, birth acuity.Instant, cesarean bool,
) (adt.Primary, acuity.EvidenceKind) {
	byADT := m.chosen(v, birth, cesarean)
	if known == nil {
		return byADT, acuity.ByADT
	}
	stay, here := censusStayIn(v, r)
	placed := v.Timeline.PlacedAt()
	if n := len(v.Timeline.Stays); n > 0 && v.Timeline.Stays[n-1].Placing.NamesNoPlace(m.Locations.Table.IsWard) {
		placed = 0 // the census determines the location (docs/decisions.md#encounter-without-location)
	}
	same := placed != 0 && m.placedIn(v, r)
	census := PrimaryByCensus(r, known, max(stay.First, stay.From), birth)
	switch {
	case byADT.Factor == 0:
		return census, acuity.ByCensus
	case known.Primary != 0:
		if placed <= stay.Last || m.sameArea(v, known) {
			return census, acuity.ByCensus
		}
	case !here || same || census.Factor == 0: // ADT takes precedence: its location is more specific than a census area
	case placed <= stay.Last:
		if census.Factor == byADT.Factor {
			return byADT, acuity.ByADT
		}
		return census, acuity.ByCensus
	}
	return byADT, acuity.ByADT
}

// chosen returns the primary factor of a visit according to ADT. It caches the factor in the visit, together with the
// birth and the cesarean from other feeds on which the factor depends.
func (m *Builder) chosen(v *registry.Visit, birth acuity.Instant, cesarean bool) adt.Primary {
	if c := &v.Primary; !c.Known || c.Birth != birth || c.Cesarean != cesarean {
		*c = registry.Chosen{
			Known: true, Cesarean: cesarean, Birth: birth, Choice: v.Timeline.Primary(m.Locations.Table.Describe, birth, cesarean),
		}
	}
	return v.Primary.Choice
}

// censusStayIn returns the visit's newest census stay, and whether that stay is in the room.
func censusStayIn(v *registry.Visit, r *registry.Room) (facts.CensusStay, bool) {
	if v.OccupantOf != nil && v.OccupantOf.Occupant != nil {
		return v.OccupantOf.Occupant.CensusStay, v.OccupantOf == r
	}
	if n := len(v.Stays); n > 0 {
		return v.Stays[n-1], v.Stays[n-1].Room == r.ID
	}
	return facts.CensusStay{}, false
}

// placedIn reports whether the visit is in the room according to ADT.
func (m *Builder) placedIn(v *registry.Visit, r *registry.Room) bool {
	p := m.Locations.Table.Placement(v.Timeline.Stays[len(v.Timeline.Stays)-1].Place())
	return p.Kind == location.InRoom && p.Room == r.ID
}

// sameArea reports whether the visit's location according to ADT is of the same kind as the area in the census row.
func (m *Builder) sameArea(v *registry.Visit, f *facts.CensusFacts) bool {
	place := m.Locations.Table.Describe(v.Timeline.Stays[len(v.Timeline.Stays)-1].Place())
	return place.KindFor(v.Timeline.Service) == (&adt.CareFacts{Area: f.Area, Service: f.Service}).Kind()
}

// PrimaryByCensus returns the primary factor that the census facts f give for a patient in room r. The argument from
// is the default start of the factor's clock, and birth is the time of birth, or 0 if there has been no birth.
func PrimaryByCensus(r *registry.Room, f *facts.CensusFacts, from, birth acuity.Instant) adt.Primary {
	at := from
	if f.PrimarySince != 0 {
		at = f.PrimarySince
	}
	return adt.ChoosePrimary(&adt.CareFacts{
		Explicit: f.Primary, Area: f.Area, Service: f.Service, Label: r.Label, Class: f.Class,
		At: at, PlacedAt: at, Birth: birth, Cesarean: f.Cesarean, CesareanDue: f.TellsCesarean(), Newborn: f.Class == 'N', Born: birth,
	})
}

// addDiagnoses adds the current ADT diagnoses to the input.
func addDiagnoses(e *evidence.Input, t *adt.Timeline) {
	for _, d := range t.Diagnoses {
		e.Diagnoses = append(e.Diagnoses, evidence.Diagnosis{Diagnosis: d.Diagnosis, Start: d.Start, Last: d.Last, Feed: d.Feed})
	}
}

// addConditions adds the current conditions to the input. It returns the time of the earliest birth among them, or 0,
// whether a birth was or will be by cesarean, and whether all babies of a multiple birth are born.
func addConditions(e *evidence.Input) (birth acuity.Instant, cesarean, delivered bool) {
	for d, codings := range e.Conditions {
		e.Diagnoses = append(e.Diagnoses, d)
		for _, c := range codings {
			other := acuity.Diagnosis{System: c.System, Code: c.Code}
			if adt.IsBirth(&other) {
				birth = codes.Soonest(birth, d.Start)
			}
			cesarean = cesarean || adt.IsCesarean(&other)
			delivered = delivered || endsMultipleBirth(&other)
		}
	}
	return birth, cesarean, delivered
}

// endsMultipleBirth reports whether a diagnosis states the outcome of a multiple birth (Z37.2 to Z37.7), which is coded
// when all babies are born, live or stillborn.
func endsMultipleBirth(d *acuity.Diagnosis) bool {
	code := codes.Normal(codes.ICD10CM, d.Code)
	return adt.IsBirth(d) && len(code) > 3 && code[3] >= '2' && code[3] <= '7'
}

// addCensus adds the facts from a census to the input. If f is nil, it adds nothing.
func addCensus(e *evidence.Input, f *facts.CensusFacts) {
	if f == nil {
		return
	}
	e.Listed = append(e.Listed, f.Listed...)
	for i := range f.Diagnoses {
		d := &f.Diagnoses[i]
		e.Diagnoses = append(e.Diagnoses, evidence.Diagnosis{Diagnosis: d.Diagnosis, Start: d.Start, Last: d.Last, Feed: acuity.ChannelCensus})
	}
}

// addPrimary adds a primary factor to the input. A zero c adds nothing.
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

// Input returns the statements of an owner, as gatherStatements finds them. The result is valid until the next call or
// the next chart.
func (m *Builder) Input(b registry.Binding, r *registry.Room) *evidence.Input {
	m.gatherStatements(&m.evidenceInput, b, r)
	return &m.evidenceInput
}

// gatherStatements resets the input e for the owner b, and adds the lists of statements that may contain statements
// of this owner. If b is a visit, these are the lists of the visit, of the visits joined with it and of every room in
// which it was, and gatherStatements also adds the visit's resource statements. Otherwise, it adds only the list of
// the room r.
func (m *Builder) gatherStatements(e *evidence.Input, b registry.Binding, r *registry.Room) {
	e.Reset(b.Owner())
	if !m.Work.Plain {
		at := &r.Cache
		if b.V != nil {
			at = &b.V.Cache
		}
		if *at == nil {
			*at = &evidence.Cache{}
		}
		e.Cache = *at
	}
	if b.V == nil {
		e.Statements = append(e.Statements, m.Matcher.RereadAll(&r.Statements))
		return
	}
	e.Statements = append(e.Statements, m.Matcher.RereadAll(&b.V.Statements))
	for _, o := range b.V.Joined.Rest() {
		e.Statements = append(e.Statements, m.Matcher.RereadAll(&o.Statements))
	}
	for i, s := range b.V.Spans {
		isSame := func(o registry.LocationSpan) bool { return o.Placement == s.Placement }
		if s.Kind != location.InRoom || slices.ContainsFunc(b.V.Spans[:i], isSame) {
			continue
		}
		if in := m.Room(s.Room); in != nil {
			e.Statements = append(e.Statements, m.Matcher.RereadAll(&in.Statements))
		}
	}
	m.gatherResourceStatements(e, b.V)
	e.SortResources()
}
