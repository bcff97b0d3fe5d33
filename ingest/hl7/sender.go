package hl7

// Sender says how a hospital wants one sender, that is one key, to be understood. The
// zero value means: as the standard says.
type Sender struct {
	// OriginalMode answers in original mode, whatever MSH-15 and 16 say. Some engines
	// value these fields and still wait for AA.
	OriginalMode bool
	// ProductionOnly refuses with AR a message that MSH-11 does not call production.
	// Otherwise such a message is applied, with a warning.
	ProductionOnly bool
}
