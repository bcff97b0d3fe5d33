package rules

// Warning explains the code of a warning, an issue or a refusal.
type Warning struct {
	Code   string
	Effect Effect
	Raised Raised
	// Message is one sentence with the cause and the remedy for the sender.
	Message string
}

// Effect says what happened to the fact that a warning is about.
type Effect uint8

// The values of [Effect].
const (
	Used    Effect = iota // the fact is used, as the message says
	Known                 // the fact is older than, or equal to, what is known, so nothing changed
	Unused                // the fact is not used, at least not yet
	Refused               // the message, resource or item with the fact was refused
)

// Raised is a set of the places where a code is raised.
type Raised uint8

// The elements of a [Raised]: what the service was doing when it raised the code.
const (
	ByHL7   Raised = 1 << iota // reading HL7 v2
	ByFHIR                     // reading FHIR
	ByJSON                     // reading the JSON feeds
	ByState                    // applying a fact to the stored state
)
