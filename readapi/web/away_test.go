package web

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestUnitIsAway: while a unit cannot be read, its page responds with 503 and shows no level.
func TestUnitIsAway(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	p.units.err = errAway
	if got := p.Ask("GET", "/app", p.Cookie("north", "usr_viewer")); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" || strings.Contains(got.Body.String(), "Green") {
		t.Errorf("%d", got.Code)
	}
}

// TestTooManyTries: after a client address has tried too many invalid links, each further invalid link gets 429 with
// a Retry-After header. A valid link still works from that address.
func TestTooManyTries(t *testing.T) {
	t.Parallel()
	p, left := newPages(t), 2
	p.config.Stranger = func(*http.Request) (time.Duration, bool) {
		left--
		return 3 * time.Second, left >= 0
	}
	p.mount()
	for i, want := range []int{http.StatusGone, http.StatusNotFound, http.StatusTooManyRequests, http.StatusTooManyRequests, http.StatusTooManyRequests} {
		path := []string{"/signin/used", "/board/never", "/signin/used", "/board/never", "/signin/never"}[i]
		got := p.Ask("POST", path, nil)
		if got.Code != want || want == http.StatusTooManyRequests && got.Header().Get("Retry-After") != "4" {
			t.Errorf("try %d: %d, Retry-After %q", i+1, got.Code, got.Header().Get("Retry-After"))
		}
	}
	if got := p.Ask("POST", "/signin/fresh", nil); got.Code != http.StatusSeeOther {
		t.Errorf("a link that holds: %d", got.Code)
	}
}
