package registry

import (
	"svc/acuity/evidence"
)

// Binding is the owner of a clinical statement: a visit, an occupant whom censuses report without a visit, or the room.
// The zero value means no owner.
type Binding struct {
	V    *Visit
	Kind evidence.OwnerKind
}

// Owner returns the binding in the form stored in a statement.
func (b Binding) Owner() evidence.Owner {
	if b.V == nil {
		return evidence.Owner{Kind: b.Kind}
	}
	return evidence.Owner{ID: b.V.Slot, Kind: b.Kind}
}

// Undecided is the owner of a statement that is not assigned yet.
var Undecided = evidence.Owner{Kind: NotBound}

// The kinds of owners.
const (
	ToNobody evidence.OwnerKind = iota
	ToVisit
	ToOccupant // current occupant of the room
	ToPast     // former occupant
	ToRoom     // the room itself, because neither ADT nor a census has named the room
	NotBound   // the owner is not decided yet
)
