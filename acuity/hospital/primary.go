package hospital

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// careFacts is what the primary of a patient is chosen from: an ADT event or a census
// row.
type careFacts struct {
	Explicit     catalogue.Factor // primaryFactor of the sender; 0: none
	LocalPrimary catalogue.Factor // of the hospital's own table; 0: none

	PointOfCare string // PV1-3.1
	Area        string // of the room, by census
	Service     string
	Label       string // of the room
	Class       byte
	Reasons     acuity.Reasons
	Newborn     bool

	At          acuity.Instant // of the event or the census: the clock of a primary without another one
	PlacedAt    acuity.Instant // when the patient came to the room
	Birth       acuity.Instant // 0: not yet
	CesareanDue bool           // O82 stands
	Cesarean    bool           // delivery mode, or the operation before
	Born        acuity.Instant // of a newborn; 0: unknown

	kind area // see areaOf; 0: not looked up yet
}

// choice is a primary with its clock and why it was chosen.
type choice struct {
	Factor     catalogue.Factor // 0: nothing says what she is
	Since      acuity.Instant
	AssignedBy string // stable code: explicit, site, area:…, reason:…, rule:…
	Assumed    bool   // a guess on the safe side
	clocked    bool   // Since is given by the rule, not by the event
}

// The spans of the table of areas (clinical-input 4).
const (
	firstRecovery = 2 * time.Hour // after a birth, one to one
	lastRecovery  = 6 * time.Hour // after a birth, until the couplet is stable
	freshNewborn  = 6 * time.Hour // a newborn in transition
)

// areaOf returns the kind of place of a patient: the first of the texts with a word of a
// definite area, else the first with a general one.
func (b *placeBook) areaOf(f *careFacts) area {
	first := func(from, to area) area {
		return cmp.Or(b.area(f.PointOfCare, from, to), b.area(f.Area, from, to), b.serviceArea(f.Service, from, to), b.area(f.Label, from, to))
	}
	if a := cmp.Or(first(areaTriage, areaPostpartum), first(areaObstetric, areaMedical)); a != areaUnknown {
		return a
	}
	if strings.ContainsFunc(f.Service, unicode.IsLetter) {
		return areaMedical // a service that is neither of the field nor of newborns
	}
	return areaObstetric // unknown in a unit of the field: a guess, flagged as such
}

// primaryOf chooses the primary of a patient: the explicit one, then the hospital's
// table, then the table of areas. A modifier never gives a primary (X2). A newborn never
// gets the primary of a mother.
func primaryOf(f *careFacts) choice {
	switch {
	case f.Explicit != 0:
		return choice{Factor: f.Explicit, Since: f.At, AssignedBy: "explicit"}
	case f.LocalPrimary != 0:
		return choice{Factor: f.LocalPrimary, Since: f.At, AssignedBy: "site"}
	case f.PointOfCare == "" && f.Area == "" && f.Service == "" && f.Class == 0 && !f.Newborn:
		return choice{}
	}
	b := places()
	a := f.kind
	if a == areaUnknown {
		a = b.areaOf(f)
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
		c := choice{Factor: r.factor, Since: f.At, AssignedBy: r.assignedBy, Assumed: r.assumed}
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
	return choice{}
}

// circumstances returns which conditions of the rules hold.
func (f *careFacts) circumstances() circumstance {
	var when circumstance
	set := func(c circumstance, is bool) {
		if is {
			when |= c
		}
	}
	set(whenAdmitted, f.Class == 'I')
	set(whenOutpatient, f.Class == 'O' || f.Class == 'E' || f.Class == 'R' || f.Class == 'P')
	set(whenCesareanDue, f.CesareanDue)
	set(whenAfterCesarean, f.CesareanDue || f.Cesarean || f.Reasons&places().cesarean != 0)
	if f.Birth != 0 {
		// How long ago the birth was counts when she comes to the place: a
		// message that tells nothing new must not change the kind of patient.
		age := f.PlacedAt.Sub(f.Birth)
		set(whenBirth, true)
		set(whenBirth2h, age < firstRecovery)
		set(whenBirth6h, age < lastRecovery)
	}
	set(whenBorn6h, f.Born != 0 && f.PlacedAt.Sub(f.Born) < freshNewborn)
	return when
}

// primary returns the primary that the events of the visit give it now, with its clock.
// The clock runs on across a move to a place with the same factor. It starts anew with
// another factor (R13), with a conversion, and with an admission to another area (R11).
// An explicit primary holds for the area where it was given (X12). birth and cesarean
// come from other feeds; 0 and false: none.
func (s *timeline) primary(t *roomTable, birth acuity.Instant, cesarean bool) choice {
	if !s.open {
		return choice{}
	}
	p := primaryFold{timeline: s, table: t, birth: birth, cesarean: cesarean}
	for i := range s.events {
		step := &s.events[i]
		if step.disposition != eventApplied && step.disposition != eventSameRoom || isCancel(step.event.Type) {
			continue
		}
		if p.last != nil && birth != 0 && p.last.at < birth && birth <= step.at {
			p.again()
		}
		p.step(step)
	}
	p.again()
	return p.now
}

// primaryFold follows the primary of a visit along its events.
type primaryFold struct {
	timeline *timeline
	table    *roomTable
	birth    acuity.Instant // by other feeds
	cesarean bool           // by other feeds, or by an operation

	now      choice
	explicit catalogue.Factor
	here     area
	where    string // point of care, which distinguishes areas of unknown kind
	last     *appliedEvent
}

// step takes the next event.
func (p *primaryFold) step(t *appliedEvent) {
	e := t.event
	if t.closes {
		*p = primaryFold{timeline: p.timeline, table: p.table, birth: p.birth, cesarean: p.cesarean}
		return
	}
	if t.stay < 0 || p.timeline.stays[t.stay].place().IsZero() {
		// Known before the admission, or without a place: kept for the next one.
		if e.Primary != 0 {
			p.explicit = e.Primary
		}
		return
	}
	if t.disposition == eventSameRoom {
		return
	}
	f := p.facts(t, t.at)
	here := f.kind
	admit := e.Type == acuity.A01 || e.Type == acuity.A04 || e.Type == acuity.A06 || e.Type == acuity.A07
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
	p.set(primaryOf(&f), t.begins || (admit && changed))
}

// again chooses once more for the last place, with a birth that another feed reported
// since.
func (p *primaryFold) again() {
	if p.last == nil || p.birth == 0 {
		return
	}
	f := p.facts(p.last, max(p.last.at, p.birth))
	f.Birth = codes.Soonest(f.Birth, p.birth)
	f.Explicit = p.explicit
	p.set(primaryOf(&f), false)
}

// set takes a choice; the same factor as before keeps its clock.
func (p *primaryFold) set(c choice, restart bool) {
	if c.Factor == p.now.Factor && !restart && !c.clocked {
		c.Since = p.now.Since
	}
	p.now = c
	if c.Factor == places().operation {
		p.cesarean = true
	}
}

// facts returns what is known of the patient right after an event.
func (p *primaryFold) facts(t *appliedEvent, at acuity.Instant) careFacts {
	here := &p.timeline.stays[t.stay]
	place := p.table.find(here.place())
	f := careFacts{
		LocalPrimary: place.localPrimary, PointOfCare: place.pointOfCare, Area: place.area, Service: t.service, Label: place.label, kind: place.kindFor(t.service),
		Class: t.class, Reasons: t.reasons, Newborn: p.timeline.newborn,
		At: at, PlacedAt: here.From, Birth: t.birth, CesareanDue: t.cesarean, Cesarean: p.cesarean,
	}
	if p.birth != 0 && p.birth <= t.at {
		f.Birth = codes.Soonest(f.Birth, p.birth)
	}
	if p.timeline.newborn {
		f.Born = p.timeline.stays[0].From
		if p.birth != 0 {
			f.Born = p.birth
		}
	}
	return f
}
