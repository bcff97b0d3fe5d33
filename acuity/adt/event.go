package adt

import (
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
