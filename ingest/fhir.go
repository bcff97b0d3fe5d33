package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/facts"
	"svc/acuity/hospital"
	"svc/ingest/fhir"
	"svc/internal/httpapi"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/rules"
)

type fhirAnswer struct {
	common
	Resources fhirCounts  `json:"resources"`
	ADTEvents int         `json:"adtEvents"` // number of applied Encounters
	Signals   int         `json:"signals"`   // number of applied Observations and MedicationAdministrations
	Diagnoses int         `json:"diagnoses"` // number of applied Conditions
	Issues    []fhirIssue `json:"issues"`
}

type fhirCounts struct {
	Received int `json:"received"`
	Applied  int `json:"applied"`
	Exists   int `json:"exists,omitempty"` // number of conditional creates without effect, because the resource was already known
	Ignored  int `json:"ignored"`
	Rejected int `json:"rejected"`
}

type fhirIssue struct {
	Severity   string `json:"severity"` // error, warning or information
	Code       string `json:"code"`
	Expression string `json:"expression"` // position in the body, as a FHIRPath expression
	Message    string `json:"message"`    // what was found and what to do
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
		IfNoneExist: r.Header.Get("If-None-Exist"), IfNoneMatch: r.Header.Get("If-None-Match"), IfMatch: r.Header.Get("If-Match"),
	})
	if fault != nil {
		httpapi.Fail(w, r, refusal(fault, body))
		return
	}
	o.Events, o.Signals, o.References, o.Creates = facts.Events, facts.Signals, facts.References, facts.Creates
	in.places.encounters, in.places.resource = facts.Places, facts.PlaceOf
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
		answer.Issues[i] = fhirIssue{issue.Severity, issue.Code, issue.Expression, rules.Message(issue.Code)}
	}
	answer.place(&in.places)
	if httpapi.PrefersFHIR(r) {
		answerFHIR(w, r, facts, &answer)
		return
	}
	httpapi.OK(w, r, answer)
}

// refusal returns the response to a body that is refused as a whole. A body that is not JSON is parsed again to find
// the position of the error.
func refusal(f *fhir.Fault, body []byte) httpapi.Problem {
	if f.TooLarge {
		return httpapi.Problem{
			Kind: problem.TooLarge, Message: "The body has more resources than the endpoint accepts; send it in parts.",
			Details: []httpapi.Detail{{Path: f.Path, Rule: f.Rule}},
		}
	}
	if len(f.Issues) > 0 {
		return unservedTransaction(f)
	}
	if f.Path == "If-None-Exist" {
		return httpapi.Problem{
			Kind: problem.Invalid,
			Message: "If-None-Exist, If-None-Match and If-Match apply only to a body with one resource; " +
				"in a Bundle, put the conditions in each request.",
			Details: []httpapi.Detail{{Path: f.Path, Rule: f.Rule}},
		}
	}
	if broken := httpapi.CheckJSON(body); broken != nil {
		if d := &broken.Details[0]; strings.HasPrefix(d.Path, "entry[") {
			d.Path = "Bundle." + d.Path
		}
		return *broken
	}
	return httpapi.Problem{
		Kind: problem.Invalid, Message: "The body is not valid JSON, or not the JSON that this endpoint accepts.",
		Details: []httpapi.Detail{{Path: f.Path, Rule: f.Rule}},
	}
}

// unservedTransaction returns the response to a transaction with unsupported requests. Because a transaction is
// atomic, no part of it is applied.
func unservedTransaction(f *fhir.Fault) httpapi.Problem {
	p := httpapi.Problem{
		Kind: problem.NotSupported, Message: "The transaction contains an operation that svc does not support, so nothing was applied. " +
			"Send the current resources with POST or PUT, or send a batch.",
	}
	for _, i := range f.Issues[:min(len(f.Issues), maxDetails)] {
		p.Details = append(p.Details, httpapi.Detail{Path: i.Expression, Rule: i.Code})
	}
	return p
}

// place sets the path of each warning about an event or a signal to the path of the resource from which it was made,
// and drops warnings that are then equal.
func (a *fhirAnswer) place(p *Places) {
	all := a.Warnings[:0]
	for _, w := range a.Warnings {
		if w.Path = p.encounter(acuity.Warning{Code: w.Code, Path: w.Path}); !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	a.Warnings = all
}

// refuseResources updates the results of the FHIR resources from the applied change: it marks resources whose facts
// exceed a limit as rejected, and resources whose conditional create had no effect as existing. It then sets the
// counts in the response.
func (a *fhirAnswer) refuseResources(bundle *fhir.Facts, c *acuity.Change) {
	for i := range c.Items {
		if c.Items[i].Outcome == acuity.Rejected {
			bundle.RefuseEvent(i, c.Items[i].Reason)
		}
		if c.Items[i].Reason == facts.ReasonExists {
			bundle.CountExisting("events", i)
		}
	}
	for _, w := range c.Warnings {
		if w.Code == facts.ReasonExists {
			for _, list := range []string{"signals", "references"} {
				if n, _, ok := pathIn(list, w.Path); ok {
					bundle.CountExisting(list, n)
				}
			}
		}
		if _, over := hospital.Exceeded(w.Code); over {
			if n, _, ok := pathIn("signals", w.Path); ok {
				bundle.RefuseSignal(n, w.Code)
			}
		}
	}
	a.Resources = fhirCounts{bundle.Received, bundle.Applied, bundle.Existing, bundle.Ignored, bundle.Rejected}
	a.ADTEvents, a.Signals, a.Diagnoses = bundle.Encounters, bundle.Measurements, bundle.Conditions
}

// A FHIR client (Accept: application/fhir+json) that sends a transaction or batch gets a Bundle with one entry for
// each entry sent; for any other body, it gets an OperationOutcome.

// responseBundle is the Bundle that responds to a transaction or batch.
type responseBundle struct {
	ResourceType string          `json:"resourceType"`
	Type         string          `json:"type"`
	Entry        []responseEntry `json:"entry,omitempty"`
}

type responseEntry struct {
	Response entryResponse `json:"response"`
}

type entryResponse struct {
	Status  string           `json:"status"`
	Outcome *httpapi.Outcome `json:"outcome,omitempty"`
}

// answerFHIR responds to a FHIR client.
func answerFHIR(w http.ResponseWriter, r *http.Request, facts *fhir.Facts, a *fhirAnswer) {
	if facts.Bundle == "transaction" || facts.Bundle == "batch" {
		httpapi.WriteFHIR(w, r, http.StatusOK, a.bundle(facts))
		return
	}
	status := http.StatusOK
	if facts.Rejected > 0 && facts.Applied+facts.Existing+facts.Ignored == 0 { // 422, because every resource was rejected
		status = http.StatusUnprocessableEntity
	}
	issues := []httpapi.OutcomeIssue{a.summary()}
	for _, i := range a.allIssues() {
		issues = append(issues, i.outcome())
	}
	httpapi.WriteFHIR(w, r, status, httpapi.NewOutcome(issues...))
}

// summary returns an issue that summarizes the results of the resources in the body. This issue comes first, so that
// an outcome has at least one issue, as FHIR requires.
func (a *fhirAnswer) summary() httpapi.OutcomeIssue {
	text := "pending"
	if a.Outcome != nil {
		text = *a.Outcome
	}
	c := &a.Resources
	return httpapi.OutcomeIssue{
		Severity: "information", Code: "informational", Details: httpapi.OutcomeDetails{Text: text},
		Diagnostics: fmt.Sprintf("Resources: %d applied, %d already known, %d ignored, %d rejected.", c.Applied, c.Exists, c.Ignored, c.Rejected),
	}
}

// allIssues returns the issues from reading the body and the warnings from applying it.
func (a *fhirAnswer) allIssues() []fhirIssue {
	all := a.Issues
	for _, w := range a.Warnings {
		all = append(all, fhirIssue{"warning", w.Code, w.Path, w.Message})
	}
	return all
}

// issueTypes maps warning codes to the issue types of FHIR. All other codes are "processing".
var issueTypes = map[string]string{
	"required": "required", "code_missing": "required", "type": "structure", "duplicate_field": "structure",
	"status_unknown": "code-invalid", "class_assumed": "code-invalid", "code_unreadable": "value", "value_unreadable": "value",
	"time_unreadable": "value", "unit": "value", "unit_missing": "value", "superseded": "informational",
	"method_not_supported": "not-supported", "operation_not_supported": "not-supported", "delete_by_search": "not-supported",
	"condition_not_supported": "not-supported", "delete_ignored": "not-supported", "if_match_ignored": "not-supported",
	"exists": "informational", "type_not_used": "informational", "status_not_used": "informational",
	"element_unknown": "structure",
	"not_used":        "informational", "modifier_extension": "extension",
	"list_cut": "too-long", "more_not_listed": "too-long", "reference_unusable": "value",
}

func (i *fhirIssue) outcome() httpapi.OutcomeIssue {
	kind, known := issueTypes[i.Code]
	if !known {
		kind = "processing"
	}
	one := httpapi.OutcomeIssue{Severity: i.Severity, Code: kind, Details: httpapi.OutcomeDetails{Text: i.Code}, Diagnostics: i.Message}
	if i.Expression != "" {
		one.Expression = []string{i.Expression}
	}
	return one
}

// entryStatus maps the result of an entry to its HTTP status.
var entryStatus = map[fhir.Entry]string{
	fhir.EntryApplied: "200 OK", fhir.EntryIgnored: "200 OK", fhir.EntryExists: "200 OK", fhir.EntryRejected: "422 Unprocessable Entity",
	fhir.EntryNotAllowed: "405 Method Not Allowed", fhir.EntryNotSupported: "501 Not Implemented",
}

// accepted is the status of an entry that is durable but not applied yet.
const accepted = "202 Accepted"

// bundle returns a Bundle with a response for each entry. An issue that does not belong to an entry is added to the
// first one.
func (a *fhirAnswer) bundle(facts *fhir.Facts) responseBundle {
	b := responseBundle{ResourceType: "Bundle", Type: facts.Bundle + "-response", Entry: make([]responseEntry, len(facts.Entries))}
	issues := make([][]httpapi.OutcomeIssue, len(facts.Entries))
	for _, i := range a.allIssues() {
		n, _, ok := pathIn("Bundle.entry", i.Expression)
		if !ok {
			n = 0
		}
		if n < len(issues) {
			issues[n] = append(issues[n], i.outcome())
		}
	}
	for n, became := range facts.Entries {
		status := entryStatus[became]
		switch {
		case became == fhir.EntryIgnored && len(issues[n]) == 0:
			issues[n] = append(issues[n], httpapi.OutcomeIssue{
				Severity: "information", Code: "informational", Details: httpapi.OutcomeDetails{Text: "ignored"},
				Diagnostics: "svc does not use resources of this type or status.",
			})
		case became == fhir.EntryApplied && !a.Applied:
			status = accepted
		}
		b.Entry[n].Response.Status = status
	}
	for n := range issues {
		if len(issues[n]) > 0 {
			outcome := httpapi.NewOutcome(issues[n]...)
			b.Entry[n].Response.Outcome = &outcome
		}
	}
	return b
}

// resourcesShape is one resource, an object with a list of resources, or an array of resources. A resource may have
// additional fields.
var resourcesShape = contract.AnyOf{resourceShape{}, resourceListShape{}, []json.RawMessage{}}

type resourceShape struct {
	ResourceType any `json:"resourceType" doc:"Type of the resource, or Bundle."`
}

type resourceListShape struct {
	Resources any `json:"resources" types:"array,object,null"`
}

func (resourceShape) Open()     {}
func (resourceListShape) Open() {}

var sampleFHIR = []contract.Example{{
	Name: "Admission with a condition",
	Text: `{"resourceType":"Bundle","type":"transaction","entry":[` +
		`{"fullUrl":"urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0","resource":{"resourceType":"Encounter","id":"enc-1","status":"in-progress",` +
		`"class":{"system":"http://terminology.hl7.org/CodeSystem/v3-ActCode","code":"IMP"},"identifier":[{"value":"VN9003"}],` +
		`"period":{"start":"2026-03-04T09:29:00-06:00"},"location":[{"location":{"display":"LDR 6"},"status":"active"}]}},` +
		`{"resource":{"resourceType":"Condition","id":"con-1","encounter":{"reference":"urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"},` +
		`"clinicalStatus":{"coding":[{"code":"active"}]},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O14.13"}]}}}]}`,
}}
