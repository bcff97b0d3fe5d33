package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"svc/internal/httpapi/problem"
)

// FHIRType is the content type of FHIR in JSON.
const FHIRType = "application/fhir+json"

// fhirBase is the base URL path of the FHIR endpoint.
const fhirBase = "/api/ingest/fhir"

// Outcome is an OperationOutcome of FHIR R4. A FHIR client gets it with, or instead of, a resource.
type Outcome struct {
	ResourceType string         `json:"resourceType"`
	Issue        []OutcomeIssue `json:"issue"`
}

// OutcomeIssue is one issue of an [Outcome].
type OutcomeIssue struct {
	Severity    string         `json:"severity"` // error, warning or information
	Code        string         `json:"code"`     // code of the value set IssueType
	Details     OutcomeDetails `json:"details"`
	Diagnostics string         `json:"diagnostics,omitempty"` // human-readable message
	Expression  []string       `json:"expression,omitempty"`  // FHIRPath of the elements with the issue
}

// OutcomeDetails holds an error or warning code of svc.
type OutcomeDetails struct {
	Text string `json:"text"`
}

// NewOutcome returns an outcome with issues.
func NewOutcome(issues ...OutcomeIssue) Outcome { return Outcome{"OperationOutcome", issues} }

// PrefersFHIR reports whether a request to the FHIR endpoint wants a FHIR response: its Accept header names the FHIR
// type with at least the weight of plain JSON.
func PrefersFHIR(r *http.Request) bool {
	path := r.URL.Path
	if path != fhirBase && !strings.HasPrefix(path, fhirBase+"/") {
		return false
	}
	fhir := quality(r.Header["Accept"], FHIRType)
	return fhir > 0 && fhir >= quality(r.Header["Accept"], "application/json")
}

// quality returns the weight of a type that the Accept header names, or 0 if the header does not name it.
func quality(accept []string, name string) (best float64) {
	for _, header := range accept {
		for one := range strings.SplitSeq(header, ",") {
			media, parameters, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(media), name) {
				continue
			}
			weight := 1.0
			for parameter := range strings.SplitSeq(parameters, ";") {
				key, value, _ := strings.Cut(parameter, "=")
				if strings.EqualFold(strings.TrimSpace(key), "q") {
					var err error
					if weight, err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
						weight = 0
					}
				}
			}
			best = max(best, weight)
		}
	}
	return best
}

// WriteFHIR responds with a FHIR resource.
func WriteFHIR(w http.ResponseWriter, r *http.Request, status int, resource any) {
	body, err := Marshal(resource)
	if err != nil {
		from(r.Context()).shell.Log.ErrorContext(r.Context(), "response not encoded", "error", err)
		Fail(w, r, Problem{Kind: problem.Internal})
		return
	}
	writeAs(w, status, fhirContentType, append(body, '\n'))
}

// outcome converts the problem to an OperationOutcome, with one issue for each broken rule.
func (p *Problem) outcome() Outcome {
	main := OutcomeIssue{Severity: "error", Code: p.Kind.Issue(), Details: OutcomeDetails{p.Kind.Code()}, Diagnostics: p.Message}
	if len(p.Details) == 0 {
		return NewOutcome(main)
	}
	var issues []OutcomeIssue
	for _, d := range p.Details {
		one := main
		one.Details.Text = d.Rule
		if d.Path != "" {
			one.Expression = []string{d.Path}
		}
		issues = append(issues, one)
	}
	return NewOutcome(issues...)
}
