package acuity

// Unit is the state of one hospital: its facts, and what was derived from them
// and can be derived again. One goroutine uses it.
type Unit struct {
	hospital string
}

// NewUnit returns the unit of a hospital of which nothing is known.
func NewUnit(hospital string) *Unit { return &Unit{hospital: hospital} }
