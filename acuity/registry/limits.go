package registry

import (
	"time"

	"svc/acuity"
)

// Limits are the caps on the data that a hospital can send. An item beyond a cap is refused with the reason that
// follows the colon in the comment of the field. The caps bound a hospital's memory and the work in each step, so that
// no input, however large, delays the processor's other hospitals.
type Limits struct {
	Rooms      int // rooms in use at once: too_many_rooms
	Known      int // known rooms; the same cap applies to the places in events: too_many_rooms
	Visits     int // stored visits; near the cap, closed visits are removed early: too_many_visits
	OfPatient  int // visits of one patient: too_many_visits_of_patient
	Bytes      int // approximate bytes of the events of all visits; near the cap, closed visits are removed early: too_many_events
	Statements int // statements of all rooms and patients: too_many_statements
	Unknown    int // visits and patients known only from statements: too_many_references
	Waiting    int // statements about visits and patients known only from statements: too_many_references
	Identities int // identities of events and requests from the last 24 h; the oldest are dropped early
}

// Usual are the limits of every hospital. The largest maternity hospital in the world, with 40,000 births a year, has
// 200 rooms, 4,000 visits at a time and 9,000 events a day.
var Usual = Limits{
	Rooms: 1000, Known: 5000, Visits: 10_000, OfPatient: 50, Bytes: 24 << 20,
	Statements: 200_000, Unknown: 2000, Waiting: 20_000, Identities: 200_000,
}

// CapStays is the maximum number of census stays stored for a visit.
const CapStays = 8

// SettleAfter is how long a late ADT message may still change the owner of a clinical statement
// (docs/decisions.md#statement-owner).
const SettleAfter = 24 * time.Hour

// HourOf is the length of an hour on the hospital's clock.
const HourOf acuity.Instant = 3_600_000
