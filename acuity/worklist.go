package acuity

// codeKinds are the kinds that tell the rows of the worklist apart: diagnoses,
// medications, and everything else.
var codeKinds = [...]SignalKind{0, KindMedication, KindObservation}

// takeMark notes that nobody need look at a code of the worklist, or that
// somebody should again.
func (u *Unit) takeMark(in *intake, i int, m *CodeMark) {
	found := false
	for _, kind := range codeKinds {
		if m.Kind != 0 && unmappedKey("", "", m.Kind) != unmappedKey("", "", kind) {
			continue
		}
		key := unmappedKey(m.System, m.Code, kind)
		c := u.codes[key]
		if c == nil {
			continue
		}
		found = true
		if c.Ignored == m.Delete {
			c.Ignored = !m.Delete
			u.touchCode(key, c)
		}
	}
	if !found {
		in.warn("not_in_worklist", item("codes", i))
	}
}

// touchCode notes that the record of a code is to be written.
func (u *Unit) touchCode(key string, c *CodeState) {
	if !c.dirty {
		c.dirty = true
		u.dirty.codes = append(u.dirty.codes, key)
	}
}
