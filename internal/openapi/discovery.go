// Package openapi describes the API for partners. It serves an OpenAPI document, a list
// of capabilities, and a page to read. None needs a key.
//
// All three come from the operations that the roles register (see [contract.Operation]),
// the table of errors, and the catalogue of factors. This package repeats nothing that
// stands there.
//
// To add an endpoint, give its role an [contract.Route] with path, scope, shapes of body
// and data, and an example. Then give the Operations of its package to [Config]. Tests
// check that the document has every mounted route and no other. They send every example
// to the running handler, and check every answer against its schema. The command go test
// ./internal/e2e -run TestContract -update-answers writes the answers that the document
// shows.
package openapi

import (
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/contract"
)

// Config is the source of the descriptions.
type Config struct {
	Shell      *httpapi.Shell
	Operations []contract.Operation // of all roles, wherever they run
}

// server makes each description when it is first requested.
type server struct {
	document, page func() ([]byte, error)
	capabilities   func() capabilities
	log            *slog.Logger
}

// Mount adds the routes to a router that already runs the shell.
func Mount(r chi.Router, c Config) {
	all := slices.Concat(c.Operations, Operations())
	s := &server{capabilities: sync.OnceValue(func() capabilities { return capabilitiesOf(all) }), log: c.Shell.Log}
	s.document = sync.OnceValues(func() ([]byte, error) { return documentOf(all, c.Shell.DocsURL) })
	s.page = sync.OnceValues(func() ([]byte, error) { return pageOf(all, s.capabilities()) })
	contract.Mount(r, c.Shell, s, routes())
}

// Operations are the API operations that describe the API.
func Operations() []contract.Operation { return contract.Operations(routes()) }

func routes() []contract.Route[*server] {
	all := []contract.Route[*server]{
		{Operation: contract.Operation{
			Path: "/api/openapi.json", ID: "getOpenAPI", Summary: "This description, for machines", Bare: []string{"application/json"},
		}, Serve: (*server).openapi},
		{Operation: contract.Operation{
			Path: "/api/public/integration-capabilities", ID: "getCapabilities", Data: capabilities{},
			Summary: "Endpoints, envelope, events, coverage of the modifiers, scopes, code systems and limits",
		}, Serve: (*server).capable},
		{Operation: contract.Operation{
			Path: "/api/ingest/fhir/metadata", ID: "getFHIRMetadata", Summary: "CapabilityStatement: what clients of FHIR may send", Bare: []string{httpapi.FHIRType},
		}, Serve: (*server).statement},
		{Operation: contract.Operation{
			Path: httpapi.DocsPath, ID: "getDocs", Summary: "The same, to read", Bare: []string{"text/html"},
		}, Serve: (*server).docs},
	}
	for i := range all {
		all[i].Method, all[i].Group = http.MethodGet, "Discovery"
	}
	return all
}

func (s *server) openapi(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "application/json", s.document)
}

func (s *server) docs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	s.answer(w, r, "text/html; charset=utf-8", s.page)
}

func (s *server) capable(w http.ResponseWriter, r *http.Request) { httpapi.OK(w, r, s.capabilities()) }

func (s *server) answer(w http.ResponseWriter, r *http.Request, kind string, body func() ([]byte, error)) {
	text, err := body()
	if err != nil {
		s.log.ErrorContext(r.Context(), "description cannot be written", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Internal})
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(text) //nolint:errcheck // the client is gone, nobody can be told
}
