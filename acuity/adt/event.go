package adt

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Event is an [acuity.Event] in the form that a hospital keeps in memory, made by [StoreEvent]. A hospital keeps
// thousands of events, because a visit's events are kept until a week after the discharge. An Event is therefore
// small and has few pointers: it shares locations and names with the previous event of its visit and keeps rarely set
// fields behind one pointer. The values behind the pointers are immutable. The visit's id is stored only with the
// visit.
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

// naming holds the fields that are usually the same for all events of a visit.
type naming struct {
	Feed                       acuity.Channel
	Patient                    string
	MotherVisit, MotherPatient string
	Service                    string
	Resource                   string
	Encounter, Subject         string
	Account                    string
}

// extra holds the fields that are rarely set.
type extra struct {
	Digest      string // set only for an event without an identity
	Cancels     acuity.Instant
	AtFrom      acuity.Instant
	AtTo        acuity.Instant
	CancelsTo   acuity.Instant
	Reasons     acuity.Reasons
	UpdatedAt   acuity.Instant
	VersionID   int64
	Diagnoses   []acuity.Diagnosis
	CoarseTimes []acuity.CoarseTime
}

// noExtra is shared by all events without extra fields.
var noExtra = &extra{}

func (x *extra) isZero() bool {
	return x.Digest == "" && x.Cancels == 0 && x.AtFrom == 0 && x.AtTo == 0 && x.CancelsTo == 0 && x.Reasons == 0 &&
		x.UpdatedAt == 0 && x.VersionID == 0 && len(x.Diagnoses) == 0 && len(x.CoarseTimes) == 0
}

// AppendTo converts the event back to an [acuity.Event] of the given visit, as it was received but without warnings,
// and appends it to list.
func (e *Event) AppendTo(list []acuity.Event, visit string) []acuity.Event {
	return append(list, acuity.Event{
		ID: e.ID, Digest: e.Digest, Type: e.Type, At: e.At, Precision: e.Precision, AtFrom: e.AtFrom, AtTo: e.AtTo,
		RecordedAt: e.RecordedAt, ReceivedAt: e.ReceivedAt,
		Feed: e.Feed, Cancels: e.Cancels, CancelsPrecision: e.CancelsPrecision, CancelsTo: e.CancelsTo, Visit: visit, Patient: e.Patient,
		MotherVisit: e.MotherVisit, MotherPatient: e.MotherPatient, Place: *e.Place, PlaceNull: e.PlaceNull, Prior: *e.Prior,
		Class: e.Class, AdmissionType: e.AdmissionType, Service: e.Service, Newborn: e.Newborn, Babies: e.Babies, Primary: e.Primary,
		Reasons: e.Reasons, DiagnosisMode: e.DiagnosisMode, Diagnoses: e.Diagnoses, Resource: e.Resource, UpdatedAt: e.UpdatedAt,
		VersionID: e.VersionID, Void: e.Void, CoarseTimes: e.CoarseTimes,
		Encounter: e.Encounter, Subject: e.Subject, ByPatient: e.ByPatient, Account: e.Account,
	})
}

// NamesNoPlace reports whether an event does not place the patient: it is a message without PV1-3, or an Encounter
// whose location is missing or is a ward. If isWard is nil, no location is a ward.
func (e *Event) NamesNoPlace(isWard func(*acuity.Location) bool) bool {
	if e.Place.IsZero() {
		return !e.PlaceNull
	}
	return e.Resource != "" && isWard != nil && isWard(e.Place)
}

// isPreadmission reports whether an admission (A01) has the class P, pre-admission: the patient has not arrived yet, so
// the event does not place her (docs/decisions.md#preadmission). An event that replaces folded ones keeps its location.
func (e *Event) isPreadmission() bool {
	return e.Type == acuity.A01 && e.Class == 'P' && !strings.HasPrefix(e.ID, foldedID)
}

// admits reports whether an event admits or registers the patient.
func (e *Event) admits() bool {
	return e.Type == acuity.A01 && !e.isPreadmission() || e.Type == acuity.A04
}

// Compare orders events by time, EVN-2, type and location text (docs/decisions.md#equal-times). Additional fields
// break the remaining ties, so the order is total.
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

// happenedAt returns the event time or the time of receipt, whichever is earlier. An event never reports the future,
// but bedside clocks may be fast (docs/decisions.md#future-times).
func happenedAt(e *Event) acuity.Instant {
	if e.ReceivedAt != 0 && e.At > e.ReceivedAt {
		return e.ReceivedAt
	}
	return e.At
}

// rank returns the position of an event type in the order of events with equal times.
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

// noLocation is shared by all events without a location.
var noLocation = &acuity.Location{}

// StoreEvent returns an event in stored form. It copies all strings except the event's ID, so that the event does not
// retain the whole observation or record. Where possible, the result shares memory with the previous event of the
// visit (before), which is nil for the first event.
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

// noEvent stands in for the event before the first event of a visit.
var noEvent = Event{Place: noLocation, Prior: noLocation, naming: &naming{}, extra: noExtra}

// StoreEvents returns the events of one visit in stored form. It also copies their identities.
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
		return noLocation
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

// storeNaming returns the naming fields of an event. If they equal the fields of the previous event (before), which
// is usual, storeNaming returns those fields and does not copy anything.
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

// shareText returns the text of the previous event (before) if it equals the new text, and otherwise a copy of the
// new text.
func shareText(text, before string) string {
	if text == before {
		return before
	}
	return strings.Clone(text)
}

// storeExtra returns the rarely set fields of an event, or noExtra if none is set. It shares the list of diagnoses with
// the previous event if the lists are equal, because feeds often repeat the same diagnoses.
func storeExtra(e *acuity.Event, before *extra) *extra {
	x := extra{e.Digest, e.Cancels, e.AtFrom, e.AtTo, e.CancelsTo, e.Reasons, e.UpdatedAt, e.VersionID, e.Diagnoses, e.CoarseTimes}
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

// IsTooOld reports whether an event happened too early to be applied: at or before the instant until, at which the
// visit's newest folded event counts. Cancels, and events that replace folded events, are never too old.
func (e *Event) IsTooOld(until acuity.Instant) bool {
	return !strings.HasPrefix(e.ID, foldedID) && !IsCancel(e.Type) && happenedAt(e) <= until
}
