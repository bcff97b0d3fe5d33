package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"svc/ingest"
	"svc/internal/access"
	"svc/internal/api"
	"svc/readapi"
)

// TestEveryPathHasTheEnvelope asks for what no role serves: each answer but
// those of the health checks is in the envelope, whatever method and path.
func TestEveryPathHasTheEnvelope(t *testing.T) {
	now := func() time.Time { return time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC) }
	shell := &api.Shell{Now: now, Lookup: access.NewRegister(now).Lookup, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler)}
	h := &house{config: &config{}, shell: shell, now: now, checks: map[string]func(context.Context) error{}}
	h.routes = map[string]http.Handler{
		"/api/ingest/": ingest.New(ingest.Config{Shell: shell}),
		"/api/v1/":     readapi.New(readapi.Config{Shell: shell}),
	}
	for name, tt := range map[string]struct {
		method, path string
		status       int
		allow        string
	}{
		"root":                         {"GET", "/", 404, ""},
		"unknown":                      {"DELETE", "/nowhere", 404, ""},
		"unknown below ingest":         {"POST", "/api/ingest/nowhere", 404, ""},
		"unknown below v1":             {"GET", "/api/v1/nowhere", 404, ""},
		"slash at the end":             {"POST", "/api/ingest/census/", 404, ""},
		"two slashes":                  {"GET", "//api/v1/level", 404, ""},
		"two slashes inside":           {"POST", "/api//ingest/census", 404, ""},
		"dots":                         {"GET", "/api/v1/../v1/level", 404, ""},
		"metrics are private":          {"GET", "/metrics", 404, ""},
		"method of a feed":             {"GET", "/api/ingest/census", 405, "POST"},
		"method of a read":             {"POST", "/api/v1/level", 405, "GET, HEAD"},
		"unknown method":               {"BREW", "/api/v1/level", 405, "GET, HEAD"},
		"unknown method, unknown path": {"BREW", "/api/ingest/nowhere", 404, ""},
		"method of a health check":     {"POST", "/healthz", 405, "GET, HEAD"},
		"no key":                       {"GET", "/api/v1/level", 401, ""},
		"alive":                        {"GET", "/healthz", 200, ""},
		"alive, no body":               {"HEAD", "/healthz", 200, ""},
		"ready":                        {"GET", "/readyz", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, "/", nil)
			r.URL.Path = tt.path
			w := httptest.NewRecorder()
			h.front().ServeHTTP(w, r)
			if w.Code != tt.status || w.Header().Get("Allow") != tt.allow {
				t.Errorf("%d, Allow %q; want %d, %q", w.Code, w.Header().Get("Allow"), tt.status, tt.allow)
			}
			if tt.status == http.StatusOK {
				return
			}
			var body struct {
				Protocol string
				OK       *bool
				Error    struct{ Code, Message, Docs string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Protocol != "svc.v1" || body.OK == nil || *body.OK ||
				body.Error.Code == "" || body.Error.Message == "" || body.Error.Docs != "/docs" || w.Header().Get("X-Request-Id") == "" {
				t.Errorf("no envelope: %q", w.Body)
			}
		})
	}
}
