package ingest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/ingest/fhir"
	"svc/internal/api"
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
	Expression string `json:"expression"` // as in FHIRPath
}

func (s *server) fhir(w http.ResponseWriter, r *http.Request) {
	_, problem := contentType(r, fhirType, jsonType)
	var body []byte
	if problem == nil {
		body, problem = readBody(w, r, maxFHIRBody)
	}
	if problem != nil {
		api.Fail(w, r, *problem)
		return
	}
	o := s.observe(r, acuity.ChannelFHIR)
	in := s.reader(o)
	facts, fault := fhir.Decode(body, fhir.Options{
		Pseudonym: in.pseudonym, Zone: in.zone, ReceivedAt: in.now, Source: o.Source,
	})
	if fault != nil {
		api.Fail(w, r, refusal(fault))
		return
	}
	o.Events, o.Signals, o.Referents = facts.Events, facts.Signals, facts.Referents
	got := receipt{applied: true, change: acuity.Change{Outcome: acuity.Ignored}}
	switch {
	case len(o.Events)+len(o.Signals)+len(o.Referents) > 0:
		var ok bool
		if got, ok = s.submit(w, r, in, o); !ok {
			return
		}
	case facts.Rejected > 0:
		s.refused(o, 1)
	default:
		s.passed(o)
	}
	answer := fhirAnswer{
		common:    in.answer(got),
		Resources: fhirCounts{facts.Received, facts.Applied, facts.Ignored, facts.Rejected},
		ADTEvents: facts.Encounters, Signals: facts.Measurements, Diagnoses: facts.Conditions,
		Issues: make([]fhirIssue, len(facts.Issues)),
	}
	for i, issue := range facts.Issues {
		answer.Issues[i] = fhirIssue(issue)
	}
	answer.place(facts.Places)
	api.OK(w, r, answer)
}

func refusal(f *fhir.Fault) api.Problem {
	if f.TooLarge {
		return api.Problem{Kind: api.TooLarge, Message: "The body holds more than this endpoint takes at once."}
	}
	return api.Problem{
		Kind: api.Invalid, Message: "The body is not JSON that this endpoint takes.",
		Details: []api.Detail{{Path: f.Path, Rule: f.Rule}},
	}
}

// ofStatements are the warnings of the domain that are about no event, but about what
// was said of a visit or a patient.
var ofStatements = []string{"reference_waiting", "too_many_references", "value_unreadable"}

// place says of the warnings about an event which resource it was made from.
func (a *fhirAnswer) place(places []string) {
	for i := range a.Warnings {
		w := &a.Warnings[i]
		rest, ok := strings.CutPrefix(w.Path, "events[")
		digits, _, cut := strings.Cut(rest, "]")
		if n, err := strconv.Atoi(digits); ok && cut && err == nil && n < len(places) {
			w.Path = places[n]
		} else if w.Path == "" && len(places) == 1 && !slices.Contains(ofStatements, w.Code) {
			w.Path = places[0]
		}
	}
}
