package hospital

import (
	"svc/acuity"
	"svc/acuity/codes"
)

// addConditions adds the conditions that stand to the diagnoses. Each resource is a set
// of its own (clinical-decisions D2). It runs from the onset in the first statement of
// the run, else from that statement (D5). It returns the earliest birth among them, 0:
// none, and whether a birth is, or will be, by cesarean.
func (e *evidenceInput) addConditions() (birth acuity.Instant, cesarean bool) {
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
		for _, c := range append(newest.Also.List(), acuity.Coding{System: newest.System, Code: newest.Code}) {
			other := acuity.Diagnosis{System: c.System, Code: c.Code}
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
		if h.Status != acuity.SignalActive {
			on = false
			continue
		}
		p := h.plain()
		at, id := p.orderTime(), h.Identity
		if !on || d.System != id.System || d.Code != id.Code {
			d = diagnosed{Diagnosis: acuity.Diagnosis{System: id.System, Code: id.Code}, Start: at, Feed: h.Feed}
			if h.StartedAt != 0 && h.StartedAt <= h.ReceivedAt {
				d.Start = h.StartedAt
			}
			on = true
		}
		d.Last = max(d.Start, at)
	}
	return d, on
}
