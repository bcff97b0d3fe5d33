package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/ingest"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/lifecycle"
	"svc/readapi"
)

// routed returns a service with every route and without connections.
func routed() *service {
	now := func() time.Time { return time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC) }
	shell := &httpapi.Shell{Now: now, Lookup: access.NewRegister(now).Lookup, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler)}
	h := &service{config: &config.Config{}, shell: shell, now: now, Process: &lifecycle.Process{Health: lifecycle.NewHealth(nil, nil)}}
	h.createRouter()
	ingest.Mount(h.router, ingest.Config{Shell: shell})
	readapi.Mount(h.router, readapi.Config{Shell: shell})
	keys.MountWrites(h.router, keys.Config{Shell: shell})
	keys.MountReads(h.router, keys.Config{Shell: shell})
	walls.MountWrites(h.router, walls.Config{Shell: shell})
	walls.MountReads(h.router, walls.Config{Shell: shell})
	layout.MountWrites(h.router, layout.Config{Shell: shell})
	layout.MountReads(h.router, layout.Config{Shell: shell})
	users.MountWrites(h.router, users.Config{Shell: shell})
	users.MountReads(h.router, users.Config{Shell: shell})
	subscribers.MountWrites(h.router, subscribers.Config{Shell: shell})
	subscribers.MountReads(h.router, subscribers.Config{Shell: shell})
	readapi.MountAudit(h.router, shell, nil, nil)
	readapi.MountDeadLetters(h.router, shell, nil)
	readapi.MountAcknowledge(h.router, shell, nil)
	readapi.MountReceipts(h.router, readapi.Receipts{Shell: shell})
	return h
}

// TestEveryPathHasTheEnvelope requests paths that no role serves. For any method and path, the response must be in the
// envelope, unless the path is a health check.
func TestEveryPathHasTheEnvelope(t *testing.T) {
	h := routed()
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
		"method of a feed":             {"GET", "/api/ingest/census", 405, "POST, OPTIONS"},
		"method of a read":             {"POST", "/api/v1/level", 405, "GET, HEAD, OPTIONS"},
		"unknown method":               {"BREW", "/api/v1/level", 405, "GET, HEAD, OPTIONS"},
		"unknown method, unknown path": {"BREW", "/api/ingest/nowhere", 404, ""},
		"method of a health check":     {"POST", "/healthz", 405, "GET, HEAD, OPTIONS"},
		"no key":                       {"GET", "/api/v1/level", 401, ""},
		"alive":                        {"GET", "/healthz", 200, ""},
		"alive, no body":               {"HEAD", "/healthz", 200, ""},
		"ready":                        {"GET", "/readyz", 200, ""},
		"ready, no body":               {"HEAD", "/readyz", 200, ""},
		"head of a read, no key":       {"HEAD", "/api/v1/unit-state", 401, ""},
		"head of a feed":               {"HEAD", "/api/ingest/census", 405, "POST, OPTIONS"},
		"keys, both roles":             {"PUT", "/api/admin/keys", 405, "GET, HEAD, POST, OPTIONS"},
		"a key, both roles":            {"OPTIONS", "/api/admin/keys/key_1", 204, "GET, HEAD, DELETE, OPTIONS"},
		"audit, no key":                {"GET", "/api/admin/audit", 401, ""},
		"head of nothing":              {"HEAD", "/nowhere", 404, ""},
		"options of a read":            {"OPTIONS", "/api/v1/level", 204, "GET, HEAD, OPTIONS"},
		"options of a feed":            {"OPTIONS", "/api/ingest/hl7", 204, "POST, OPTIONS"},
		"options of a health check":    {"OPTIONS", "/healthz", 204, "GET, HEAD, OPTIONS"},
		"options of nothing":           {"OPTIONS", "/nowhere", 404, ""},
		"options of all":               {"OPTIONS", "*", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, "/", nil)
			r.URL.Path = tt.path
			w := httptest.NewRecorder()
			h.router.ServeHTTP(w, r)
			if w.Code != tt.status || w.Header().Get("Allow") != tt.allow {
				t.Errorf("%d, Allow %q; want %d, %q", w.Code, w.Header().Get("Allow"), tt.status, tt.allow)
			}
			if h := w.Header(); h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("Cache-Control") != "no-store" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Strict-Transport-Security") != "" ||
				h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers %v", h)
			}
			if tt.status < http.StatusBadRequest {
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

// TestLimitsInTheCapabilities: the capabilities list each limit for which docs/limits.md names the rule of a refusal.
func TestLimitsInTheCapabilities(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	routed().router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/public/integration-capabilities", nil))
	var answer struct {
		Data struct{ Limits map[string]int64 }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{
		"maxRooms": "roomsInUse", "maxVisits": "visits", "maxVisitsPerPatient": "visitsPerPatient", "maxEventBytes": "eventBytes",
		"maxStatements": "statements", "maxUnknown": "unknownVisits", "maxKeys": "keys", "maxWalls": "wallDisplays", "maxLinks": "invitations",
	}
	all := regexp.MustCompile("(?m)^\\| `(\\w+):(\\d+)` \\|").FindAllStringSubmatch(string(page), -1)
	for _, rule := range all {
		name := cmp.Or(names[rule[1]], rule[1])
		if got, ok := answer.Data.Limits[name]; !ok || strconv.FormatInt(got, 10) != rule[2] {
			t.Errorf("%s is %d in the capabilities, want %s", name, got, rule[2])
		}
	}
	if len(all) < 12 {
		t.Errorf("only %d rules", len(all))
	}
}

// TestUnreadyIsDescribed: the document lists the content type of the response of a process that is not ready.
func TestUnreadyIsDescribed(t *testing.T) {
	h := routed()
	h.Health = lifecycle.NewHealth([]string{"kafka"}, nil)
	h.Health.Add("kafka", func(context.Context) error { return errors.New("away") })
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Content map[string]any }
		}
	}
	if err := json.Unmarshal(get("/api/openapi.json").Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	unready := get("/readyz")
	kind, _, _ := strings.Cut(unready.Header().Get("Content-Type"), ";")
	if _, ok := document.Paths["/readyz"]["get"].Responses[strconv.Itoa(unready.Code)].Content[kind]; !ok || unready.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s is not described", unready.Code, kind)
	}
}
