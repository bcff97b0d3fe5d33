package facts

import (
	"cmp"
	"slices"

	"svc/acuity"
)

// PastStaffingState is the staffing of past hours that batches reported. An entry applies until the next one.
type PastStaffingState struct {
	List []acuity.Staffing // ascending by AsOf; Nurses is -1 if the staffing is unknown from AsOf on; never changed in place
}

// Set adds an entry, or replaces the one with the same AsOf. It reports whether that changes the list.
func (s *PastStaffingState) Set(n acuity.Staffing) bool {
	i, found := s.Find(n.AsOf)
	switch {
	case !found:
		s.List = slices.Insert(slices.Clone(s.List), i, n)
	case s.List[i] == n:
		return false
	default:
		s.List = slices.Clone(s.List)
		s.List[i] = n
	}
	return true
}

// End makes the staffing unknown from an instant until the next entry. The caller uses it when staffing that is not
// in the list begins at that instant. End reports whether that changes the list.
func (s *PastStaffingState) End(at acuity.Instant) bool {
	i, found := s.Find(at)
	return !found && i > 0 && s.List[i-1].Nurses >= 0 && s.Set(acuity.Staffing{AsOf: at, Nurses: -1})
}

// DropOld drops the entries that have no effect from the given instant on. It reports whether it dropped any entry.
func (s *PastStaffingState) DropOld(oldest acuity.Instant) bool {
	i, found := s.Find(oldest)
	if !found {
		i--
	}
	i = max(i, 0)
	for i < len(s.List) && s.List[i].Nurses < 0 {
		i++ // an unknown entry at the start of the list has no effect
	}
	s.List = s.List[i:]
	return i > 0
}

// At returns the entry that applies at an instant, and reports whether the staffing is known. An entry that does not
// mention call staff inherits the call state of the previous entry, unless the staffing was unknown in between.
func (s *PastStaffingState) At(at acuity.Instant) (n acuity.Staffing, known bool) {
	i, found := s.Find(at)
	if !found {
		i--
	}
	if i < 0 || s.List[i].Nurses < 0 {
		return acuity.Staffing{}, false
	}
	n = s.List[i]
	for i--; n.Call == acuity.Unsaid && i >= 0 && s.List[i].Nurses >= 0; i-- {
		n.Call = s.List[i].Call
	}
	return n, true
}

// Find returns the index of the entry that begins at an instant, and reports whether there is one. If there is none,
// the index is where such an entry would be inserted.
func (s *PastStaffingState) Find(at acuity.Instant) (i int, found bool) {
	return slices.BinarySearchFunc(s.List, at, func(n acuity.Staffing, at acuity.Instant) int { return cmp.Compare(n.AsOf, at) })
}
