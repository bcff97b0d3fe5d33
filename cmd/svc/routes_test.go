package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/openapi"
)

// TestEveryRouteIsDescribed compares the routes with the OpenAPI document. A new route fails here
// until its package registers it with a [contract.Operation]; see internal/openapi.
func TestEveryRouteIsDescribed(t *testing.T) {
	h := routed()
	var mounted, described []string
	if err := chi.Walk(h.router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if !strings.HasPrefix(route, registryPath+"/") { // these routes respond as schema registries do
			mounted = append(mounted, method+" "+route)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/openapi.json", nil))
	var document struct {
		OpenAPI string
		Info    struct{ Version string }
		Paths   map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil || document.OpenAPI != "3.1.0" || document.Info.Version != "1.1.0" {
		t.Fatalf("%v: %+v", err, document)
	}
	ids := map[string]bool{}
	for path, methods := range document.Paths {
		for method, o := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
			if o.OperationID == "" || ids[o.OperationID] {
				t.Errorf("%s %s has the operation id %q, which is none or another's", method, path, o.OperationID)
			}
			ids[o.OperationID] = true
		}
	}
	slices.Sort(mounted)
	slices.Sort(described)
	if !slices.Equal(mounted, described) {
		t.Errorf("mounted\n%s\ndescribed\n%s", strings.Join(mounted, "\n"), strings.Join(described, "\n"))
	}
	w = httptest.NewRecorder()
	h.router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, httpapi.DocsPath, nil))
	if page := w.Body.String(); !strings.Contains(page, "Unit level and rooms") || strings.Contains(page, "Other endpoints") {
		t.Errorf("%s has no task for some operations, or is no page: %d", httpapi.DocsPath, w.Code)
	}
	for _, o := range slices.Concat(operations(), openapi.Operations()) {
		if o.Group == "" || o.Summary == "" {
			t.Errorf("%s %s lacks a group or a summary", o.Method, o.Path)
		}
		for _, b := range o.Bodies {
			if len(b.Examples) == 0 || b.Limit == 0 {
				t.Errorf("%s %s: the body %s lacks an example or a limit", o.Method, o.Path, b.Type)
			}
		}
		for _, p := range o.Parameters {
			if p.About == "" || p.In == "path" && (p.Example == "" || !strings.Contains(o.Path, "{"+p.Name+"}")) {
				t.Errorf("%s %s: nothing is said of %s, or no example", o.Method, o.Path, p.Name)
			}
		}
	}
}
