package contract

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
)

// TestQueries: an administrator's or a partner's list refuses a query that it does not understand, instead of ignoring
// a filter or a dry run. The error contains no value. Feeds and reads of the verdict ignore parameters.
func TestQueries(t *testing.T) {
	t.Parallel()
	shell := &httpapi.Shell{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), DocsURL: "/docs",
		Lookup: func(string) (access.Key, bool) {
			return access.Key{ID: "key_1", Hospital: "north", Scopes: []access.Scope{access.Admin, access.ReadUnitState}}, true
		},
	}
	router := shell.Router()
	limit := []Parameter{Limit(10, 20)}
	var routes []Route[string]
	for _, o := range []Operation{
		{Path: "/list", Scope: access.Admin, Parameters: limit},
		{Path: "/own", Keyed: true, Parameters: limit},
		{Path: "/level", Scope: access.ReadUnitState},
		{Path: "/readyz"},
	} {
		o.Method = http.MethodGet
		routes = append(routes, Route[string]{o, func(_ string, w http.ResponseWriter, r *http.Request) { httpapi.OK(w, r, 1) }})
	}
	Mount(router, shell, "", routes)
	for query, want := range map[string]string{
		"":                  "",
		"?limit=7":          "",
		"?limit=":           "", // the handler checks values
		"?limt=7":           `[{"path":"limt","rule":"name"}]`,
		"?limit=7&limit=8":  `[{"path":"limit","rule":"one"}]`,
		"?limit=7%zz":       `[{"path":"","rule":"query"}]`,
		"?limit=7;x=1":      `[{"path":"","rule":"query"}]`,
		"?4711=a&Ann+B=c&b": `[{"path":"?","rule":"name"},{"path":"?","rule":"name"},{"path":"b","rule":"name"}]`,
	} {
		for _, path := range []string{"/list", "/own", "/level", "/readyz"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.URL.RawQuery = strings.TrimPrefix(query, "?")
			r.Header.Set("Authorization", "Bearer svc_1")
			w := httptest.NewRecorder()
			router.ServeHTTP(w, r)
			if body := w.Body.String(); path == "/level" || path == "/readyz" || want == "" {
				if w.Code != http.StatusOK {
					t.Errorf("%s%s: %d %s", path, query, w.Code, body)
				}
			} else if w.Code != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%s%s: %d %s, want %s", path, query, w.Code, body, want)
			}
		}
	}
}
