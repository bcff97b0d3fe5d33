package ingest

import (
	"net/http"

	"svc/acuity"
	"svc/ingest/fhir"
	"svc/internal/httpapi"
)

type fhirAnswer struct {
	common
	Resources fhirCounts  `json:"resources"`
	ADTEvents int         `json:"adtEvents"` // Encounters among the applied resources
	Signals   int         `json:"signals"`   // Observations and MedicationAdministrations
	Diagnoses int         `json:"diagnoses"` // Conditions
	Issues    []fhirIssue `json:"issues"`
}

type fhirCounts struct {
	Received int `json:"received"`
	Applied  int `json:"applied"`
	Ignored  int `json:"ignored"`
	Rejected int `json:"rejected"`
}

type fhirIssue struct {
	Severity   string `json:"severity"` // error warning information
	Code       string `json:"code"`
	Expression string `json:"expression"` // a path as in FHIRPath
}

func (s *server) fhir(w http.ResponseWriter, r *http.Request) {
	_, body, ok := readTyped(w, r, maxFHIRBody, fhirType, jsonType)
	if !ok {
		return
	}
	o := s.observe(r, acuity.ChannelFHIR)
	in := s.reader(o)
	facts, fault := fhir.Decode(body, fhir.Options{
		Pseudonym: in.pseudonym, Zone: in.zone, ReceivedAt: in.now, Source: o.Source,
	})
	if fault != nil {
		httpapi.Fail(w, r, refusal(fault))
		return
	}
	o.Events, o.Signals, o.References = facts.Events, facts.Signals, facts.References
	in.places.encounters, in.places.resource = facts.Places, facts.PlaceOfSignal
	in.issues(facts.Issues)
	got := nothingAppended
	switch {
	case len(o.Events)+len(o.Signals)+len(o.References) > 0:
		if got, ok = s.submit(w, r, in, o); !ok {
			return
		}
	case facts.Rejected > 0:
		s.reportRefused(o, requestID(r), 1, in.drainNotices()...)
	default:
		s.reportIgnored(o, requestID(r), in.drainNotices()...)
	}
	answer := fhirAnswer{common: in.answer(got)}
	answer.refuseResources(facts, &got.change)
	answer.Issues = make([]fhirIssue, len(facts.Issues))
	for i, issue := range facts.Issues {
		answer.Issues[i] = fhirIssue(issue)
	}
	answer.place(&in.places)
	if httpapi.PrefersFHIR(r) {
		answerFHIR(w, r, facts, &answer)
		return
	}
	httpapi.OK(w, r, answer)
}

func refusal(f *fhir.Fault) httpapi.Problem {
	if f.TooLarge {
		return httpapi.Problem{
			Kind: httpapi.TooLarge, Message: "The body holds more than this endpoint takes at once.",
			Details: []httpapi.Detail{{Path: f.Path, Rule: f.Rule}},
		}
	}
	return httpapi.Problem{
		Kind: httpapi.Invalid, Message: "The body is not JSON that this endpoint takes.",
		Details: []httpapi.Detail{{Path: f.Path, Rule: f.Rule}},
	}
}

// place sets the path of each warning to the resource that its event was made from.
func (a *fhirAnswer) place(p *Places) {
	for i := range a.Warnings {
		w := &a.Warnings[i]
		w.Path = p.encounter(acuity.Warning(*w))
	}
}
