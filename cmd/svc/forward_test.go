package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"svc/internal/config"
	"svc/internal/httpapi"
	"svc/readapi"
)

// reader returns a service with the routes of the read API. Once forwardWrites is called, the service forwards all
// other operations to the given address.
func reader(to string) *service {
	full := routed()
	h := &service{config: &config.Config{}, shell: full.shell, now: full.now, Process: full.Process, log: slog.New(slog.DiscardHandler)}
	h.config.IngestURL, _ = url.Parse(to) //nolint:errcheck // the test passes a valid address
	h.createRouter()
	readapi.Mount(h.router, readapi.Config{Shell: h.shell})
	readapi.MountAudit(h.router, h.shell, nil, nil)
	readapi.MountDeadLetters(h.router, h.shell, nil)
	return h
}

// TestOneAddressServesAll checks that a forwarding reader serves the operations of all roles.
func TestOneAddressServesAll(t *testing.T) {
	h := reader("http://127.0.0.1:1")
	if !h.forwardWrites() {
		t.Fatal("nothing is forwarded")
	}
	for _, o := range operations() {
		if !h.router.Match(chi.NewRouteContext(), o.Method, o.Path) {
			t.Errorf("%s %s is not served", o.Method, o.Path)
		}
	}
}

// TestForward sends a request through a reader. The response must come from svc ingest unchanged, with each header
// once, and svc ingest must see the client's address.
func TestForward(t *testing.T) {
	var got *http.Request
	var body string
	ingest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		text, _ := io.ReadAll(r.Body) //nolint:errcheck // an incomplete body fails the comparison
		body = string(text)
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"ok":false}`) //nolint:errcheck // the client under test reads the response
	}))
	defer ingest.Close()
	h := reader(ingest.URL)
	h.forwardWrites()
	r := httptest.NewRequest(http.MethodPost, "/api/ingest/census?dryRun=true", strings.NewReader(`{"rooms":[]}`))
	r.Header.Set("Authorization", "Bearer svc_x")
	r.Header.Set("X-Request-Id", "abc-1")
	r.Header.Set("X-Forwarded-For", "198.51.100.9")
	r.RemoteAddr, r.Host = "192.0.2.7:5000", "svc.example"
	w := httptest.NewRecorder()
	h.router.ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests || w.Body.String() != `{"ok":false}` || w.Header().Get("Retry-After") != "7" {
		t.Errorf("answer: %d %s %v", w.Code, w.Body, w.Header())
	}
	for name, values := range w.Header() {
		if len(values) != 1 {
			t.Errorf("%s: %q", name, values)
		}
	}
	if body != `{"rooms":[]}` || got.URL.RequestURI() != "/api/ingest/census?dryRun=true" || got.Host != "svc.example" {
		t.Errorf("svc ingest got %s %s of %s", got.URL.RequestURI(), body, got.Host)
	}
	for name, want := range map[string]string{"Authorization": "Bearer svc_x", "X-Request-Id": "abc-1", "X-Forwarded-For": "198.51.100.9, 192.0.2.7"} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("svc ingest got %s: %q, want %q", name, v, want)
		}
	}
}

// TestForwardWithoutIngest: while svc ingest does not respond, the reader returns 503 with Retry-After, in the
// envelope.
func TestForwardWithoutIngest(t *testing.T) {
	h := reader("http://127.0.0.1:1")
	h.forwardWrites()
	w := httptest.NewRecorder()
	h.router.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/ingest/census", strings.NewReader(`{}`)))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), httpapi.Protocol) {
		t.Errorf("answer: %d %s %v", w.Code, w.Body, w.Header())
	}
}
