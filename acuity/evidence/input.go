package evidence

import (
	"svc/acuity"
	"svc/acuity/catalogue"
)

// Input is everything that is said about one patient. The order within each list means
// nothing. An Input that is used again saves its memory.
type Input struct {
	Statements []*Statements        // lists that have statements of the patient, and of others
	Owner      Owner                // of the statements that count
	Resources  []*ResourceStatement // all count, whatever their owner; see SortResources
	Diagnoses  []Diagnosis          // still standing, of all feeds
	Listed     []Listed
	Primaries  []acuity.Evidence // by ADT, census and local settings, of the newborns too
	Babies     uint8             // of a multiple birth, as ADT says; 0: unknown

	Cache *Cache // of this patient; nil: nothing is cached

	scratch Cache // for a patient without a cache
	sortedResources
	sorted []orderedStatement   // memory for the statements that are folded
	said   [][]orderedStatement // of each identity
	out    []acuity.Evidence
}

// Diagnosis is a diagnosis that stands: an unbroken run of statements.
type Diagnosis struct {
	acuity.Diagnosis
	Start acuity.Instant // onset, if the first statement of the run gave it, else the time of that statement (clinical-decisions D5)
	Last  acuity.Instant // time of the newest statement
	Feed  acuity.Channel
}

// Listed is a modifier that the newest census lists.
type Listed struct {
	Factor      catalogue.Factor
	Since, Last acuity.Instant // Since is the first census of the unbroken run that lists it, Last the newest
}

// Reset empties the input for the statements of an owner.
func (e *Input) Reset(owner Owner) {
	e.Statements, e.Owner, e.Cache, e.Babies = e.Statements[:0], owner, nil, 0
	e.Resources, e.infusions, e.conditions = e.Resources[:0], e.infusions[:0], e.conditions[:0]
	e.Diagnoses, e.Listed, e.Primaries = e.Diagnoses[:0], e.Listed[:0], e.Primaries[:0]
}

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
