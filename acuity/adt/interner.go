package adt

import (
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
)

// Interner makes events small: it has one copy of each place and text that the events of a
// hospital repeat. The zero value is ready. One goroutine uses it.
type Interner struct {
	places map[acuity.Location]*acuity.Location
	texts  map[string]string
}

// capShared bounds the caches of an interner; beyond it, they start anew, and events keep
// their copies.
const capShared = 1024

// nothingSaid is the place of all events without a place.
var nothingSaid = &acuity.Location{}

// Intern returns an event as it is kept. It copies all texts but the identity, so
// that it does not hold the whole observation or record. It shares what it can with the
// event before it in its visit; nil: e is the first.
func (s *Interner) Intern(e *acuity.Event, before *Event) Event {
	if before == nil {
		before = &noEvent
	}
	return Event{
		ID: e.ID, At: e.At, RecordedAt: e.RecordedAt, ReceivedAt: e.ReceivedAt,
		Place: s.place(&e.Place), Prior: s.place(&e.Prior),
		naming: s.naming(e, before.naming), extra: s.extra(e, before.extra),
		Type: e.Type, Precision: e.Precision, CancelsPrecision: e.CancelsPrecision,
		Class: e.Class, AdmissionType: e.AdmissionType, Babies: e.Babies, Primary: e.Primary,
		DiagnosisMode: e.DiagnosisMode, PlaceNull: e.PlaceNull, Newborn: e.Newborn, Void: e.Void,
	}
}

// noEvent stands before the first event of a visit.
var noEvent = Event{naming: &naming{}, extra: noExtra}

// InternAll returns the events of one visit as they are kept. It copies their identities too.
func (s *Interner) InternAll(list []acuity.Event) []Event {
	if len(list) == 0 {
		return nil
	}
	events := make([]Event, len(list))
	before := (*Event)(nil)
	for i := range list {
		events[i] = s.Intern(&list[i], before)
		before = &events[i]
		before.ID = strings.Clone(before.ID)
	}
	return events
}

// place returns the shared copy of a place.
func (s *Interner) place(l *acuity.Location) *acuity.Location {
	if *l == (acuity.Location{}) {
		return nothingSaid
	}
	if p := s.places[*l]; p != nil {
		return p
	}
	if s.places == nil || len(s.places) >= capShared {
		s.places = map[acuity.Location]*acuity.Location{}
	}
	p := *l
	for _, text := range [...]*string{&p.Label, &p.PointOfCare, &p.Room, &p.Bed, &p.Facility} {
		*text = s.Text(*text)
	}
	s.places[p] = &p
	return &p
}

// Text returns the shared copy of a text. It is for texts with few values.
func (s *Interner) Text(text string) string {
	if text == "" {
		return ""
	}
	if one, known := s.texts[text]; known {
		return one
	}
	if s.texts == nil || len(s.texts) >= capShared {
		s.texts = map[string]string{}
	}
	text = strings.Clone(text)
	s.texts[text] = text
	return text
}

// naming returns that of an event, which is nearly always the one before.
func (s *Interner) naming(e *acuity.Event, before *naming) *naming {
	said := naming{e.Feed, e.Patient, e.MotherVisit, e.MotherPatient, e.Service, e.Resource, e.Encounter, e.Subject}
	if said == *before {
		return before
	}
	n := said
	n.Service = s.Text(n.Service)
	for _, p := range [...]struct{ to, from *string }{
		{&n.Patient, &before.Patient},
		{&n.MotherVisit, &before.MotherVisit},
		{&n.MotherPatient, &before.MotherPatient},
		{&n.Resource, &before.Resource},
		{&n.Encounter, &before.Encounter},
		{&n.Subject, &before.Subject},
	} {
		if *p.to == *p.from {
			*p.to = *p.from
		} else {
			*p.to = strings.Clone(*p.to)
		}
	}
	return &n
}

// extra returns that of an event; a feed says the same diagnoses again and again.
func (s *Interner) extra(e *acuity.Event, before *extra) *extra {
	said := extra{e.Digest, e.Cancels, e.Reasons, e.UpdatedAt, e.Diagnoses}
	if said.isZero() {
		return noExtra
	}
	x := said
	x.Digest = strings.Clone(x.Digest)
	if x.Diagnoses = before.Diagnoses; slices.Equal(e.Diagnoses, before.Diagnoses) {
		return &x
	}
	x.Diagnoses = slices.Clone(e.Diagnoses)
	for i := range x.Diagnoses {
		d := &x.Diagnoses[i]
		d.System, d.Code, d.Display = codes.System(s.Text(string(d.System))), s.Text(d.Code), s.Text(d.Display)
	}
	return &x
}
