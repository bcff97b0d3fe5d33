package catalogue

// SignalKind is the kind of a clinical signal. Observation, lab and device are
// interchangeable in matching; medication is not.
type SignalKind uint8

// The kinds.
const (
	KindMedication SignalKind = iota + 1
	KindObservation
	KindLab
	KindDevice
	KindCondition // a FHIR Condition: matched as a diagnosis is
)
