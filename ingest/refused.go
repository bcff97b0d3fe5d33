package ingest

import (
	"net/http"
	"slices"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/ingest/fhir"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
)

// The facts of a hospital are limited (see [hospital.Limits]). The processor refuses an
// item beyond a limit, because it alone knows what the hospital has. The answer names the
// place in the body and the rule, such as "maxRooms:1000". The rest of the body is
// applied.

// maxRefused bounds the places that one answer lists.
const maxRefused = 1000

// refusedParts returns the parts of a body that were refused because they exceed a limit.
func (r *reader) refusedParts(c *acuity.Change) (parts []httpapi.Detail) {
	add := func(path, reason string) {
		if rule, over := hospital.Exceeded(reason); over && len(parts) < maxRefused {
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

// refuseWhole reports whether anything of a body was applied. If every part exceeds a
// limit, it answers the request and returns false.
func refuseWhole(w http.ResponseWriter, r *http.Request, c *acuity.Change) bool {
	rule, over := hospital.Exceeded(c.Reason)
	if !over || c.Outcome != acuity.Ignored {
		return true
	}
	httpapi.Fail(w, r, httpapi.Problem{
		Kind: httpapi.Unprocessable, Message: "The hospital has as much of this as it may; nothing was taken.",
		Details: []httpapi.Detail{{Path: fieldOfReason[c.Reason], Rule: rule}},
	})
	return false
}

// fieldOfReason is the field of a body that each reason is about.
var fieldOfReason = map[string]string{
	"too_many_rooms": "roomId", "too_many_visits": "visitId", "too_many_visits_of_patient": "patientId",
}

// refuseResources marks the FHIR resources whose facts exceed a limit as rejected.
func (a *fhirAnswer) refuseResources(facts *fhir.Facts, c *acuity.Change) {
	for i := range c.Items {
		if c.Items[i].Outcome == acuity.Rejected {
			facts.RefuseEvent(i, c.Items[i].Reason)
		}
	}
	for _, w := range c.Warnings {
		if _, over := hospital.Exceeded(w.Code); over {
			if n, _, ok := pathIn("signals", w.Path); ok {
				facts.RefuseSignal(n, w.Code)
			}
		}
	}
	a.Resources = fhirCounts{facts.Received, facts.Applied, facts.Ignored, facts.Rejected}
	a.ADTEvents, a.Signals, a.Diagnoses = facts.Encounters, facts.Measurements, facts.Conditions
}

// refuseMessages rewrites the acknowledgments of HL7 messages whose events exceed a
// limit.
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
		x.refuseEvent(n)
		refused = true
	}
	if refused {
		x.joinAcks()
	}
}

// refuseEvent makes the acknowledgment of message n an error. It is an application
// internal error, because the message itself is valid.
func (x *exchange) refuseEvent(n int) {
	var m hl7.Message
	if m.Scan(x.batch.Messages[n], x.batch.Charset) != nil {
		return // cannot happen: the message was read before
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

// joinAcks joins the acknowledgments into one body.
func (x *exchange) joinAcks() {
	if !x.several {
		x.ack = x.acks[0]
		return
	}
	a := x.by
	a.ID = ackID()
	x.ack = hl7.AppendBatch(nil, x.batch, a, x.acks)
}
