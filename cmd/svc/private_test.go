package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"svc/internal/config"
)

// TestProfilesAreForLoopback: profiles are answered to this machine only.
func TestProfilesAreForLoopback(t *testing.T) {
	t.Parallel()
	h := newService(&config.Config{}, nil, nil)
	handler := h.private().Handler
	for name, tt := range map[string]struct {
		from   string
		status int
	}{
		"here":                     {"127.0.0.1:5000", http.StatusOK},
		"here, IPv6":               {"[::1]:5000", http.StatusOK},
		"here, in the words of v6": {"[::ffff:127.0.0.1]:5000", http.StatusOK},
		"another pod":              {"10.0.0.6:5000", http.StatusForbidden},
		"a machine beside":         {"192.168.0.7:5000", http.StatusForbidden},
		"nowhere":                  {"", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, open := range map[string]bool{
				"/debug/pprof/": false, "/debug/pprof/cmdline": false, "/debug/pprof/symbol": false, "/debug/pprof/heap": false,
				"/healthz": true, "/metrics": true,
			} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.RemoteAddr = tt.from
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				want := tt.status
				if open {
					want = http.StatusOK
				}
				if w.Code != want {
					t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
				}
			}
		})
	}
}
