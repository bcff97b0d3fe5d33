// Package openapi describes the API for partners. It serves an OpenAPI document, a list of capabilities, and a
// documentation page. None of them requires an API key.
//
// All three are generated from the operations that the roles register (see [contract.Operation]), the table of
// errors, and the catalogue of factors. This package does not repeat their content. In addition, it serves a
// constant: the CapabilityStatement, which FHIR clients request.
//
// To add an endpoint, add a [contract.Route] to its role, with the path, the scope, the Go types of the body and the
// data, and an example. Then add the Operations of its package to [Config]. Tests check that the document describes
// exactly the mounted routes. They send every example to the running handler, and check every response against its
// schema. The command go test ./internal/e2e -run TestContract -update-answers records the responses that the
// document shows.
package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/rules"
)

// Config lists the sources of the descriptions.
type Config struct {
	Shell      *httpapi.Shell
	Operations []contract.Operation // of all roles, including roles that run in other processes
}

// server creates each description when it is first requested.
type server struct {
	document, page func() ([]byte, error)
	capabilities   func() capabilities
	log            *slog.Logger
}

// Mount adds the routes to a router that already uses the shell.
func Mount(r chi.Router, c Config) {
	all := slices.Concat(c.Operations, Operations())
	s := &server{capabilities: sync.OnceValue(func() capabilities { return capabilitiesOf(all) }), log: c.Shell.Log}
	s.document = sync.OnceValues(func() ([]byte, error) { return documentOf(all, c.Shell.DocsURL) })
	s.page = sync.OnceValues(func() ([]byte, error) { return pageOf(all, s.capabilities()) })
	contract.Mount(r, c.Shell, s, routes())
}

// Operations returns the API operations that serve the descriptions.
func Operations() []contract.Operation { return contract.Operations(routes()) }

func routes() []contract.Route[*server] {
	all := []contract.Route[*server]{
		{Operation: contract.Operation{
			Path: "/api/openapi.json", ID: "getOpenAPI", Summary: "Get the OpenAPI description", Bare: []string{"application/json"},
		}, Serve: (*server).serveDocument},
		{Operation: contract.Operation{
			Path: "/api/public/integration-capabilities", ID: "getCapabilities", Data: capabilities{},
			Summary: "Get endpoints, envelope, events, modifier coverage, scopes, code systems and limits",
		}, Serve: (*server).serveCapabilities},
		{Operation: contract.Operation{
			Path: "/api/ingest/fhir/metadata", ID: "getFHIRMetadata", Summary: "Get the FHIR CapabilityStatement",
			Bare: []string{httpapi.FHIRType},
		}, Serve: (*server).serveStatement},
		{Operation: contract.Operation{
			Path: httpapi.DocsPath, ID: "getDocs", Summary: "Get the API documentation page", Bare: []string{"text/html"},
		}, Serve: (*server).servePage},
	}
	for i := range all {
		all[i].Method, all[i].Group = http.MethodGet, "Discovery"
	}
	return all
}

func (s *server) serveDocument(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "application/json", s.document)
}

func (s *server) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", pagePolicy)
	s.answer(w, r, "text/html; charset=utf-8", s.page)
}

func (s *server) serveCapabilities(w http.ResponseWriter, r *http.Request) {
	httpapi.OK(w, r, s.capabilities())
}

func (s *server) answer(w http.ResponseWriter, r *http.Request, kind string, body func() ([]byte, error)) {
	text, err := body()
	if err != nil {
		s.log.ErrorContext(r.Context(), "API description not written", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Internal})
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(text) //nolint:errcheck // fails only if the client has disconnected
}

// statement is the CapabilityStatement, which FHIR clients request first. The HAPI client sends no requests to a
// server without one. The date is the day on which the statement last changed.
var statement = json.RawMessage(`{
	"resourceType": "CapabilityStatement", "status": "active", "date": "2026-11-22", "kind": "instance",
	"software": {"name": "svc", "version": "` + documentVersion + `"},
	"implementation": {"description": "Maternity acuity and staffing: receives resources, does not serve any."},
	"fhirVersion": "4.0.1",
	"format": ["json"],
	"rest": [{
		"mode": "server",
		"documentation": "Post a Bundle of type transaction or batch to the base address. ` +
	`A transaction is not all or nothing: valid entries are applied, and the response entry of each invalid one reports its fault.",
		"security": {"description": "Authorization: Bearer, an API key with the scope ingest:fhir."},
		"resource": [
			{"type": "Condition", "documentation": "A diagnosis."},
			{"type": "Encounter", "documentation": "A visit, and where the patient is."},
			{"type": "Location", "documentation": "A location that an Encounter references."},
			{"type": "Medication", "documentation": "A medication that a MedicationAdministration references."},
			{"type": "MedicationAdministration", "documentation": "A signal."},
			{"type": "Observation", "documentation": "A signal."},
			{"type": "Patient", "documentation": "Used only for the pseudonym, and to tell whether the patient is a newborn."}
		],
		"interaction": [{"code": "transaction"}, {"code": "batch"}]
	}]
}`)

func (s *server) serveStatement(w http.ResponseWriter, r *http.Request) {
	httpapi.WriteFHIR(w, r, http.StatusOK, statement)
}

// addOutcomes documents the responses that FHIR clients get instead of the envelope.
func (w *writer) addOutcomes(op *huma.Operation) {
	for status, r := range op.Responses {
		if status != "200" {
			r.Content[httpapi.FHIRType] = &huma.MediaType{Schema: w.out.schemaOf(reflect.TypeFor[httpapi.Outcome]())}
		}
	}
}

//go:embed page.html
var pageText string

//go:embed page.js
var pageScript string

// pagePolicy is the Content-Security-Policy of the page. It allows the page's own script and style, and nothing else.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// pageOf renders the documentation page.
func pageOf(operations []contract.Operation, c capabilities) ([]byte, error) {
	var shown map[string]json.RawMessage
	if err := json.Unmarshal(answers, &shown); err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	grouped, rest := groupByTask(operations)
	if len(rest) > 0 { // operations without a task, which a test in cmd/svc detects
		grouped = append(grouped, reader{ID: "more", Name: "More", Tasks: []task{{ID: "rest", Name: "Other endpoints", Operations: rest}}})
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"curl": curl,
		"answer": func(o contract.Operation) string {
			var text bytes.Buffer
			if raw, ok := shown[o.ID]; !ok || json.Indent(&text, raw, "", "  ") != nil {
				return ""
			}
			return text.String()
		},
		"refusals": func(o contract.Operation) []problem.Kind {
			all := o.Refusals()
			slices.SortFunc(all, func(a, b problem.Kind) int { return a.Status() - b.Status() })
			return all
		},
		"join": func(all []string) string { return strings.Join(all, " ") },
		"text": http.StatusText,
		"example": func(id string, o contract.Operation) map[string]any {
			return map[string]any{"ID": id, "Operation": o}
		},
		"script": func() template.JS { return template.JS(pageScript) }, //nolint:gosec // embedded
	}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, map[string]any{
		"Readers": grouped, "All": operations, "Can": c, "Kinds": problem.Kinds(), "Rules": rules.All,
	}); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return out.Bytes(), nil
}

// curl returns an example request as a curl command.
func curl(o contract.Operation) string {
	var b strings.Builder
	b.WriteString("curl -s")
	if o.Method != http.MethodGet && (o.Method != http.MethodPost || len(o.Bodies) == 0) {
		b.WriteString(" -X " + o.Method)
	}
	path, query, headers := o.Path, url.Values{}, ""
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", p.Example)
		case p.Needed && p.In == "query":
			query.Set(p.Name, p.Example)
		case p.Needed && p.In == "header":
			headers += " \\\n  -H '" + p.Name + ": " + p.Example + "'"
		}
	}
	if len(query) > 0 {
		path = "'" + path + "?" + query.Encode() + "'"
	}
	b.WriteString(" $SVC" + path + headers)
	if o.Scope != "" || o.Keyed {
		b.WriteString(` -H "Authorization: Bearer $KEY"`)
	}
	if len(o.Bodies) == 0 || len(o.Bodies[0].Examples) == 0 {
		return b.String()
	}
	body := o.Bodies[0]
	b.WriteString(" \\\n  -H 'Content-Type: " + body.Type + "' ")
	if text := body.Examples[0].Text; body.Shape == nil {
		b.WriteString("--data-binary $'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\r", `\r`).Replace(text) + "'")
	} else {
		b.WriteString("-d '" + strings.ReplaceAll(text, "'", `'\''`) + "'")
	}
	return b.String()
}
