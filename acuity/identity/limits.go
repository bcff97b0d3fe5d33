package identity

// The caps on names and codes.
const (
	// CapCodes is the maximum number of unmapped codes listed for a hospital. Additional codes are reported in
	// responses but not listed.
	CapCodes = 50_000
	// capCodeRooms is the maximum number of rooms listed with an unmapped code.
	capCodeRooms = 20
	// CapNames is the maximum number of names (numbers and references) of one patient. If a patient has more, only
	// the name in the statement is used.
	CapNames = 16
	// CapReferences is the maximum combined number of stored Medications and Locations. The same maximum applies to
	// stored Patients. Beyond it, the references that were changed least recently are dropped.
	CapReferences = 2000
)
