// Package contract declares the operations of the API.
//
// An [Operation] is declared once, next to its handler. [Mount] routes it; the OpenAPI document, the capabilities and
// the documentation page include it.
package contract

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/problem"
)

// Operation describes one method of one path for partners.
type Operation struct {
	Method  string
	Path    string       // chi pattern: /api/admin/keys/{id}
	Scope   access.Scope // scope that the key must have; "": no key needed, or any key if Keyed
	Part    access.Scope `json:"-"` // narrower scope that suffices for a signed-in person; "": none
	Keyed   bool         // whether an operation without a scope needs a valid key; the handler checks the owner
	ID      string       // name in generated clients, such as sendCensus
	Group   string       // section of the page that lists the operation
	Summary string       // phrase in the imperative, such as "List webhooks"
	About   string       // details that the types do not show; may be empty

	Parameters []Parameter
	Bodies     []Body // one for each accepted content type; the first also applies if a request names no content type
	// Data is the zero value of the Go type of the data in the envelope. If Data is nil, the response has no
	// envelope, and its content type is one of those in Bare. If Bare is empty as well, the response is 204 without a
	// body.
	Data any
	Bare []string
	// Tagged is true if a success has the version of the resource as its entity tag, which If-Match accepts.
	Tagged bool
	// Refuses are the error kinds of this operation, in the envelope, in addition to those that all operations have.
	Refuses []problem.Kind
	// RefusesOnPage are the error kinds for which the response is a page instead of the envelope. Like a success,
	// such a response has a content type in Bare.
	RefusesOnPage []problem.Kind
	// Limits are the other limits of the operation, by name, in addition to the limits of its Bodies.
	Limits map[string]int64
}

// Parameter is a parameter in the path, the query or a header of a request.
type Parameter struct {
	Name    string
	In      string // path, query or header
	Needed  bool   // whether a request without the parameter is refused; always true in a path
	About   string
	Example string
	Values  []string // the accepted values; nil: any
	Pattern string   // name of the pattern in the document; "": none
	Format  string   // JSON Schema format; "": none
	// Least and Most are the limits of an integer parameter. A parameter without limits is a string.
	Least, Most int64
}

// Body describes the request body that an operation accepts with one content type.
type Body struct {
	Type     string
	Shape    any    // zero value of the Go type, or AnyOf; nil: text
	Pattern  string // name of the pattern in the document; "": any text
	Limit    int64  // in bytes on the wire
	Optional bool   // whether the body may be missing
	Examples []Example
}

// AnyOf lists shapes; a body must have one of them.
type AnyOf []any

// Example is a body that the handler accepts; a test sends it.
type Example struct {
	Name string
	Text string
}

// Route is an operation with its handler.
type Route[S any] struct {
	Operation
	Serve func(s S, w http.ResponseWriter, r *http.Request)
}

// Operations returns the operations of routes.
func Operations[S any](routes []Route[S]) []Operation {
	all := make([]Operation, len(routes))
	for i := range routes {
		all[i] = routes[i].Operation
	}
	return all
}

// Mount routes the operations, each with its scope check.
func Mount[S any](r chi.Router, shell *httpapi.Shell, s S, routes []Route[S]) {
	for _, route := range routes {
		handler := func(w http.ResponseWriter, r *http.Request) {
			if !route.checksQuery() || !route.queryRefused(w, r) {
				route.Serve(s, w, r)
			}
		}
		on := r
		if route.Scope != "" || route.Keyed {
			on = r.With(shell.Allow(route.Scope, route.Part))
		}
		on.MethodFunc(route.Method, route.Path, handler)
	}
}

// checksQuery reports whether the operation refuses a query that it does not understand. If it ignored a misspelled
// filter, the list would be too long; if it ignored a misspelled dryRun, it would make the change. The feeds and the
// reads of the verdict have no parameters, and ignore those that a proxy or a client adds.
func (o *Operation) checksQuery() bool {
	return o.Scope == access.Admin || o.Keyed
}

// queryRefused reports whether the query is malformed, or has a parameter that the operation does not have or more than
// one value for a parameter. If it does, queryRefused has sent an error response.
func (o *Operation) queryRefused(w http.ResponseWriter, r *http.Request) bool {
	q := httpapi.QueryOf(r)
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // the malformed parameters are not in given
		q.Fault("", "query")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		known := slices.ContainsFunc(o.Parameters, func(p Parameter) bool { return p.In == "query" && p.Name == name })
		switch {
		case !known && parameterName.MatchString(name):
			q.Fault(name, "name")
		case !known: // the name may be a value
			q.Fault("?", "name")
		case len(given[name]) > 1:
			q.Fault(name, "one")
		}
	}
	return q.Refused(w, r)
}

// parameterName matches strings that have the form of a parameter's name.
var parameterName = regexp.MustCompile(`^[A-Za-z][A-Za-z_.-]{0,39}$`)

// Refusals returns all error kinds of an operation.
func (o *Operation) Refusals() []problem.Kind {
	kinds := []problem.Kind{problem.Internal, problem.Unavailable, problem.MethodNotServed}
	if o.Scope != "" || o.Keyed {
		kinds = append(kinds, problem.Unauthorized, problem.RateLimited)
	}
	if o.Scope != "" {
		kinds = append(kinds, problem.Forbidden)
	}
	if len(o.Bodies) > 0 || o.checksQuery() {
		kinds = append(kinds, problem.Invalid)
	}
	if len(o.Bodies) > 0 {
		kinds = append(kinds, problem.TooLarge, problem.UnsupportedMedia, problem.TimedOut)
	}
	return append(kinds, o.Refuses...)
}

// Limit returns the parameter for the maximum number of items in a list.
func Limit(usual, most int) Parameter {
	n := strconv.Itoa(usual)
	about := "The number of entries to return; " + n + " by default."
	return Parameter{Name: "limit", In: "query", Example: n, About: about, Least: 1, Most: int64(most)}
}

// Cursor returns the parameter for the position after which a page begins.
func Cursor() Parameter {
	return Parameter{
		Name: "cursor", In: "query", Example: "1", About: "The value of nextCursor in the previous page.",
		Least: 1, Most: httpapi.MostWhole,
	}
}

// Since returns the parameter for the start of the period that a list covers. The start is inclusive.
func Since() Parameter {
	return Parameter{Name: "since", In: "query", Example: "2026-03-04T00:00:00Z", About: "Entries from this time on.", Format: "date-time"}
}

// Until returns the parameter for the end of the period that a list covers. The end is exclusive.
func Until() Parameter {
	return Parameter{Name: "until", In: "query", Example: "2036-03-05T00:00:00Z", About: "Entries before this time.", Format: "date-time"}
}
