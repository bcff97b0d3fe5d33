package acuity

// Preview is what an observation would do to the verdict. A dry run answers with it.
type Preview struct {
	Outcome Outcome
	Reason  string // of an observation that would not be taken

	Level              Level // after
	Effects            []Effect
	Activated, Expired []FactorChange
	Warnings           []Warning
}
