package adt

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Event is an [acuity.Event] as a hospital keeps it. A visit keeps its events for a week after its
// discharge. A hospital has thousands of them, so an event is small and has few pointers.
// It shares places and names with the event before it in its visit, and keeps
// rare fields behind one pointer. What it points to never changes. The visit that owns it
// knows its id. [StoreEvent] makes it.
type Event struct {
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
	ByPatient                    bool
}

// naming are the fields that events of a visit mostly share.
type naming struct {
	Feed                       acuity.Channel
	Patient                    string
	MotherVisit, MotherPatient string
	Service                    string
	Resource                   string
	Encounter, Subject         string
	Account                    string
}

// extra are the fields that few events have.
type extra struct {
	Digest      string // only of an event without an identity
	Cancels     acuity.Instant
	AtFrom      acuity.Instant
	Reasons     acuity.Reasons
	UpdatedAt   acuity.Instant
	VersionID   int64
	Diagnoses   []acuity.Diagnosis
	CoarseTimes []acuity.CoarseTime
}

// noExtra is shared by all events without extra fields.
var noExtra = &extra{}

func (x *extra) isZero() bool {
	return x.Digest == "" && x.Cancels == 0 && x.AtFrom == 0 && x.Reasons == 0 &&
		x.UpdatedAt == 0 && x.VersionID == 0 && len(x.Diagnoses) == 0 && len(x.CoarseTimes) == 0
}

// AppendTo appends the event of a visit to a list, as it came.
func (e *Event) AppendTo(list []acuity.Event, visit string) []acuity.Event {
	return append(list, acuity.Event{
		ID: e.ID, Digest: e.Digest, Type: e.Type, At: e.At, Precision: e.Precision, AtFrom: e.AtFrom,
		RecordedAt: e.RecordedAt, ReceivedAt: e.ReceivedAt,
		Feed: e.Feed, Cancels: e.Cancels, CancelsPrecision: e.CancelsPrecision, Visit: visit, Patient: e.Patient,
		MotherVisit: e.MotherVisit, MotherPatient: e.MotherPatient, Place: *e.Place, PlaceNull: e.PlaceNull, Prior: *e.Prior,
		Class: e.Class, AdmissionType: e.AdmissionType, Service: e.Service, Newborn: e.Newborn, Babies: e.Babies, Primary: e.Primary,
		Reasons: e.Reasons, DiagnosisMode: e.DiagnosisMode, Diagnoses: e.Diagnoses, Resource: e.Resource, UpdatedAt: e.UpdatedAt,
		VersionID: e.VersionID, Void: e.Void, CoarseTimes: e.CoarseTimes,
		Encounter: e.Encounter, Subject: e.Subject, ByPatient: e.ByPatient, Account: e.Account,
	})
}

// NamesNoPlace reports whether an event only opens a visit. That is a message without
// PV1-3, or an Encounter without a location, or with a ward that may hold any room. Without
// isWard, no location is a ward.
func (e *Event) NamesNoPlace(isWard func(*acuity.Location) bool) bool {
	if e.Place.IsZero() {
		return !e.PlaceNull
	}
	return e.Resource != "" && isWard != nil && isWard(e.Place)
}

// Compare orders events by time, EVN-2, type and location text (docs/decisions.md#equal-times); the
// rest only makes the order total.
func (e *Event) Compare(o *Event) int {
	if x, y := happenedAt(e), happenedAt(o); x != y {
		return cmp.Compare(x, y)
	}
	if c := cmp.Or(cmp.Compare(e.At, o.At), cmp.Compare(e.Recorded(), o.Recorded()), cmp.Compare(rank(e.Type), rank(o.Type))); c != 0 {
		return c
	}
	if c := compareLocations(e.Place, o.Place); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(e.ID, o.ID), cmp.Compare(e.Digest, o.Digest),
		cmp.Compare(e.ReceivedAt, o.ReceivedAt), cmp.Compare(e.Cancels, o.Cancels),
		compareLocations(e.Prior, o.Prior))
}

// happenedAt is the event time, but never later than the receipt: nothing is
// scheduled, and bedside clocks run ahead of ours (docs/decisions.md#future-times).
func happenedAt(e *Event) acuity.Instant {
	if e.ReceivedAt != 0 && e.At > e.ReceivedAt {
		return e.ReceivedAt
	}
	return e.At
}

// rank orders event types at equal times.
func rank(t acuity.EventType) int {
	if i := slices.Index(typeOrder[:], t); i >= 0 {
		return i
	}
	return len(typeOrder) + int(t)
}

var typeOrder = [...]acuity.EventType{acuity.A04, acuity.A01, acuity.A06, acuity.A07, acuity.A02, acuity.A08, acuity.A03}

// compareLocations orders locations by their text.
func compareLocations(a, b *acuity.Location) int {
	if a == b || *a == *b {
		return 0
	}
	return cmp.Or(cmp.Compare(a.PointOfCare, b.PointOfCare), cmp.Compare(a.Room, b.Room), cmp.Compare(a.Bed, b.Bed),
		cmp.Compare(a.RoomID, b.RoomID), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Facility, b.Facility))
}

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
		ByPatient: e.ByPatient,
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
	n := naming{e.Feed, e.Patient, e.MotherVisit, e.MotherPatient, e.Service, e.Resource, e.Encounter, e.Subject, e.Account}
	if n == *before {
		return before
	}
	return &naming{
		e.Feed, shareText(e.Patient, before.Patient),
		shareText(e.MotherVisit, before.MotherVisit), shareText(e.MotherPatient, before.MotherPatient),
		shareText(e.Service, before.Service), shareText(e.Resource, before.Resource),
		shareText(e.Encounter, before.Encounter), shareText(e.Subject, before.Subject), shareText(e.Account, before.Account),
	}
}

// shareText returns the text before if it is the same one, else a copy.
func shareText(text, before string) string {
	if text == before {
		return before
	}
	return strings.Clone(text)
}

// storeExtra returns the rare fields of an event. A feed says the same diagnoses again and
// again.
func storeExtra(e *acuity.Event, before *extra) *extra {
	x := extra{e.Digest, e.Cancels, e.AtFrom, e.Reasons, e.UpdatedAt, e.VersionID, e.Diagnoses, e.CoarseTimes}
	if x.isZero() {
		return noExtra
	}
	x.Digest, x.CoarseTimes = strings.Clone(x.Digest), slices.Clone(x.CoarseTimes)
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
