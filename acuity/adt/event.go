package adt

import (
	"cmp"

	"svc/acuity"
	"svc/acuity/catalogue"
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

// AppendTo appends the event of a visit to a list, as it came.
func (e *Event) AppendTo(list []acuity.Event, visit string) []acuity.Event {
	return append(list, acuity.Event{
		ID: e.ID, Digest: e.Digest, Type: e.Type, At: e.At, Precision: e.Precision, RecordedAt: e.RecordedAt, ReceivedAt: e.ReceivedAt,
		Feed: e.Feed, Cancels: e.Cancels, CancelsPrecision: e.CancelsPrecision, Visit: visit, Patient: e.Patient,
		MotherVisit: e.MotherVisit, MotherPatient: e.MotherPatient, Place: *e.Place, PlaceNull: e.PlaceNull, Prior: *e.Prior,
		Class: e.Class, AdmissionType: e.AdmissionType, Service: e.Service, Newborn: e.Newborn, Babies: e.Babies, Primary: e.Primary,
		Reasons: e.Reasons, DiagnosisMode: e.DiagnosisMode, Diagnoses: e.Diagnoses, Resource: e.Resource, UpdatedAt: e.UpdatedAt,
		Void: e.Void, Encounter: e.Encounter, Subject: e.Subject,
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

// Compare orders events by time, EVN-2, type and location text (R8); the
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
// scheduled, and bedside clocks run ahead of ours (T2).
func happenedAt(e *Event) acuity.Instant {
	if e.ReceivedAt != 0 && e.At > e.ReceivedAt {
		return e.ReceivedAt
	}
	return e.At
}

// rank orders event types at equal times.
func rank(t acuity.EventType) int {
	switch t {
	case acuity.A04:
		return 0
	case acuity.A01:
		return 1
	case acuity.A06:
		return 2
	case acuity.A07:
		return 3
	case acuity.A02:
		return 4
	case acuity.A08:
		return 5
	case acuity.A03:
		return 6
	case acuity.EventOther, acuity.A11, acuity.A12, acuity.A13:
	}
	return 7 + int(t)
}

// compareLocations orders locations by their text.
func compareLocations(a, b *acuity.Location) int {
	if a == b || *a == *b {
		return 0
	}
	return cmp.Or(cmp.Compare(a.PointOfCare, b.PointOfCare), cmp.Compare(a.Room, b.Room), cmp.Compare(a.Bed, b.Bed),
		cmp.Compare(a.RoomID, b.RoomID), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Facility, b.Facility))
}
