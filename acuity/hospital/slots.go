package hospital

// slots numbers the visits of a unit for the owners of statements. Slot 0 is no visit's.
type slots struct {
	visits []*visit
	vacant []int32
}

// assign gives a visit a slot.
func (s *slots) assign(v *visit) {
	if n := len(s.vacant); n > 0 {
		v.slot, s.vacant = s.vacant[n-1], s.vacant[:n-1]
		s.visits[v.slot] = v
		return
	}
	if len(s.visits) == 0 {
		s.visits = append(s.visits, nil)
	}
	v.slot = int32(len(s.visits)) //nolint:gosec // the visits of a week
	s.visits = append(tight(s.visits, 4), v)
}

// release frees the slot of a visit. No statement may hold its number any more.
func (s *slots) release(v *visit) {
	s.visits[v.slot] = nil
	s.vacant = append(s.vacant, v.slot)
	v.slot = 0
}

// inSlot returns the number of a visit; 0: v is nil.
func (v *visit) inSlot() int32 {
	if v == nil {
		return 0
	}
	return v.slot
}
