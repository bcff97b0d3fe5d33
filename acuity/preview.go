package acuity

// Preview is what an observation would do: the verdict part of the change that would
// apply it.
type Preview struct {
	Outcome Outcome
	Reason  string // of an observation that would not be taken

	Level              Level // after
	Effects            []Effect
	Activated, Expired []FactorChange
	Warnings           []Warning
}
