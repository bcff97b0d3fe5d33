package evidence

import "svc/acuity"

// Conditions yields the conditions that stand, each with all its codings. Each resource
// is a condition of its own (clinical-decisions D2). It runs from the onset in the first
// statement of the run, else from that statement (D5). The caller first calls
// [Input.SortResources], and adds those that count to the diagnoses.
func (e *Input) Conditions(yield func(Diagnosis, []acuity.Coding) bool) {
	more := true
	things(e.conditions, func(said []*ResourceStatement) {
		d, on := conditionOf(said)
		if !on || !more {
			return
		}
		newest := said[len(said)-1]
		more = yield(d, append(newest.Also.List(), acuity.Coding{System: newest.System, Code: newest.Code}))
	})
}

// conditionOf returns what the ordered statements about one condition amount to; false:
// it does not stand. Another code is another condition.
func conditionOf(said []*ResourceStatement) (d Diagnosis, on bool) {
	for _, h := range said {
		if h.Status != acuity.SignalActive {
			on = false
			continue
		}
		p := h.plain()
		at, id := p.OrderTime(), h.Identity
		if !on || d.System != id.System || d.Code != id.Code {
			d = Diagnosis{Diagnosis: acuity.Diagnosis{System: id.System, Code: id.Code}, Start: at, Feed: h.Feed}
			if h.StartedAt != 0 && h.StartedAt <= h.ReceivedAt {
				d.Start = h.StartedAt
			}
			on = true
		}
		d.Last = max(d.Start, at)
	}
	return d, on
}
