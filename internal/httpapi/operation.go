package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi/access"
)

// Operation is one method of one path, with all that a partner's developer has to
// know of it. It is said once, beside its handler: [Mount] routes it, and the
// OpenAPI document, the capabilities and the page of documentation show it.
type Operation struct {
	Method  string
	Path    string       // as chi routes it: /api/admin/keys/{id}
	Scope   access.Scope // "": needs no key, or any if Keyed
	Keyed   bool         // without a scope: any valid key, the handler judges whose
	ID      string       // for generated clients: sendCensus
	Group   string       // under which the page shows it
	Summary string       // a few words
	About   string       // what there is to know beside the types; may be empty

	Parameters []Parameter
	Bodies     []Body // one for each content type that is taken; the first is that of a request without one
	// Data is the zero value of what is in data of the answer, in the envelope.
	// nil: the answer is bare, of the types in Bare; without those it is 204 and empty.
	Data any
	Bare []string
	// Refuses are the ways to refuse beside those of all operations, in the envelope;
	// Told are those that answer as a success does, of a type in Bare: for people.
	Refuses []Kind
	Told    []Kind
	// Limits are numbers to know, by name, beside those that Bodies tell.
	Limits map[string]int64
}

// Parameter is a part of the path, the query or the header of a request.
type Parameter struct {
	Name    string
	In      string // path, query or header
	Needed  bool   // a request without it is refused; one of the path always is
	About   string
	Example string
	Values  []string // if no others are taken
	Pattern string   // of the text, a name that the document knows; "": any
	Format  string   // of the text, as JSON Schema names it; "": none
	// Least and Most bound a whole number; a parameter without them is a text.
	Least, Most int64
}

// Body is what is taken of one content type.
type Body struct {
	Type     string
	Shape    any    // zero value of the Go type that says the fields, or AnyOf; nil: text
	Pattern  string // of the text, a name that the document knows; "": any
	Limit    int64  // bytes on the wire
	Optional bool   // a request may be without a body
	Examples []Example
}

// AnyOf is the shape of a body that may have one of several.
type AnyOf []any

// Example is a body that the running handler takes.
type Example struct {
	Name string
	Text string
}

// Route is an operation with what serves it.
type Route[S any] struct {
	Operation
	Serve func(s S, w http.ResponseWriter, r *http.Request)
}

// Operations are what the routes say.
func Operations[S any](routes []Route[S]) []Operation {
	all := make([]Operation, len(routes))
	for i := range routes {
		all[i] = routes[i].Operation
	}
	return all
}

// Mount routes the operations, each behind its scope.
func Mount[S any](r chi.Router, shell *Shell, s S, routes []Route[S]) {
	for _, route := range routes {
		handler := func(w http.ResponseWriter, r *http.Request) { route.Serve(s, w, r) }
		on := r
		if route.Scope != "" || route.Keyed {
			on = r.With(shell.Allow(route.Scope))
		}
		on.MethodFunc(route.Method, route.Path, handler)
	}
}

// Refusals are the ways in which an operation may be refused.
func (o *Operation) Refusals() []Kind {
	kinds := []Kind{Internal, Unavailable, MethodNotServed}
	if o.Scope != "" || o.Keyed {
		kinds = append(kinds, Unauthorized, RateLimited)
	}
	if o.Scope != "" {
		kinds = append(kinds, Forbidden)
	}
	if len(o.Bodies) > 0 {
		kinds = append(kinds, Invalid, TooLarge, UnsupportedMedia)
	}
	return append(kinds, o.Refuses...)
}

// ErrorShape is the zero value of the envelope of a refusal.
func ErrorShape() any { return failure{} }
