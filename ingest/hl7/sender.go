package hl7

// Sender is how a hospital wants one sender, that is one key, to be understood.
// The zero value is what the standard says.
type Sender struct {
	// OriginalMode answers in original mode whatever MSH-15 and 16 say: some
	// engines value them and wait for AA all the same.
	OriginalMode bool
	// ProductionOnly refuses with AR what MSH-11 does not call production;
	// otherwise it is applied, with a warning.
	ProductionOnly bool
}
