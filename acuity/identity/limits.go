package identity

// These are the caps of names and codes.
const (
	// CapCodes is the maximum number of unmapped codes of a hospital. Further codes are reported in responses but not
	// listed.
	CapCodes = 50_000
	// capCodeRooms is the maximum number of rooms listed with an unmapped code.
	capCodeRooms = 20
	// CapNames is the maximum number of names (numbers and references) of one patient. If a patient has more, only the
	// name in the statement counts.
	CapNames = 16
	// CapReferences is the maximum number of stored Medications and Locations together, and of stored Patients. The
	// newest versions are stored.
	CapReferences = 2000
)
