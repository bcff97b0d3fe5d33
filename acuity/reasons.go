package acuity

// Reasons is the set of hints that the reason of an admission (PV2-3) was
// reduced to; its text is not kept.
type Reasons uint64
