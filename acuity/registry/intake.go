package registry

import (
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/acuity/evidence"
)

// Intake is one observation on its way into the facts.
type Intake struct {
	acuity.Change
	Observation *acuity.Observation
	Events      []IntakeEvent
	Statements  []evidence.Statement // statements of this request
	// WaitingFor are the statements that named a patient without a visit.
	WaitingFor []WaitingStatement
	Room       *Room           // of a clinical request
	Existing   []acuity.Create // parts that create what is known, and so do not count
	Census     bool            // a census was taken
	Refused    int             // number of refused parts of the input
	NewRooms   map[int32]bool  // rooms that come into use by it
	Roomy      bool            // every room that it names is within the limits
	// newVisits are the visits that the index by patient does not have yet, by patient.
	NewVisits map[string]map[string]bool
	InUse     int          // number of rooms in use, once counted
	Waiting   int          // number of waiting statements; -1: not counted yet
	answered  map[any]bool // warnings and codes that the change has already
	Present   int          // number of rooms in the unit before it
}

// Warn adds a warning about the input, once.
func (in *Intake) Warn(code, path string) {
	if w := (acuity.Warning{Code: code, Path: path}); in.First(w) {
		in.Warnings = append(in.Warnings, w)
	}
}

// Refuse records that a part of the input is not taken. The rest is.
func (in *Intake) Refuse(reason, path string) {
	in.Refused++
	in.Warn(reason, path)
}

// First reports whether the change does not have this warning or code yet, and remembers
// it.
func (in *Intake) First(what any) bool {
	if in.answered[what] {
		return false
	}
	if in.answered == nil {
		in.answered = map[any]bool{}
	}
	in.answered[what] = true
	return true
}

// ItemPath returns the path of an element of a list of a request.
func ItemPath(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// AnswerClinical adds what the sender of a clinical request must know about its room.
func (in *Intake) AnswerClinical() {
	if in.Room == nil {
		return
	}
	if in.Room.Chart.Status == acuity.RoomEmpty || in.Room.Chart.Status == acuity.RoomBlocked {
		in.Warn("room_not_occupied", "roomId")
	}
}

// WaitingStatement is a statement that had no visit when it was taken.
type WaitingStatement struct {
	V          *Visit // the visit that it names; nil: it names a patient
	Unassigned *Unassigned
	At         acuity.Instant // at is its receipt
}

// EventExists reports whether an event creates what is known.
func (in *Intake) EventExists(i int) bool {
	return slices.ContainsFunc(in.Existing, func(c acuity.Create) bool { return c.Events.Has(i) })
}

// SignalExists does the same for a signal.
func (in *Intake) SignalExists(i int) bool {
	return slices.ContainsFunc(in.Existing, func(c acuity.Create) bool { return c.Signals.Has(i) })
}

// ReferenceExists does the same for a reference.
func (in *Intake) ReferenceExists(i int) bool {
	return slices.ContainsFunc(in.Existing, func(c acuity.Create) bool { return c.References.Has(i) })
}

// IntakeEvent is what became of an event on its way into the facts.
type IntakeEvent struct {
	V    *Visit
	ID   string
	Left bool // a census had the visit leave the room where ADT has it
}

// EventPath returns the path of an event of a request; a single event has none.
func (in *Intake) EventPath(i int) string {
	if len(in.Observation.Events) == 1 {
		return ""
	}
	return ItemPath("events", i)
}

// CloneLocation copies the texts of a place.
func CloneLocation(l *acuity.Location) {
	l.Label, l.PointOfCare, l.Room = strings.Clone(l.Label), strings.Clone(l.PointOfCare), strings.Clone(l.Room)
	l.Bed, l.Facility = strings.Clone(l.Bed), strings.Clone(l.Facility)
}
