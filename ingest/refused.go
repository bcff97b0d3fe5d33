package ingest

import (
	"net/http"
	"slices"

	"svc/acuity"
	"svc/ingest/fhir"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
)

// What a hospital has is limited (see [acuity.Limits]). What is beyond a limit is refused
// at its item, by the processor: it alone knows what there is. The answer names the
// place in the body and the rule, as "maxRooms:1000"; the rest of the body is taken.

// maxRefused bounds the places that one answer lists.
const maxRefused = 1000

// refusedParts are the parts of a body that an applied observation found no room for.
func (r *reader) refusedParts(c *acuity.Change) (parts []httpapi.Detail) {
	add := func(path, reason string) {
		if rule, over := acuity.Exceeded(reason); over && len(parts) < maxRefused {
			if d := (httpapi.Detail{Path: path, Rule: rule}); !slices.Contains(parts[max(len(parts)-8, 0):], d) {
				parts = append(parts, d)
			}
		}
	}
	for i := range c.Items {
		if c.Items[i].Outcome == acuity.Rejected {
			add(r.places.part(item("events", i)), c.Items[i].Reason)
		}
	}
	for _, w := range c.Warnings {
		add(r.places.part(w.Path), w.Code)
	}
	return parts
}

// refuseWhole answers if there was no room for anything that a body says. It returns
// false if it has answered.
func refuseWhole(w http.ResponseWriter, r *http.Request, c *acuity.Change) bool {
	rule, over := acuity.Exceeded(c.Reason)
	if !over || c.Outcome != acuity.Ignored {
		return true
	}
	httpapi.Fail(w, r, httpapi.Problem{
		Kind: httpapi.Unprocessable, Message: "The hospital has as much of this as it may; nothing was taken.",
		Details: []httpapi.Detail{{Path: partOf[c.Reason], Rule: rule}},
	})
	return false
}

// partOf is the field of a body that a reason is about.
var partOf = map[string]string{
	"too_many_rooms": "roomId", "too_many_visits": "visitId", "too_many_visits_of_patient": "patientId",
}

// refuseResources tells of the resources for whose facts there was no room.
func (a *fhirAnswer) refuseResources(facts *fhir.Facts, c *acuity.Change) {
	for i := range c.Items {
		if c.Items[i].Outcome == acuity.Rejected {
			facts.RefuseEvent(i, c.Items[i].Reason)
		}
	}
	for _, w := range c.Warnings {
		if _, over := acuity.Exceeded(w.Code); over {
			if n, _, ok := pathIn("signals", w.Path); ok {
				facts.RefuseSignal(n, w.Code)
			}
		}
	}
	a.Resources = fhirCounts{facts.Received, facts.Applied, facts.Ignored, facts.Rejected}
	a.ADTEvents, a.Signals, a.Diagnoses = facts.Encounters, facts.Measurements, facts.Conditions
}

// refuseMessages writes the acknowledgments anew of the messages for whose events
// there was no room.
func (x *exchange) refuseMessages(p *Places, c *acuity.Change) {
	refused := false
	for i := range c.Items {
		if c.Items[i].Outcome != acuity.Rejected {
			continue
		}
		n := 0
		if x.several {
			n = p.origins[i]
		}
		x.refuse(n)
		refused = true
	}
	if refused {
		x.join()
	}
}

// refuse makes the acknowledgment of a message an error: application internal error,
// for the message itself is right.
func (x *exchange) refuse(n int) {
	m := views.Get().(*hl7.Message) //nolint:errcheck,forcetypeassert // nothing else is in there
	defer func() {
		m.Release()
		views.Put(m)
	}()
	if m.Scan(x.batch.Messages[n], x.batch.Charset) != nil {
		return // it was read before
	}
	a := x.by
	a.ID, a.Fault = ackID(), &hl7.Fault{Code: hl7.AE, Condition: 207, Segment: "MSH"}
	code, _ := m.Code(a)
	x.acks[n] = m.Ack(nil, a)
	x.results[n].AckCode = string(code)
	if severity(code) > severity(x.worst) {
		x.worst = code
	}
}

// join puts the acknowledgments together.
func (x *exchange) join() {
	if !x.several {
		x.ack = x.acks[0]
		return
	}
	a := x.by
	a.ID = ackID()
	x.ack = hl7.AppendBatch(nil, x.batch, a, x.acks)
}
