package hospital

import (
	"strconv"
	"time"

	"svc/acuity/charts"
	"svc/acuity/evidence"
	"svc/acuity/identity"
	"svc/acuity/registry"
)

// The reasons for refusing input that exceeds a limit.
const (
	reasonRooms      = "too_many_rooms"
	reasonVisits     = "too_many_visits"
	reasonOfPatient  = "too_many_visits_of_patient"
	reasonEvents     = "too_many_events"
	reasonStatements = "too_many_statements"
	reasonReferences = "too_many_references"
)

// Limits returns a hospital's limits by their names in the API's capabilities.
func Limits() map[string]int64 {
	usual := registry.Usual
	return map[string]int64{
		"roomsInUse": int64(usual.Rooms), "roomsKnown": int64(usual.Known), "visits": int64(usual.Visits),
		"visitsPerPatient": int64(usual.OfPatient), "eventBytes": int64(usual.Bytes), "eventsPerVisit": capEvents,
		"statements": int64(usual.Statements), "statementsPerVisit": evidence.MaxStatements, "unknownVisits": int64(usual.Unknown),
		"statementsWaiting": int64(usual.Waiting), "identitiesPerDay": int64(usual.Identities),
		"patientsPerRoom": charts.CapPresent, "unmappedCodes": identity.CapCodes, "namesPerPatient": identity.CapNames,
	}
}

// Exceeded returns the rule that corresponds to a refusal reason, such as "maxRooms:1000", and reports whether there
// is such a rule.
func Exceeded(reason string) (rule string, ok bool) {
	usual := registry.Usual
	rule, ok = map[string]string{
		reasonRooms: "maxRooms:" + strconv.Itoa(usual.Rooms), reasonVisits: "maxVisits:" + strconv.Itoa(usual.Visits),
		reasonOfPatient: "maxVisitsPerPatient:" + strconv.Itoa(usual.OfPatient), reasonEvents: "maxEventBytes:" + strconv.Itoa(usual.Bytes),
		reasonStatements: "maxStatements:" + strconv.Itoa(usual.Statements), reasonReferences: "maxUnknown:" + strconv.Itoa(usual.Unknown),
	}[reason]
	return rule, ok
}

// The caps on the facts of a visit, a census or a roster. Together they keep each changelog record below 64 KiB.
const (
	// capEvents is the maximum number of ADT events of a visit. If there are more, the oldest are folded
	// (docs/decisions.md#folded-events).
	capEvents = 200
	// capEventBytes is the maximum approximate size of a visit's ADT events, in bytes.
	capEventBytes = 40 << 10
	// capPast is the maximum number of a room's past occupants without a visit.
	capPast = 8
	// capListed, capStanding and capNewborns bound the facts in one census row.
	capListed   = 64
	capStanding = 64
	capNewborns = 8
	// capPlans is the maximum number of staffing entries: the current one and the plans. If there are more, the latest
	// plans are dropped.
	capPlans = 48
	// capPastStaffing is the maximum number of staffing entries for past hours, which is enough for more than one per
	// hour over 28 days. The newest are stored.
	capPastStaffing = 1000
	// capRoster is the maximum number of nurses in a roster.
	capRoster = 500
	// capMoves is the maximum number of moves that count for the flow axis; the newest moves count. The value equals
	// the maximum number of nurses.
	capMoves = 1000
)

// usualEvents is the initial capacity of a visit's list of events. Few visits have fewer events.
const usualEvents = 4

// The times for which facts are stored.
const (
	// visitRetention is how long a visit is stored after its discharge or its last fact, whichever is later
	// (docs/decisions.md#event-set).
	visitRetention = 7 * 24 * time.Hour
	// backfillDays is how far back a backfill makes snapshots, and how long visits from a batch are stored for that
	// purpose.
	backfillDays = 28 * 24 * time.Hour
)
