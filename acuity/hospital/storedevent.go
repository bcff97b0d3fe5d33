package hospital

import (
	"slices"
	"strings"
	"sync"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// event is an [acuity.Event] as a unit keeps it. A visit keeps its events for a week after its
// discharge, and a hospital has thousands of them, so an event is small and has few
// pointers. It shares places with all events of the hospital and names with those of its
// visit, and keeps rare fields behind one pointer. What it points to never changes. The
// visit that owns it knows its id.
type event struct {
	ID                         string
	At, RecordedAt, ReceivedAt acuity.Instant
	Place, Prior               *acuity.Location // never nil
	*naming                                     // never nil
	*extra                                      // never nil

	Type                         acuity.EventType
	Precision, CancelsPrecision  acuity.Precision
	Class, AdmissionType, Babies byte
	Primary                      catalogue.Factor
	DiagnosisMode                acuity.DiagnosisMode
	PlaceNull, Newborn, Void     bool
}

// naming are the fields that events of a visit mostly share.
type naming struct {
	Feed                       acuity.Channel
	Patient                    string
	MotherVisit, MotherPatient string
	Service                    string
	Resource                   string
	Encounter, Subject         string
}

// extra are the fields that few events have.
type extra struct {
	Digest    string // only of an event without an identity
	Cancels   acuity.Instant
	Reasons   acuity.Reasons
	UpdatedAt acuity.Instant
	Diagnoses []acuity.Diagnosis
}

// noExtra is shared by all events without extra fields.
var noExtra = &extra{}

func (x *extra) isZero() bool {
	return x.Digest == "" && x.Cancels == 0 && x.Reasons == 0 && x.UpdatedAt == 0 && len(x.Diagnoses) == 0
}

// storeEvent returns an event as it is kept. It copies all texts but the identity, so
// that it does not hold the whole observation or record. It shares what it can with the
// event before it in its visit; nil: it is the first.
func (s *shared) storeEvent(e *acuity.Event, before *event) event {
	if before == nil {
		before = &noEvent
	}
	return event{
		ID: e.ID, At: e.At, RecordedAt: e.RecordedAt, ReceivedAt: e.ReceivedAt,
		Place: s.place(&e.Place), Prior: s.place(&e.Prior),
		naming: s.naming(e, before.naming), extra: s.extra(e, before.extra),
		Type: e.Type, Precision: e.Precision, CancelsPrecision: e.CancelsPrecision,
		Class: e.Class, AdmissionType: e.AdmissionType, Babies: e.Babies, Primary: e.Primary,
		DiagnosisMode: e.DiagnosisMode, PlaceNull: e.PlaceNull, Newborn: e.Newborn, Void: e.Void,
	}
}

// noEvent stands before the first event of a visit.
var noEvent = event{naming: &naming{}, extra: noExtra}

// storeEvents returns the events of one visit as they are kept.
func (s *shared) storeEvents(list []acuity.Event) []event {
	if len(list) == 0 {
		return nil
	}
	events := make([]event, len(list))
	before := (*event)(nil)
	for i := range list {
		events[i] = s.storeEvent(&list[i], before)
		before = &events[i]
		before.ID = strings.Clone(before.ID)
	}
	return events
}

// appendTo appends the event of a visit as in its record.
func (e *event) appendTo(list []acuity.Event, visit string) []acuity.Event {
	return append(list, acuity.Event{
		ID: e.ID, Digest: e.Digest, Type: e.Type, At: e.At, Precision: e.Precision, RecordedAt: e.RecordedAt, ReceivedAt: e.ReceivedAt,
		Feed: e.Feed, Cancels: e.Cancels, CancelsPrecision: e.CancelsPrecision, Visit: visit, Patient: e.Patient,
		MotherVisit: e.MotherVisit, MotherPatient: e.MotherPatient, Place: *e.Place, PlaceNull: e.PlaceNull, Prior: *e.Prior,
		Class: e.Class, AdmissionType: e.AdmissionType, Service: e.Service, Newborn: e.Newborn, Babies: e.Babies, Primary: e.Primary,
		Reasons: e.Reasons, DiagnosisMode: e.DiagnosisMode, Diagnoses: e.Diagnoses, Resource: e.Resource, UpdatedAt: e.UpdatedAt,
		Void: e.Void, Encounter: e.Encounter, Subject: e.Subject,
	})
}

// shared has one copy of each place and text that the events of a hospital repeat.
type shared struct {
	places map[acuity.Location]*acuity.Location
	texts  map[string]string
}

// capShared bounds the caches for sharing; beyond it, they start anew, and events keep
// their copies.
const capShared = 1024

// nothingSaid is the place of all events without a place.
var nothingSaid = &acuity.Location{}

// place returns the shared copy of a place.
func (s *shared) place(l *acuity.Location) *acuity.Location {
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
		*text = s.text(*text)
	}
	s.places[p] = &p
	return &p
}

// text returns the shared copy of a text. It is for texts with few values.
func (s *shared) text(text string) string {
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
func (s *shared) naming(e *acuity.Event, before *naming) *naming {
	said := naming{e.Feed, e.Patient, e.MotherVisit, e.MotherPatient, e.Service, e.Resource, e.Encounter, e.Subject}
	if said == *before {
		return before
	}
	n := said
	n.Service = s.text(n.Service)
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
func (s *shared) extra(e *acuity.Event, before *extra) *extra {
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
		d.System, d.Code, d.Display = codes.System(s.text(string(d.System))), s.text(d.Code), s.text(d.Display)
	}
	return &x
}

// visitFacts is a [VisitState] as a unit keeps it.
type visitFacts struct {
	ID      string
	events  []event
	Folded  int32
	FoldAt  acuity.Instant
	Touched acuity.Instant

	Facts *CensusFacts
	Stays []CensusStay
}

// visitRecords have memory for the record of a visit, which is far larger than what a
// unit keeps. Few units write at once.
var visitRecords = sync.Pool{New: func() any { return new(VisitState) }}

// writeVisits writes the facts of visits.
func (g *registry) writeVisits(list []*visit, write func(key []byte, s Record)) {
	if len(list) == 0 {
		return
	}
	record := visitRecords.Get().(*VisitState) //nolint:errcheck // nothing else is put there
	for _, v := range list {
		*record = VisitState{ID: v.ID, Events: record.Events[:0], Folded: v.Folded, FoldAt: v.FoldAt, Touched: v.Touched, Facts: v.Facts, Stays: v.Stays}
		for i := range v.events {
			record.Events = v.events[i].appendTo(record.Events, v.ID)
		}
		write(g.keys.visit(v.ID), record)
	}
	*record = VisitState{Events: emptied(record.Events[:cap(record.Events)])}
	visitRecords.Put(record)
}

// storeVisit returns the facts of a record as they are kept.
func (s *shared) storeVisit(r *VisitState) visitFacts {
	return visitFacts{
		ID: strings.Clone(r.ID), events: s.storeEvents(r.Events), Folded: r.Folded, FoldAt: r.FoldAt, Touched: r.Touched,
		Facts: r.Facts, Stays: r.Stays,
	}
}
