package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi/access"
)

type spanKey struct{}

// spanLines is a log handler that adds the span in the context to each log line.
type spanLines struct{ slog.Handler }

func (s spanLines) Handle(ctx context.Context, r slog.Record) error {
	r.AddAttrs(slog.Any("span", ctx.Value(spanKey{})))
	return s.Handler.Handle(ctx, r)
}

// TestTrace starts a span for each request with a valid key, regardless of the response, and for no other request. The
// handler and the log line have the context of the span.
func TestTrace(t *testing.T) {
	var spans []string
	var lines bytes.Buffer
	s := &Shell{
		Now: time.Now, Log: slog.New(spanLines{slog.NewTextHandler(&lines, nil)}),
		Lookup: func(token string) (access.Key, bool) {
			return access.Key{ID: "k", Hospital: "north", Scopes: []access.Scope{access.ReadUnitState}}, token == "right"
		},
		Trace: func(r *http.Request, hospital string, _ time.Time) (context.Context, func(string, int)) {
			return context.WithValue(r.Context(), spanKey{}, "span of "+hospital), func(route string, status int) {
				spans = append(spans, fmt.Sprintf("%s %s %d", hospital, route, status))
			}
		},
	}
	router := s.Router()
	router.With(s.Allow(access.ReadUnitState)).Get("/rooms/{id}", func(w http.ResponseWriter, r *http.Request) {
		if got := r.Context().Value(spanKey{}); got != "span of north" {
			t.Errorf("the handler has %v", got)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	router.With(s.Allow(access.Admin)).Get("/admin", func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct{ path, token string }{{"/rooms/7", "right"}, {"/admin", "right"}, {"/rooms/7", "wrong"}, {"/nowhere", "right"}} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil)
		r.Header.Set("Authorization", "Bearer "+tt.token)
		router.ServeHTTP(httptest.NewRecorder(), r)
	}
	if want := []string{"north /rooms/{id} 204", "north /admin 403"}; !slices.Equal(spans, want) {
		t.Errorf("spans %q, want %q", spans, want)
	}
	if got := lines.String(); strings.Count(got, `span="span of north"`) != 2 || strings.Count(got, "span=<nil>") != 2 {
		t.Errorf("lines %s", got)
	}
}
