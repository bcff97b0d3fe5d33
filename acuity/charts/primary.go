package charts

import (
	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// primary returns the primary factor of a visit and the kind of its source. An explicit primary factor from a census
// applies until ADT moves the patient to a different area (docs/decisions.md#explicit-primary). A factor that is
// derived from the census row applies only if ADT gives no factor, or if the visit's newest census row is about room
// r and ADT neither places the visit in r nor has moved the visit since that census.
func (m *Builder) primary(
	r *registry.Room, v *registry.Visit, known *facts.CensusFacts, about adt.Knowledge,
) (adt.Primary, acuity.EvidenceKind) {
	byADT := m.chosen(v, about)
	if known == nil {
		return byADT, acuity.ByADT
	}
	stay, here := censusStayIn(v, r)
	placed := v.Timeline.PlacedAt()
	if n := len(v.Timeline.Stays); n > 0 && v.Timeline.Stays[n-1].Placing.NamesNoPlace(m.Locations.Table.IsWard) {
		placed = 0 // the census determines the location (docs/decisions.md#encounter-without-location)
	}
	same := placed != 0 && m.placedIn(v, r)
	census := PrimaryByCensus(r, known, max(stay.First, stay.From), about)
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
// knowledge from other sources on which the factor depends.
func (m *Builder) chosen(v *registry.Visit, about adt.Knowledge) adt.Primary {
	if c := &v.Primary; !c.Known || c.By != about {
		*c = registry.Chosen{Known: true, By: about, Choice: v.Timeline.Primary(m.Locations.Table.Describe, about)}
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
// is the default start of the factor's clock.
func PrimaryByCensus(r *registry.Room, f *facts.CensusFacts, from acuity.Instant, about adt.Knowledge) adt.Primary {
	at := from
	if f.PrimarySince != 0 {
		at = f.PrimarySince
	}
	return adt.ChoosePrimary(&adt.CareFacts{
		Explicit: f.Primary, Area: f.Area, Service: f.Service, Label: r.Label, Class: f.Class,
		At: at, PlacedAt: at, Birth: about.Birth, Pregnant: about.Pregnant, Unborn: about.Unborn,
		Recovery: about.Recovery, Cesarean: f.Cesarean, CesareanDue: f.TellsCesarean(), Newborn: f.Class == 'N', Born: about.Birth,
	})
}

// impliedBirth returns the latest possible time of the birth according to a primary factor, or 0 if the factor does not
// imply a birth. A factor that only the location gives implies no birth of a patient who is pregnant.
func impliedBirth(chosen *adt.Primary, pregnant bool) acuity.Instant {
	if !chosen.Factor.IsPostpartum() || chosen.ByPlace && pregnant {
		return 0
	}
	return chosen.Since
}

// isEnded reports whether the birth ends a primary factor. For born and delivered, see foldEntry. The input e must not
// contain the primary factor yet.
func (m *Builder) isEnded(chosen *adt.Primary, birth acuity.Instant, e *evidence.Input, born int, delivered bool) bool {
	if birth == 0 || !chosen.Factor.EndsAtBirth() {
		return false
	}
	_ = evidence.Fold(e, &m.Matcher.Reader)
	return delivered || !isUnborn(e, born)
}
