package hospital

import (
	"strconv"

	"svc/acuity/evidence"
)

// limits are the caps of what grows with what a hospital sends. What is beyond them is
// refused at its item, with the reason beside each cap. They bound the memory of a
// hospital and the work of each step: no input, however large, delays the other
// hospitals of a processor.
type limits struct {
	rooms      int // in use at once: too_many_rooms
	known      int // rooms, and places of visits: too_many_rooms
	visits     int // kept; those that are over are forgotten early: too_many_visits
	ofPatient  int // visits of one patient: too_many_visits_of_patient
	bytes      int // approximate size of the events of all visits; those that are over are forgotten early: too_many_events
	statements int // of all rooms and patients: too_many_statements
	unknown    int // visits and patients that only statements name: too_many_references
	waiting    int // statements for those: too_many_references
	identities int // of events and requests of the last 24 h; the oldest are forgotten early
}

// usual are the limits of every hospital. The largest hospital of the world, with 40,000
// births a year, has 200 rooms, 4,000 visits at a time and 9,000 events a day.
var usual = limits{
	rooms: 1000, known: 5000, visits: 10_000, ofPatient: 50, bytes: 24 << 20,
	statements: 200_000, unknown: 2000, waiting: 20_000, identities: 200_000,
}

// The reasons of what is refused beyond a limit.
const (
	reasonRooms      = "too_many_rooms"
	reasonVisits     = "too_many_visits"
	reasonOfPatient  = "too_many_visits_of_patient"
	reasonEvents     = "too_many_events"
	reasonStatements = "too_many_statements"
	reasonReferences = "too_many_references"
)

// Limits returns the limits of a hospital by their names in the capabilities.
func Limits() map[string]int64 {
	return map[string]int64{
		"roomsInUse": int64(usual.rooms), "roomsKnown": int64(usual.known), "visits": int64(usual.visits),
		"visitsPerPatient": int64(usual.ofPatient), "eventBytes": int64(usual.bytes), "eventsPerVisit": capEvents,
		"statements": int64(usual.statements), "statementsPerVisit": evidence.MaxStatements, "unknownVisits": int64(usual.unknown),
		"statementsWaiting": int64(usual.waiting), "identitiesPerDay": int64(usual.identities),
		"patientsPerRoom": capPresent, "unmappedCodes": capCodes, "namesPerPatient": capNames,
	}
}

// Exceeded returns the rule behind the reason of a refusal, as "maxRooms:1000"; false:
// there is none.
func Exceeded(reason string) (rule string, ok bool) {
	rule, ok = map[string]string{
		reasonRooms: "maxRooms:" + strconv.Itoa(usual.rooms), reasonVisits: "maxVisits:" + strconv.Itoa(usual.visits),
		reasonOfPatient: "maxVisitsPerPatient:" + strconv.Itoa(usual.ofPatient), reasonEvents: "maxEventBytes:" + strconv.Itoa(usual.bytes),
		reasonStatements: "maxStatements:" + strconv.Itoa(usual.statements), reasonReferences: "maxUnknown:" + strconv.Itoa(usual.unknown),
	}[reason]
	return rule, ok
}
