package acuity

// Create is the part of an observation that comes from one FHIR resource with a conditional create (If-None-Exist or
// If-None-Match: *). A hospital applies the part only if it knows none of the names in Names.
type Create struct {
	Names                       []string // pseudonyms of visits and resources, and names of references
	Events, Signals, References Span
}

// Span selects the elements of a list from index From up to, but not including, index To.
type Span struct{ From, To int32 }

// Has reports whether the element at index i is in the span.
func (s Span) Has(i int) bool { return int(s.From) <= i && i < int(s.To) }
