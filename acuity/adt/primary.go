package adt

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// CareFacts are the facts from which a patient's primary factor is chosen. They come from an ADT event or a census
// row.
type CareFacts struct {
	Explicit     catalogue.Factor // primaryFactor, if the event or the row contains one; 0: none
	LocalPrimary catalogue.Factor // primary factor in the hospital's location table; 0: none

	PointOfCare string // PV1-3.1
	Area        string // area of the room, from the census
	Service     string
	Label       string // label of the room
	Class       byte
	Reasons     acuity.Reasons
	Newborn     bool

	At          acuity.Instant // time of the event or the census; the default start of the clock
	PlacedAt    acuity.Instant // when the patient arrived in the room
	Birth       acuity.Instant // time of birth; 0: no birth yet
	CesareanDue bool           // whether the patient has diagnosis O82
	Cesarean    bool           // whether the delivery mode is cesarean, or the patient has left an operating room after a cesarean
	Born        acuity.Instant // for a newborn, time of birth; 0: unknown

	kind Area // see Kind; 0: not determined yet
}

// Primary is a primary factor with the start of its clock and the rule that chose it.
type Primary struct {
	Factor     catalogue.Factor // 0: unknown
	Since      acuity.Instant
	AssignedBy string // stable code: explicit, site, area:…, reason:…, rule:…
	Assumed    bool   // whether Factor is a guess that errs toward more nursing
	AfterLabor bool   // whether an explicit factor or the location states that the patient has given birth to all her babies
	clocked    bool   // whether the rule, not the event, determines Since
}

// The time limits in the table of areas (docs/decisions.md#primary-table).
const (
	firstRecovery = 2 * time.Hour // how long after the birth a mother needs a nurse of her own (1:1)
	lastRecovery  = 6 * time.Hour // how long after the birth a mother and her newborn may need more care than a stable couplet
	freshNewborn  = 6 * time.Hour // how long a newborn counts as in transition
)

// ChoosePrimary chooses the primary factor of a patient: the explicit one, or else the one in the hospital's table,
// or else the one in the table of areas. If none of them applies, it returns the zero value. A modifier never implies
// a primary factor (docs/decisions.md#no-primary-from-modifier). The table of areas never gives a newborn the primary
// factor of a mother.
func ChoosePrimary(f *CareFacts) Primary {
	switch {
	case f.Explicit != 0:
		return Primary{Factor: f.Explicit, Since: f.At, AssignedBy: "explicit", AfterLabor: f.Explicit.IsPostpartum()}
	case f.LocalPrimary != 0:
		return Primary{Factor: f.LocalPrimary, Since: f.At, AssignedBy: "site", AfterLabor: f.LocalPrimary.IsPostpartum()}
	case f.PointOfCare == "" && f.Area == "" && f.Service == "" && f.Class == 0 && !f.Newborn:
		return Primary{}
	}
	b := places()
	a := f.kind
	if a == areaUnknown {
		a = f.Kind()
	}
	if f.Newborn && a != areaNICU && a != areaIntermediate {
		a = areaNursery
	}
	when := f.circumstances()
	for i := range b.rules[a] {
		r := &b.rules[a][i]
		if r.when&^when != 0 || r.reasons&^f.Reasons != 0 {
			continue
		}
		c := Primary{Factor: r.factor, Since: f.At, AssignedBy: r.assignedBy, Assumed: r.assumed}
		c.AfterLabor = c.Factor.IsPostpartum() && a != areaLabor // in a labor room, a twin may be unborn
		switch {
		case r.from == fromBirth && f.Birth != 0:
			c.Since, c.clocked = f.Birth, true
		case r.from == fromBirth2h && f.Birth != 0:
			c.Since, c.clocked = f.Birth.Add(firstRecovery), true
		case r.from == fromBorn && f.Born != 0:
			c.Since, c.clocked = f.Born, true
		}
		return c
	}
	return Primary{}
}

// circumstances returns the rule conditions that the facts meet.
func (f *CareFacts) circumstances() circumstance {
	var when circumstance
	set := func(c circumstance, holds bool) {
		if holds {
			when |= c
		}
	}
	set(whenAdmitted, f.Class == 'I')
	set(whenOutpatient, f.Class == 'O' || f.Class == 'E' || f.Class == 'R' || f.Class == 'P')
	set(whenCesareanDue, f.CesareanDue)
	set(whenAfterCesarean, f.CesareanDue || f.Cesarean || f.Reasons&places().cesarean != 0)
	if f.Birth != 0 {
		// Use the age on arrival in the room, not the current age: a message without new facts must not change the
		// primary factor.
		age := f.PlacedAt.Sub(f.Birth)
		set(whenBirth, true)
		set(whenBirth2h, age < firstRecovery)
		set(whenBirth6h, age < lastRecovery)
	}
	set(whenBorn6h, f.Born != 0 && f.PlacedAt.Sub(f.Born) < freshNewborn)
	return when
}

// Primary returns the current primary factor according to the events of the visit, or the zero value if the visit is
// not open. The factor's clock continues when the patient moves to a location with the same factor. The clock
// restarts when the factor changes (docs/decisions.md#primary-clock), when the patient changes between inpatient and
// outpatient, and on admission to a different area (docs/decisions.md#repeated-admit). An explicit primary factor
// applies in the area in which it was sent (docs/decisions.md#explicit-primary).
//
// The arguments birth and cesarean come from other feeds: the time of birth, or 0, and whether the delivery was a
// cesarean. The function find returns what the hospital knows about a location.
func (s *Timeline) Primary(find func(*acuity.Location) *CachedPlace, birth acuity.Instant, cesarean bool) Primary {
	if !s.Open {
		return Primary{}
	}
	p := s.foldPrimary(find, birth, cesarean)
	p.chooseAgain()
	return p.now
}

// foldPrimary returns the state of the computation of [Timeline.Primary] after the last event. The arguments are the
// same.
func (s *Timeline) foldPrimary(find func(*acuity.Location) *CachedPlace, birth acuity.Instant, cesarean bool) primaryFold {
	p := primaryFold{timeline: s, find: find, birth: birth, cesarean: cesarean}
	for i := range s.Events {
		step := &s.Events[i]
		if step.Disposition != Applied && step.Disposition != SameRoom || IsCancel(step.Event.Type) {
			continue
		}
		if p.last != nil && birth != 0 && p.last.At < birth && birth <= step.At {
			p.chooseAgain()
		}
		p.step(step)
	}
	return p
}

// primaryFold computes the primary factor of a visit event by event.
type primaryFold struct {
	timeline *Timeline
	find     func(*acuity.Location) *CachedPlace
	birth    acuity.Instant // time of birth that other feeds report; 0: none
	cesarean bool           // whether other feeds report a cesarean, or the patient has had a cesarean operation

	now      Primary
	explicit catalogue.Factor
	here     Area
	where    string // point of care, which distinguishes areas of unknown kind
	last     *AppliedEvent
}

// step applies one event of the timeline to p.
func (p *primaryFold) step(t *AppliedEvent) {
	e := t.Event
	if t.closes {
		*p = primaryFold{timeline: p.timeline, find: p.find, birth: p.birth, cesarean: p.cesarean}
		return
	}
	if t.stay < 0 || p.timeline.Stays[t.stay].Place().IsZero() {
		// An explicit primary factor that was sent before the admission, or without a location, is kept for the next
		// event with a location.
		if e.Primary != 0 {
			p.explicit = e.Primary
		}
		return
	}
	if t.Disposition == SameRoom {
		return
	}
	f := p.facts(t, t.At)
	here := f.kind
	admit := e.admits() || e.Type == acuity.A06 || e.Type == acuity.A07
	placing := admit || t.moved || t.begins
	changed := placing && p.last != nil && (here != p.here || (here >= areaObstetric && f.PointOfCare != p.where))
	if changed {
		p.explicit = 0
	}
	if e.Primary != 0 {
		p.explicit = e.Primary
	}
	if placing || p.last == nil {
		p.here, p.where = here, f.PointOfCare
	}
	p.last = t
	f.Explicit = p.explicit
	p.set(ChoosePrimary(&f), t.begins || (admit && changed))
}

// chooseAgain repeats the choice of the primary factor at the patient's last location, because another feed may have
// reported a birth since the previous choice.
func (p *primaryFold) chooseAgain() {
	if p.last == nil || p.birth == 0 {
		return
	}
	f := p.facts(p.last, max(p.last.At, p.birth))
	f.Birth = codes.Soonest(f.Birth, p.birth)
	f.Explicit = p.explicit
	p.set(ChoosePrimary(&f), false)
}

// set makes c the current choice. If the factor is unchanged, its clock continues, unless restart is true or the rule
// that chose c determines the start of the clock.
func (p *primaryFold) set(c Primary, restart bool) {
	if c.Factor == p.now.Factor && !restart && !c.clocked {
		c.Since = p.now.Since
	}
	p.now = c
	if c.Factor == places().operation {
		p.cesarean = true
	}
}

// facts returns what is known about the patient directly after an event. The argument at is the default start of the
// clock.
func (p *primaryFold) facts(t *AppliedEvent, at acuity.Instant) CareFacts {
	here := &p.timeline.Stays[t.stay]
	place := p.find(here.Place())
	f := CareFacts{
		LocalPrimary: place.Primary, PointOfCare: place.PointOfCare, Area: place.Area, Label: place.Label,
		Service: t.service, kind: place.KindFor(t.service),
		Class: t.class, Reasons: t.reasons, Newborn: p.timeline.Newborn,
		At: at, PlacedAt: here.From, Birth: t.birth, CesareanDue: t.cesarean, Cesarean: p.cesarean,
	}
	if p.birth != 0 && p.birth <= t.At {
		f.Birth = codes.Soonest(f.Birth, p.birth)
	}
	if p.timeline.Newborn {
		f.Born = p.timeline.Stays[0].From
		if p.birth != 0 {
			f.Born = p.birth
		}
	}
	return f
}

// Place is what a hospital knows about a location.
type Place struct {
	PointOfCare string           // PV1-3.1
	Area, Label string           // area and label of the room; "": unknown
	Primary     catalogue.Factor // the hospital's primary factor for patients at this location; 0: none
}

// CachedPlace is a Place that caches its kind. It is not safe for concurrent use.
type CachedPlace struct {
	Place

	kind    Area   // cached result of KindFor; areaUnknown: nothing is cached
	service string // service to which the cached kind applies
}

// KindFor returns the kind of the place for a patient with the given service.
func (p *CachedPlace) KindFor(service string) Area {
	if p.kind == areaUnknown || p.service != service {
		p.service = service
		p.kind = (&CareFacts{PointOfCare: p.PointOfCare, Area: p.Area, Service: service, Label: p.Label}).Kind()
	}
	return p.kind
}

// Kind returns the kind of the patient's location. It searches the point of care, the area, the service and the
// label, in this order, for a word that identifies a specific area. If there is none, it searches the same texts for
// a word that identifies a general area. If there is none either, the kind is areaMedical if the service contains a
// letter, and otherwise areaObstetric.
func (f *CareFacts) Kind() Area {
	b := places()
	first := func(from, to Area) Area {
		return cmp.Or(b.area(f.PointOfCare, from, to), b.area(f.Area, from, to), b.serviceArea(f.Service, from, to), b.area(f.Label, from, to))
	}
	if a := cmp.Or(first(areaTriage, areaPostpartum), first(areaObstetric, areaMedical)); a != areaUnknown {
		return a
	}
	if strings.ContainsFunc(f.Service, unicode.IsLetter) {
		return areaMedical // the service is neither obstetric nor for newborns
	}
	return areaObstetric // a guess for an unknown location in a maternity unit; the factor is marked as assumed
}
