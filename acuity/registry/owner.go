package registry

import (
	"svc/acuity/evidence"
)

// Binding is the owner of a clinical statement: a visit; an occupant whom censuses saw
// without a visit; or the room. The zero value is nobody.
type Binding struct {
	V    *Visit
	Kind evidence.OwnerKind
}

// Owner returns the owner as a statement has it.
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
	ToNobody   evidence.OwnerKind = iota
	ToVisit                       //
	ToOccupant                    // the present occupant of the room
	ToPast                        // an occupant who left
	ToRoom                        // a room that neither ADT nor a census knows
	NotBound                      // not decided yet
)
