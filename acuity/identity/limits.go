package identity

// The caps of names and codes.
const (
	// CapCodes is the number of unmapped codes of a hospital; beyond it new
	// ones are answered but not listed.
	CapCodes = 50_000
	// capCodeRooms is the number of rooms listed with an unmapped code.
	capCodeRooms = 20
	// CapNames is the number of names of one patient, her numbers and references. If
	// she has more, only the name in the statement counts.
	CapNames = 16
	// CapReferences is the number of Medications and Locations that are kept, and of
	// Patients; the newest versions stay.
	CapReferences = 2000
)
