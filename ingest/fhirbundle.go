package ingest

import (
	"net/http"
	"strconv"

	"svc/ingest/fhir"
	"svc/internal/httpapi"
)

// A FHIR client (Accept: application/fhir+json) sends a transaction or batch. It gets a
// Bundle with one entry for each entry that it sent, or an OperationOutcome.

// responseBundle is the Bundle that answers a transaction or batch.
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

// answerFHIR answers a FHIR client.
func answerFHIR(w http.ResponseWriter, r *http.Request, facts *fhir.Facts, a *fhirAnswer) {
	if facts.Bundle == "transaction" || facts.Bundle == "batch" {
		httpapi.WriteFHIR(w, r, http.StatusOK, a.bundle(facts))
		return
	}
	status := http.StatusOK
	if facts.Rejected > 0 && facts.Applied+facts.Ignored == 0 { // 422, as the create of such a resource would get
		status = http.StatusUnprocessableEntity
	}
	issues := []httpapi.OutcomeIssue{a.summary()}
	for _, i := range a.allIssues() {
		issues = append(issues, i.outcome())
	}
	httpapi.WriteFHIR(w, r, status, httpapi.NewOutcome(issues...))
}

// summary is the first issue of an outcome. An outcome must have at least one issue.
func (a *fhirAnswer) summary() httpapi.OutcomeIssue {
	text := "pending"
	if a.Outcome != nil {
		text = *a.Outcome
	}
	c := &a.Resources
	return httpapi.OutcomeIssue{
		Severity: "information", Code: "informational", Details: httpapi.OutcomeDetails{Text: text},
		Diagnostics: "Resources: " + strconv.Itoa(c.Applied) + " applied, " + strconv.Itoa(c.Ignored) + " ignored, " + strconv.Itoa(c.Rejected) + " rejected.",
	}
}

// allIssues returns the issues of reading the body and the warnings of applying it.
func (a *fhirAnswer) allIssues() []fhirIssue {
	all := a.Issues
	for _, w := range a.Warnings {
		all = append(all, fhirIssue{Severity: "warning", Code: w.Code, Expression: w.Path})
	}
	return all
}

// issueTypes maps our codes to the issue types of FHIR. All others are "processing".
var issueTypes = map[string]string{
	"required": "required", "code_missing": "required", "type": "structure", "duplicate_field": "structure",
	"status_unknown": "code-invalid", "class_assumed": "code-invalid", "code_unreadable": "value", "value_unreadable": "value",
	"time_unreadable": "value", "unit": "value", "unit_missing": "value", "superseded": "informational",
}

func (i *fhirIssue) outcome() httpapi.OutcomeIssue {
	kind, known := issueTypes[i.Code]
	if !known {
		kind = "processing"
	}
	one := httpapi.OutcomeIssue{Severity: i.Severity, Code: kind, Details: httpapi.OutcomeDetails{Text: i.Code}}
	if i.Expression != "" {
		one.Expression = []string{i.Expression}
	}
	return one
}

// entryStatus holds the HTTP status of an entry by what became of it.
var entryStatus = map[fhir.Entry]string{
	fhir.EntryApplied: "200 OK", fhir.EntryIgnored: "200 OK", fhir.EntryRejected: "422 Unprocessable Entity",
}

// accepted is the status of an entry that is durable and not applied yet.
const accepted = "202 Accepted"

// bundle answers entry by entry. An issue that belongs to no entry goes to the first.
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
				Diagnostics: "The resource is of no type or state that is used.",
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
