package httpapi_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
)

// TestOrigins sends the requests that a browser makes for a page from another origin. Only configured origins are
// allowed, and the response lists the headers that a page from such an origin may read.
func TestOrigins(t *testing.T) {
	const board = "https://board.example"
	for name, c := range map[string]struct {
		origins []string
		origin  string
		allowed bool
	}{
		"none configured":        {nil, board, false},
		"configured":             {[]string{"https://other.example", board}, board, true},
		"another":                {[]string{board}, "https://evil.example", false},
		"longer":                 {[]string{board}, board + ".evil.example", false},
		"other scheme":           {[]string{board}, "http://board.example", false},
		"other port":             {[]string{board}, board + ":8443", false},
		"null":                   {[]string{board}, "null", false},
		"no page, from a server": {[]string{board}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			shell := &httpapi.Shell{
				Now: func() time.Time { return noon }, Lookup: func(string) (access.Key, bool) { return access.Key{}, false },
				Log: slog.New(slog.DiscardHandler), Origins: c.origins,
			}
			r := shell.Router()
			r.With(shell.Allow(access.ReadUnitState)).Get("/thing", func(http.ResponseWriter, *http.Request) {})
			ask := func(method string, headers ...string) http.Header {
				q := httptest.NewRequest(method, "/thing", nil)
				if c.origin != "" {
					q.Header.Set("Origin", c.origin)
				}
				for _, h := range headers {
					q.Header.Set(h, "GET")
				}
				w := httptest.NewRecorder()
				r.ServeHTTP(w, q)
				if want := map[string]int{"GET": 401, "OPTIONS": 204}[method]; w.Code != want {
					t.Errorf("%s: %d, want %d", method, w.Code, want)
				}
				if (w.Header().Get("Vary") != "") != (c.origins != nil) {
					t.Errorf("%s: Vary %q", method, w.Header().Get("Vary"))
				}
				return w.Header()
			}
			want := ""
			if c.allowed {
				want = c.origin
			}
			if got := ask("GET").Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("a refusal: allows %q, want %q", got, want)
			}
			h := ask("OPTIONS", "Access-Control-Request-Method")
			if h.Get("Access-Control-Allow-Origin") != want || (h.Get("Access-Control-Allow-Methods") == "GET, HEAD, OPTIONS") != c.allowed || (h.Get("Access-Control-Allow-Headers") != "") != c.allowed {
				t.Errorf("the question before: %v", h)
			}
			for _, name := range []string{"Authorization", "Idempotency-Key", "Prefer", "If-Match"} {
				if strings.Contains(h.Get("Access-Control-Allow-Headers"), name) != c.allowed {
					t.Errorf("may be sent: %q, and %s?", h.Get("Access-Control-Allow-Headers"), name)
				}
			}
			if h = ask("OPTIONS"); h.Get("Access-Control-Allow-Methods") != "" {
				t.Errorf("not asked: %v", h)
			}
			if h.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("cookies are allowed")
			}
		})
	}
}

func TestStrictTransportOnlyBehindTLS(t *testing.T) {
	h := fixture(t.Output())
	for name, c := range map[string]struct {
		tls   bool
		proto string
		want  bool
	}{"plain": {false, "", false}, "own TLS": {true, "", true}, "behind a proxy": {false, "https", true}, "plain proxy": {false, "http", false}} {
		r := httptest.NewRequest(http.MethodGet, "/raw", nil)
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		r.Header.Set("X-Forwarded-Proto", c.proto)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Strict-Transport-Security") != ""; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
