package web

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/internal/admin/walls"
)

// withWall returns pages with a wall display of hospital north, the register of wall displays, and the display's
// cookie. The token of the display's link is "screen".
func withWall(t *testing.T) (*pages, *walls.Register, *http.Cookie) {
	t.Helper()
	p := newPages(t)
	register := walls.NewRegister()
	register.Set(walls.Wall{ID: "wall_1", Hospital: "north", Hash: sha256.Sum256([]byte("screen"))})
	p.config.Walls = &screens{register}
	p.mount()
	got := p.Ask("POST", "/board/screen", nil)
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/board" || len(got.Result().Cookies()) != 1 {
		t.Fatalf("opened: %d to %s", got.Code, got.Header().Get("Location"))
	}
	return p, register, got.Result().Cookies()[0]
}

// screens implements Walls with links that work once.
type screens struct{ *walls.Register }

func (s *screens) Use(_ context.Context, token string) (walls.Wall, error) {
	w, known := s.Lookup(token)
	if !known || !w.LinkValid(noon) {
		return w, walls.ErrNone
	}
	w.UsedAt = noon
	s.Set(w)
	return w, nil
}

// TestWallLinkOpensOnce: opening a link changes nothing. The button on its page signs in one screen; after that, the
// link no longer works.
func TestWallLinkOpensOnce(t *testing.T) {
	t.Parallel()
	p, register, _ := withWall(t)
	for _, method := range []string{"GET", "POST"} {
		if got := p.Ask(method, "/board/screen", nil); got.Code != http.StatusNotFound || len(got.Result().Cookies()) != 0 {
			t.Errorf("%s of a used link: %d", method, got.Code)
		}
	}
	register.Set(walls.Wall{ID: "wall_2", Hospital: "south", Hash: sha256.Sum256([]byte("other"))})
	for range 3 {
		if got := p.Ask("GET", "/board/other", nil); got.Code != http.StatusOK || len(got.Result().Cookies()) != 0 || !strings.Contains(got.Body.String(), "Use this screen as a wall display") {
			t.Fatalf("opened: %d", got.Code)
		}
	}
	// The link has no effect in a browser in which a user of another hospital is signed in.
	session := p.Cookie("north", "usr_viewer")
	for _, method := range []string{"GET", "POST"} {
		if got := p.Ask(method, "/board/other", session); got.Code != http.StatusConflict || len(got.Result().Cookies()) != 0 {
			t.Errorf("%s while somebody is signed in: %d", method, got.Code)
		}
	}
	wall := p.Ask("POST", "/board/other", nil).Result().Cookies()[0]
	r := httptest.NewRequest("GET", "/board", nil)
	r.AddCookie(wall)
	r.AddCookie(session)
	w := httptest.NewRecorder()
	p.Router.ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "canary of north") || strings.Contains(w.Body.String(), "canary of south") {
		t.Errorf("a person of north at the screen of south: %d", w.Code)
	}
}

// TestWallSeesTheBoardAlone requests every page with the cookie of a wall display. Only the board may be shown.
func TestWallSeesTheBoardAlone(t *testing.T) {
	t.Parallel()
	p, _, cookie := withWall(t)
	if cookie.Name != "__Host-svc-wall" || !cookie.Secure || !cookie.HttpOnly || cookie.MaxAge != 400*86400 {
		t.Errorf("cookie %v", cookie)
	}
	if got := p.Ask("GET", "/board", cookie); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "canary of north") {
		t.Errorf("board: %d", got.Code)
	}
	for _, r := range p.guarded() {
		if strings.HasPrefix(r.pattern, "/board") {
			continue
		}
		for _, name := range []string{cookie.Name, "__Host-svc"} { // the wall's cookie is not accepted as a session cookie either
			other := *cookie
			other.Name = name
			got := p.Ask(r.method, r.path, &other, "nurses=3")
			if got.Code != http.StatusUnauthorized && (got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/") || strings.Contains(got.Body.String(), "canary") {
				t.Errorf("%s %s as %s: %d", r.method, r.pattern, name, got.Code)
			}
		}
	}
}

// TestWallIsRevoked: a screen loses access immediately when its wall display is revoked or gets another link.
func TestWallIsRevoked(t *testing.T) {
	t.Parallel()
	for name, revoke := range map[string]func(*walls.Register){
		"revoked":      func(r *walls.Register) { r.Drop("wall_1") },
		"another link": func(r *walls.Register) { r.Set(walls.Wall{ID: "wall_1", Hospital: "south"}) },
	} {
		p, register, cookie := withWall(t)
		revoke(register)
		for _, path := range []string{"/board", "/board/events"} {
			if got := p.Ask("GET", path, cookie); got.Code != http.StatusUnauthorized || strings.Contains(got.Body.String(), "canary") || !strings.Contains(got.Body.String(), "new one") {
				t.Errorf("%s: %s answers %d", name, path, got.Code)
			}
		}
		if got := p.Ask("GET", "/board/screen", nil); got.Code != http.StatusNotFound || len(got.Result().Cookies()) != 0 {
			t.Errorf("%s: the link answers %d", name, got.Code)
		}
	}
}

// TestUnknownWalls: an unknown token or a tampered cookie gives no access.
func TestUnknownWalls(t *testing.T) {
	t.Parallel()
	p, _, cookie := withWall(t)
	if got := p.Ask("GET", "/board/other", nil); got.Code != http.StatusNotFound || len(got.Result().Cookies()) != 0 || !strings.Contains(got.Body.String(), "administrator") {
		t.Errorf("wrong token: %d", got.Code)
	}
	session := p.Cookie("south", "usr_south")
	for _, value := range []string{"", "*", cookie.Value[:20], strings.Repeat("A", len(cookie.Value)), session.Value} {
		other := *cookie
		other.Value = value
		if got := p.Ask("GET", "/board", &other); got.Code != http.StatusUnauthorized || strings.Contains(got.Body.String(), "canary") {
			t.Errorf("cookie %.10s: %d", value, got.Code)
		}
	}
	if got := p.Ask("GET", "/board", session); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "canary of south") {
		t.Errorf("a person who may look at it: %d", got.Code)
	}
}
