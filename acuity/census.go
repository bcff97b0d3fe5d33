package acuity

import "svc/acuity/catalogue"

// Census is a full snapshot of the unit's rooms.
type Census struct {
	AsOf       Instant
	TotalRooms int32 // -1 if not given
	Rooms      []CensusRoom
}

// RoomStatus is the occupancy status of a room.
type RoomStatus uint8

// The statuses. A room known only from clinical signals is RoomUnknown: no feed has reported its occupancy.
const (
	RoomUnknown RoomStatus = iota
	RoomOccupied
	RoomEmpty
	RoomBlocked
)

var statusNames = [...]string{"unknown", "occupied", "empty", "blocked"}

// String returns the name used in the API.
func (s RoomStatus) String() string { return statusNames[s] }

// CensusRoom is one row of a census.
type CensusRoom struct {
	ID     int32
	Label  string
	Area   string
	Status RoomStatus

	Visit                           string // pseudonym; may be empty
	Class                           byte
	Service                         string
	Primary                         catalogue.Factor
	PrimarySince                    Instant
	DeliveredAt                     Instant
	PrimarySinceFrom, DeliveredFrom Instant // start of the interval sent as PrimarySince or DeliveredAt; 0: that time is exact
	Cesarean                        bool    // whether deliveryMode is cesarean

	// A list that was not sent changes nothing; an empty list clears the stored one.
	HasModifiers bool
	Modifiers    []catalogue.Factor
	HasDiagnoses bool
	Diagnoses    []Diagnosis
	HasNewborns  bool
	Newborns     []CensusNewborn
}

// withdrawnBirth is the value of DeliveredFrom, which is stored, in a row that withdraws an earlier DeliveredAt. It needs no
// field of its own, because such a row has no DeliveredAt, and so no interval.
const withdrawnBirth Instant = 1

// WithdrawBirth makes the row withdraw the time of birth and the delivery mode that earlier rows stated.
func (r *CensusRoom) WithdrawBirth() { r.DeliveredAt, r.DeliveredFrom = 0, withdrawnBirth }

// WithdrawsBirth reports whether the row withdraws the time of birth and the delivery mode that earlier rows stated.
func (r *CensusRoom) WithdrawsBirth() bool {
	return r.DeliveredAt == 0 && r.DeliveredFrom == withdrawnBirth
}

// CensusNewborn is a newborn in its mother's room.
type CensusNewborn struct {
	Visit   string
	Primary catalogue.Factor // 0 if not given
}
