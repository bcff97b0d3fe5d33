package registry

import (
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/acuity/evidence"
)

// Intake is one observation being applied, with its result.
type Intake struct {
	acuity.Change
	Observation *acuity.Observation
	Events      []IntakeEvent
	Statements  []evidence.Statement // statements in this request
	// WaitingFor lists the statements that name an unknown visit, or a patient without a visit.
	WaitingFor []WaitingStatement
	Subjects   []StatedSubject // the signals that name both a visit and a patient
	Room       *Room           // room in a clinical request
	Existing   []acuity.Create // parts that are ignored because they would create something that already exists
	Census     bool            // whether a census was applied
	Refused    int             // number of refused parts of the input
	NewRooms   map[int32]bool  // rooms that the observation brings into use
	Roomy      bool            // whether all rooms in the observation are within the limits
	// NewVisits contains the visits that are not yet in the index by patient, keyed by patient.
	NewVisits map[string]map[string]bool
	InUse     int             // number of rooms in use; 0: not counted yet
	Waiting   int             // number of waiting statements; -1: not counted yet
	answered  map[any]bool    // warnings and codes that are already in the change
	eventIDs  map[string]bool // identities of the events; nil: not listed yet
	Present   int             // number of rooms in the unit before the observation
}

// Warn adds a warning about the input, unless the change already has that warning.
func (in *Intake) Warn(code, path string) {
	if w := (acuity.Warning{Code: code, Path: path}); in.First(w) {
		in.Warnings = append(in.Warnings, w)
	}
}

// Refuse records that a part of the input is not applied. The rest of the input is applied.
func (in *Intake) Refuse(reason, path string) {
	in.Refused++
	in.Warn(reason, path)
}

// First records a warning or code as part of the change, and reports whether it was not part of the change before.
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

// ItemPath returns the path of an element of a list in a request.
func ItemPath(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// AnswerClinical adds the warnings about the room in a clinical request. The argument census is the time of the newest
// census.
func (in *Intake) AnswerClinical(census acuity.Instant) {
	if in.Room == nil {
		return
	}
	switch in.Room.Chart.Status {
	case acuity.RoomUnknown:
		if in.Observation.ReceivedAt >= census {
			return // the statements belong to the room itself
		}
	case acuity.RoomOccupied:
		return
	case acuity.RoomEmpty, acuity.RoomBlocked:
	}
	in.Warn("room_not_occupied", "roomId")
}

// WaitingStatement is a statement that had no visit when it was applied.
type WaitingStatement struct {
	Signal     int    // index of the signal in the observation
	V          *Visit // unknown visit that the statement names; nil: the statement names only a patient
	Unassigned *Unassigned
	At         acuity.Instant // time of receipt
}

// StatedSubject is a signal that names both a visit and a patient.
type StatedSubject struct {
	Signal  int
	V       *Visit
	Version *evidence.Version
}

// EventExists reports whether an event would create something that already exists.
func (in *Intake) EventExists(i int) bool {
	return slices.ContainsFunc(in.Existing, func(c acuity.Create) bool { return c.Events.Has(i) })
}

// SignalExists reports whether a signal would create something that already exists.
func (in *Intake) SignalExists(i int) bool {
	return slices.ContainsFunc(in.Existing, func(c acuity.Create) bool { return c.Signals.Has(i) })
}

// ReferenceExists reports whether a reference would create something that already exists.
func (in *Intake) ReferenceExists(i int) bool {
	return slices.ContainsFunc(in.Existing, func(c acuity.Create) bool { return c.References.Has(i) })
}

// IntakeEvent is an event being applied, with its result.
type IntakeEvent struct {
	V    *Visit
	ID   string
	Left bool // whether ADT has placed the visit in a room, but the visit is now in no room according to a census
}

// HasEvent reports whether the observation contains the event with the given identity. It must be called after the
// events are stored.
func (in *Intake) HasEvent(id string) bool {
	if in.eventIDs == nil {
		in.eventIDs = make(map[string]bool, len(in.Events))
		for i := range in.Events {
			in.eventIDs[in.Events[i].ID] = true
		}
	}
	return in.eventIDs[id]
}

// EventPath returns the path of an event in a request. The path of a single event is empty.
func (in *Intake) EventPath(i int) string {
	if len(in.Observation.Events) == 1 {
		return ""
	}
	return ItemPath("events", i)
}

// CloneLocation replaces the strings of a location with copies.
func CloneLocation(l *acuity.Location) {
	l.Label, l.PointOfCare, l.Room = strings.Clone(l.Label), strings.Clone(l.PointOfCare), strings.Clone(l.Room)
	l.Bed, l.Facility = strings.Clone(l.Bed), strings.Clone(l.Facility)
}
