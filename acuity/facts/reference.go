package facts

import (
	"slices"

	"svc/acuity"
)

// Says reports whether the state equals a reference. For a newborn the time is a part of
// it.
func (s *ReferenceState) Says(r *acuity.Reference) bool {
	return s.Place == r.Place && s.Patient == r.Patient && slices.Equal(s.Codings, r.Codings) && (!r.IsNeonate() || s.UpdatedAt == r.UpdatedAt)
}
