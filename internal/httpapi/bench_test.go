package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/limit"
)

// BenchmarkLayers adds the layers around a handler one by one. The difference between two rows is
// the cost of a layer.
func BenchmarkLayers(b *testing.B) {
	register := access.NewRegister(time.Now)
	key, token := access.Mint(access.Key{Hospital: "north", Scopes: access.Scopes(), Rate: 1e5, Burst: 1e6}, time.Now())
	register.SetKey(key)
	limits := limit.New(limit.NewMemory(time.Now), time.Now)
	empty := func(http.ResponseWriter, *http.Request) {}
	shell := httpapi.Shell{Now: time.Now, Lookup: register.Lookup, Log: slog.New(slog.DiscardHandler)}
	limited := shell
	limited.Limits = limits
	routed := func(s *httpapi.Shell, wrap, allow bool) http.Handler {
		r := chi.NewRouter()
		if wrap {
			r = s.Router()
		}
		if allow {
			r.With(s.Allow(access.ReadUnitState)).Get("/thing", empty)
		} else {
			r.Get("/thing", empty)
		}
		return r
	}
	for _, c := range []struct {
		name    string
		handler http.Handler
	}{
		{"1 router", routed(&shell, false, false)},
		{"2 with id, headers, recovery, log line", routed(&shell, true, false)},
		{"3 with key and scope", routed(&shell, true, true)},
		{"4 with rate", routed(&limited, true, true)},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/thing", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			b.ReportAllocs()
			for b.Loop() {
				c.handler.ServeHTTP(&sink{header: http.Header{}}, r)
			}
		})
	}
}

type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
