package page

import (
	"maps"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"svc/readapi/web/auth"
)

// acts lists the acts on the pages by method and route, relative to the path of a hospital. The value is true if an
// act requires that the person authenticated within [auth.FreshFor], because the act grants permissions, sets
// addresses, or displays or revokes a secret. The page with the form for such an act has the same requirement, so
// that the person authenticates before entering values. An act that is missing from the table has this requirement as
// well.
var acts = map[string]bool{
	"GET /integrations/keys/new":          true,
	"POST /integrations/keys/new":         true,
	"GET /integrations/keys/{id}/rotate":  true,
	"POST /integrations/keys/{id}/rotate": true,
	"GET /integrations/keys/{id}/revoke":  true,
	"POST /integrations/keys/{id}/revoke": true,

	"GET /integrations/webhooks/new":                               true,
	"POST /integrations/webhooks/new":                              true,
	"GET /integrations/webhooks/{id}/edit":                         true,
	"POST /integrations/webhooks/{id}/edit":                        true,
	"GET /integrations/webhooks/{id}/rotate":                       true,
	"POST /integrations/webhooks/{id}/rotate":                      true,
	"GET /integrations/webhooks/{id}/delete":                       true,
	"POST /integrations/webhooks/{id}/delete":                      true,
	"POST /integrations/webhooks/{id}/test":                        false, // sends only to the existing address of the webhook
	"POST /integrations/webhooks/{id}/replay":                      false,
	"POST /integrations/webhooks/{id}/deliveries/{delivery}/retry": false,
	"POST /integrations/webhooks/{id}/commands/{command}/stop":     false,

	"GET /integrations/alerts/tiers/{id}":              true,
	"POST /integrations/alerts/tiers/{id}":             true,
	"GET /integrations/alerts/recipients/new":          true,
	"POST /integrations/alerts/recipients/new":         true,
	"GET /integrations/alerts/recipients/{id}":         true,
	"POST /integrations/alerts/recipients/{id}":        true,
	"POST /integrations/alerts/recipients/{id}/remove": true,
	"POST /integrations/alerts/recipients/{id}/test":   false,
	"POST /integrations/alerts/episodes/{id}":          false, // a sign-in must not delay the response to an alert

	"POST /integrations/feeds/letters":      false,
	"POST /integrations/feeds/letters/{id}": false,

	"POST /integrations/terminology/code":               false,
	"POST /integrations/terminology/map/{id}":           false,
	"POST /integrations/terminology/import":             false,
	"POST /integrations/terminology/locations/row":      false,
	"POST /integrations/terminology/locations/row/{id}": false,
	"POST /integrations/terminology/locations/import":   false,

	"GET /integrations/rules/{id}":  true,
	"POST /integrations/rules/{id}": true,

	"POST /integrations/walls":             true,
	"POST /integrations/walls/{id}/link":   true,
	"GET /integrations/walls/{id}/revoke":  true,
	"POST /integrations/walls/{id}/revoke": true,

	"POST /integrations/users":                  true,
	"GET /integrations/users/{id}":              true,
	"POST /integrations/users/{id}":             true,
	"GET /integrations/users/invitations/{id}":  true,
	"POST /integrations/users/invitations/{id}": true,

	"POST /sessions/end": true, // also ends the person's sessions in other browsers

	"POST /staffing":    false, // staff do this during a shift, and a sign-in would delay them
	"POST /alerts/{id}": false,
}

// FreshActs returns the acts by method and route, relative to [auth.AppPath]. The value says whether the act needs a
// fresh sign-in.
func FreshActs() map[string]bool {
	return maps.Clone(acts)
}

// needsFreshSignIn reports whether the act of a request needs a fresh sign-in.
func needsFreshSignIn(r *http.Request) bool {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	fresh, known := acts[method+" "+ActRoute(chi.RouteContext(r.Context()).RoutePattern())]
	return fresh || !known && method != http.MethodGet
}

// ActRoute converts a route pattern to a route relative to the path of a hospital.
func ActRoute(pattern string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pattern, auth.AppPath), "/u/{hospital}")
}

// pathBack returns the path to which a person returns after a sign-in. For a GET request, it is the requested page.
// For a submitted form, it is the nearest page at or above the path of the form.
func pathBack(r *http.Request) string {
	c := chi.RouteContext(r.Context())
	if r.Method == http.MethodGet {
		return r.URL.RequestURI()
	}
	for path := r.URL.EscapedPath(); strings.Count(path, "/") > 1; path = path[:strings.LastIndex(path, "/")] {
		at := chi.NewRouteContext()
		if c.Routes.Match(at, http.MethodGet, path) && !strings.HasSuffix(at.RoutePattern(), "*") {
			return path
		}
	}
	return auth.AppPath
}
