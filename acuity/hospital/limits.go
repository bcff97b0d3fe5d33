package hospital

import (
	"strconv"
	"time"

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

// The caps of the facts. Together they keep each record of the changelog below
// 64 KiB; what happens beyond a cap stands with it.
const (
	// capEvents is the number of ADT events of a visit; the oldest are folded
	// into one (docs/decisions.md#folded-events).
	capEvents = 200
	// capEventBytes bounds the same set by its approximate size.
	capEventBytes = 40 << 10
	// capStays is the number of stays by census that a visit remembers.
	capStays = 8
	// capPast is the number of past occupants without visit of a room.
	capPast = 8
	// capListed, capStanding and capNewborns bound the facts of one census row.
	capListed   = 64
	capStanding = 64
	capNewborns = 8
	// capPlans is the number of staffing plans ahead; the earliest are kept.
	capPlans = 48
	// capRoster is the number of nurses of a roster.
	capRoster = 500
	// capCodes is the number of unmapped codes of a hospital; beyond it new
	// ones are answered but not listed.
	capCodes = 50_000
	// capCodeRooms is the number of rooms listed with an unmapped code.
	capCodeRooms = 20
	// capNames is the number of names of one patient, her numbers and references. If
	// she has more, only the name in the statement counts.
	capNames = 16
	// capPresent is the number of patients in the chart of a room, and of newborns:
	// the last to come. The demand of a room has a cap of its own.
	capPresent = 30
	// capMoves is the number of newest moves that count for the flow axis: as many as
	// there can be nurses.
	capMoves = 1000
	// capMappings is the number of rows of the terminology map.
	capMappings = 20_000
	// capReferences is the number of Medications and Locations that are kept, and of
	// Patients; the newest versions stay.
	capReferences = 2000
	// capPlaces is the number of rows of the location table.
	capPlaces = 5000
)

// usualEvents is the initial capacity for the events of a visit: few visits have fewer.
const usualEvents = 4

// The spans after which facts settle or are forgotten.
const (
	// settleAfter is how long a late ADT message may still change the owner of a
	// clinical statement (docs/decisions.md#statement-owner).
	settleAfter = 24 * time.Hour
	// firstOccupant is how long before an arrival a statement about an empty room
	// may already be about the arriving patient (docs/decisions.md#statement-owner).
	firstOccupant = time.Hour
	// forgetVisit is how long after its discharge a visit is kept
	// (docs/decisions.md#event-set).
	forgetVisit = 7 * 24 * time.Hour
	// backfillDays is how far back past hours are cut, and how long visits of a batch
	// are kept for that purpose.
	backfillDays = 28 * 24 * time.Hour
	// dedupFor is how long identities of events are kept (docs/decisions.md#duplicate-messages).
	dedupFor = 24 * time.Hour
)
