package registry

import (
	"time"

	"svc/acuity"
)

// Limits are the caps on the data that a hospital can send. An item beyond a cap is refused with the reason that
// follows the cap. The caps bound the memory of a hospital and the work of each step, so no input, however large,
// delays the other hospitals of a processor.
type Limits struct {
	Rooms      int // in use at once: too_many_rooms
	Known      int // rooms, and places of visits: too_many_rooms
	Visits     int // stored; closed visits are removed early: too_many_visits
	OfPatient  int // visits of one patient: too_many_visits_of_patient
	Bytes      int // approximate size of the events of all visits, in bytes; closed visits are removed early: too_many_events
	Statements int // of all rooms and patients: too_many_statements
	Unknown    int // visits and patients that only statements name: too_many_references
	Waiting    int // statements for such visits and patients: too_many_references
	Identities int // identities of events and requests of the last 24 h; the oldest are dropped early
}

// Usual are the limits of every hospital. The largest hospital in the world, with 40,000 births a year, has 200 rooms,
// 4,000 visits at a time and 9,000 events a day.
var Usual = Limits{
	Rooms: 1000, Known: 5000, Visits: 10_000, OfPatient: 50, Bytes: 24 << 20,
	Statements: 200_000, Unknown: 2000, Waiting: 20_000, Identities: 200_000,
}

// CapStays is the maximum number of census stays that a visit stores.
const CapStays = 8

// SettleAfter is how long a late ADT message may still change the owner of a clinical statement
// (docs/decisions.md#statement-owner).
const SettleAfter = 24 * time.Hour

// HourOf is an hour of the hospital's clock.
const HourOf acuity.Instant = 3_600_000
