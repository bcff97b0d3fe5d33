package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestProfilesAreForLoopback asks for profiles from addresses of this machine and of
// others, at addresses that others reach and that they do not.
func TestProfilesAreForLoopback(t *testing.T) {
	t.Parallel()
	h := newHouse(&config{}, nil, nil)
	handler := h.private().handler
	for name, tt := range map[string]struct {
		at, from string
		status   int
	}{
		"here":                      {"127.0.0.1:9090", "127.0.0.1:5000", http.StatusOK},
		"here, IPv6":                {"[::1]:9090", "[::1]:5000", http.StatusOK},
		"here, in the words of v6":  {"[::ffff:127.0.0.1]:9090", "[::ffff:127.0.0.1]:5000", http.StatusOK},
		"another pod":               {"10.0.0.5:9090", "10.0.0.6:5000", http.StatusForbidden},
		"the pod by its address":    {"10.0.0.5:9090", "10.0.0.5:5000", http.StatusForbidden},
		"a machine beside":          {"127.0.0.1:9090", "192.168.0.7:5000", http.StatusForbidden},
		"who says nothing of where": {"", "127.0.0.1:5000", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, open := range map[string]bool{
				"/debug/pprof/": false, "/debug/pprof/cmdline": false, "/debug/pprof/symbol": false, "/debug/pprof/heap": false,
				"/healthz": true, "/metrics": true,
			} {
				ctx := t.Context()
				if tt.at != "" {
					address, err := net.ResolveTCPAddr("tcp", tt.at)
					if err != nil {
						t.Fatal(err)
					}
					ctx = context.WithValue(ctx, http.LocalAddrContextKey, address)
				}
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
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
