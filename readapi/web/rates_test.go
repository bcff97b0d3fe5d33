package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

// TestEveryRequestCounts: every request of a session or a wall counts toward its rate, even a refused one. The page
// beyond the rate reloads itself, because nobody may be at the screen.
func TestEveryRequestCounts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method, path, site string
		want               int  // status of the first request
		wall               bool // whether a wall sends the request; if not, a viewer does
	}{
		"a page":                   {"GET", "/app/trends", "same-origin", http.StatusOK, false},
		"the board of a wall":      {"GET", "/board", "none", http.StatusOK, true},
		"a page of another role":   {"GET", "/app/integrations", "same-origin", http.StatusForbidden, false},
		"an act of another role":   {"POST", "/app/staffing", "same-origin", http.StatusForbidden, false},
		"a page of another":        {"GET", "/app/u/south", "same-origin", http.StatusNotFound, false},
		"an act from another site": {"POST", "/app/staffing", "cross-site", http.StatusForbidden, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, cookie := withWall(t)
			if !tt.wall {
				cookie = p.Cookie("north", "usr_viewer")
			}
			ask := func() *httptest.ResponseRecorder {
				r, w := httptest.NewRequest(tt.method, tt.path, nil), httptest.NewRecorder()
				r.Header.Set("Sec-Fetch-Site", tt.site)
				r.AddCookie(cookie)
				p.Router.ServeHTTP(w, r)
				return w
			}
			const burst = 200 // docs/limits.md
			for i := range burst {
				if got := ask(); got.Code != tt.want {
					t.Fatalf("request %d: %d", i+1, got.Code)
				}
			}
			got := ask()
			if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") != "1" {
				t.Errorf("beyond the rate: %d, Retry-After %q", got.Code, got.Header().Get("Retry-After"))
			}
			if again := strings.Contains(got.Body.String(), `data-again="30"`); again != (tt.method == "GET") {
				t.Errorf("the page reloads itself: %v", again)
			}
			if says := strings.Contains(got.Body.String(), "reloads automatically"); says != (tt.method == "GET") {
				t.Errorf("the page says that it reloads itself: %v", says)
			}
			if tt.wall && strings.Contains(got.Body.String(), `href="/docs"`) {
				t.Error("the page of a wall has links")
			}
		})
	}
}

// TestHeadIsLikeGet: a HEAD request without a session leads to the sign-in, as a GET request does.
func TestHeadIsLikeGet(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for _, path := range []string{"/app", "/app/trends", "/board"} {
		route := chi.NewRouteContext()
		route.RouteMethod = http.MethodGet // as the shell routes a HEAD request
		r, w := httptest.NewRequest("HEAD", path, nil), httptest.NewRecorder()
		p.Router.ServeHTTP(w, r.WithContext(context.WithValue(t.Context(), chi.RouteCtxKey, route)))
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" {
			t.Errorf("%s: %d to %q", path, w.Code, w.Header().Get("Location"))
		}
	}
}

// TestPeopleDoNotSlowDownWalls: requests of people do not count toward the rate of the walls of their hospital.
func TestPeopleDoNotSlowDownWalls(t *testing.T) {
	t.Parallel()
	p, _, wall := withWall(t)
	ask := func(method, path string, cookie *http.Cookie) int {
		r, w := httptest.NewRequest(method, path, nil), httptest.NewRecorder()
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.AddCookie(cookie)
		p.Router.ServeHTTP(w, r)
		return w.Code
	}
	limited := 0
	for range 6 {
		viewer := p.Cookie("north", "usr_viewer")
		for range 200 {
			if ask(http.MethodPost, "/app/staffing", viewer) == http.StatusTooManyRequests {
				limited++
			}
		}
	}
	if limited == 0 {
		t.Error("the requests are not beyond the rate of the hospital")
	}
	if got := ask(http.MethodGet, "/board", wall); got != http.StatusOK {
		t.Errorf("the board of a wall: %d", got)
	}
}
