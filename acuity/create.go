package acuity

// Create is the part of an observation that comes from one FHIR resource that is to be created only if it does not
// exist (If-None-Exist, If-None-Match: *). The part is applied only if, at that time, the hospital knows none of its
// names.
type Create struct {
	Names                       []string // pseudonyms of visits and resources, and names of references
	Events, Signals, References Span
}

// Span selects the elements of a list from index From up to, but not including, index To.
type Span struct{ From, To int32 }

// Has reports whether the element at index i is in the span.
func (s Span) Has(i int) bool { return int(s.From) <= i && i < int(s.To) }
