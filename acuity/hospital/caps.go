package hospital

import "time"

// The caps of the facts. Together they keep each record of the changelog below
// 64 KiB; what happens beyond a cap stands with it.
const (
	// capEvents is the number of ADT events of a visit; the oldest are folded
	// into one (clinical-decisions R10).
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
	// clinical statement (scoring-decisions 16).
	settleAfter = 24 * time.Hour
	// firstOccupant is how long before an arrival a statement about an empty room
	// may already be about the arriving patient (scoring-decisions 16).
	firstOccupant = time.Hour
	// forgetVisit is how long after its discharge a visit is kept
	// (clinical-input 2).
	forgetVisit = 7 * 24 * time.Hour
	// backfillDays is how far back past hours are cut, and how long visits of a batch
	// are kept for that purpose.
	backfillDays = 28 * 24 * time.Hour
	// dedupFor is how long identities of events are kept (clinical-decisions X8).
	dedupFor = 24 * time.Hour
)
