package acuity

// careFacts is what the primary of a patient is chosen from, of an ADT event or
// of a census row.
type careFacts struct {
	Explicit, Site Factor // 0: none

	PointOfCare string // or the area of a census row
	Service     string
	Label       string // of the room
	Class       byte
	Reasons     Reasons
	Newborn     bool

	PlacedAt    Instant // when the patient came here; the clock of a primary that has no other
	Delivered   Instant // 0: not yet
	Cesarean    bool    // by O82, delivery mode or the operation before
	CesareanDue bool    // O82 stands
	Born        Instant // of a newborn; 0: unknown
}

// choice is a primary with its clock and why it was chosen.
type choice struct {
	Factor     Factor
	Since      Instant
	AssignedBy string // stable code
	Assumed    bool   // a safe default, not said by anybody
}
