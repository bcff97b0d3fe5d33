package adt

import (
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/codes"
)

// nothingSaid is the place of all events without a place.
var nothingSaid = &acuity.Location{}

// StoreEvent returns an event as it is kept. It copies all texts but the identity, so
// that it does not hold the whole observation or record. It shares what it can with the
// event before it in its visit; nil: e is the first.
func StoreEvent(e *acuity.Event, before *Event) Event {
	if before == nil {
		before = &noEvent
	}
	return Event{
		ID: e.ID, At: e.At, RecordedAt: e.RecordedAt, ReceivedAt: e.ReceivedAt,
		Place: storePlace(&e.Place, before), Prior: storePlace(&e.Prior, before),
		naming: storeNaming(e, before.naming), extra: storeExtra(e, before.extra),
		Type: e.Type, Precision: e.Precision, CancelsPrecision: e.CancelsPrecision,
		Class: e.Class, AdmissionType: e.AdmissionType, Babies: e.Babies, Primary: e.Primary,
		DiagnosisMode: e.DiagnosisMode, PlaceNull: e.PlaceNull, Newborn: e.Newborn, Void: e.Void,
	}
}

// noEvent stands before the first event of a visit.
var noEvent = Event{Place: nothingSaid, Prior: nothingSaid, naming: &naming{}, extra: noExtra}

// StoreEvents returns the events of one visit as they are kept. It copies their identities too.
func StoreEvents(list []acuity.Event) []Event {
	if len(list) == 0 {
		return nil
	}
	events := make([]Event, len(list))
	before := (*Event)(nil)
	for i := range list {
		events[i] = StoreEvent(&list[i], before)
		before = &events[i]
		before.ID = strings.Clone(before.ID)
	}
	return events
}

func storePlace(l *acuity.Location, before *Event) *acuity.Location {
	switch *l {
	case acuity.Location{}:
		return nothingSaid
	case *before.Place:
		return before.Place
	case *before.Prior:
		return before.Prior
	}
	p := *l
	cloneTexts(&p.Label, &p.PointOfCare, &p.Room, &p.Bed, &p.Facility)
	return &p
}

func cloneTexts(texts ...*string) {
	for _, text := range texts {
		*text = strings.Clone(*text)
	}
}

// storeNaming returns the names of an event, which are nearly always those of the one before.
func storeNaming(e *acuity.Event, before *naming) *naming {
	n := naming{e.Feed, e.Patient, e.MotherVisit, e.MotherPatient, e.Service, e.Resource, e.Encounter, e.Subject}
	if n == *before {
		return before
	}
	for _, p := range [...]struct{ to, from *string }{
		{&n.Patient, &before.Patient},
		{&n.MotherVisit, &before.MotherVisit},
		{&n.MotherPatient, &before.MotherPatient},
		{&n.Service, &before.Service},
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

// storeExtra returns the rare fields of an event. A feed says the same diagnoses again and
// again.
func storeExtra(e *acuity.Event, before *extra) *extra {
	x := extra{e.Digest, e.Cancels, e.Reasons, e.UpdatedAt, e.Diagnoses}
	if x.isZero() {
		return noExtra
	}
	x.Digest = strings.Clone(x.Digest)
	if x.Diagnoses = before.Diagnoses; slices.Equal(e.Diagnoses, before.Diagnoses) {
		return &x
	}
	x.Diagnoses = slices.Clone(e.Diagnoses)
	for i := range x.Diagnoses {
		d := &x.Diagnoses[i]
		d.System = codes.System(strings.Clone(string(d.System)))
		cloneTexts(&d.Code, &d.Display)
	}
	return &x
}
