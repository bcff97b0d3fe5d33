package acuity

import "svc/acuity/codes"

// readCondition reads a condition as a diagnosis, by its code alone.
func (r *reader) readCondition(s *Signal) matchState {
	d := Diagnosis{System: s.System, Code: s.Code}
	said := r.diagnosis(&d)
	if !said.known {
		return unmapped
	}
	for _, m := range said.matches {
		m.on = s.Status == SignalActive
		r.matches = append(r.matches, m)
	}
	return matched
}

// addConditions adds the conditions that stand to the diagnoses. Each resource is a set
// of its own (clinical-decisions D2). It runs from the onset in the first statement of
// the run, else from that statement (D5). It returns the earliest birth among them, 0:
// none, and whether a birth is, or will be, by cesarean.
func (e *evidenceInput) addConditions() (birth Instant, cesarean bool) {
	if len(e.resourceStatements) == 0 {
		return 0, false
	}
	things(e.conditions, func(said []*resourceStatement) {
		d, on := conditionOf(said)
		if !on {
			return
		}
		e.diagnoses = append(e.diagnoses, d)
		newest := said[len(said)-1]
		for _, c := range append(newest.also.list(), Coding{System: newest.System, Code: newest.Code}) {
			other := Diagnosis{System: c.System, Code: c.Code}
			if isBirth(&other) {
				birth = codes.Soonest(birth, d.Start)
			}
			cesarean = cesarean || isCesarean(&other)
		}
	})
	return birth, cesarean
}

// conditionOf returns what the ordered statements about one condition amount to; false:
// it does not stand. Another code is another condition.
func conditionOf(said []*resourceStatement) (d diagnosed, on bool) {
	for _, h := range said {
		if h.Status != SignalActive {
			on = false
			continue
		}
		p := h.plain()
		at, id := p.orderTime(), h.identity
		if !on || d.System != id.system || d.Code != id.code {
			d = diagnosed{Diagnosis: Diagnosis{System: id.system, Code: id.code}, Start: at, Feed: h.Feed}
			if h.StartedAt != 0 && h.StartedAt <= h.ReceivedAt {
				d.Start = h.StartedAt
			}
			on = true
		}
		d.Last = max(d.Start, at)
	}
	return d, on
}
