package acuity

// Create is the part of an observation that comes from one FHIR resource which the sender
// wants to be created only if it does not exist (If-None-Exist, If-None-Match: *). The part
// counts only if the hospital knows none of the names when the observation is applied.
type Create struct {
	Names                       []string // pseudonyms of visits and resources, and names of references
	Events, Signals, References Span
}

// Span is the elements of a list from From on, before To.
type Span struct{ From, To int32 }

// Has reports whether an element is in the span.
func (s Span) Has(i int) bool { return int(s.From) <= i && i < int(s.To) }
