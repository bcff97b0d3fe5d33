package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// showBoard responds with the board, which is the page that walls display.
func (s *site) showBoard(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.readUnit(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.board"))
	followStream(&frame, u, "/board/events", false)
	if frame.Theme == "" && session.Wall != "" { // a wall has no user who could choose a theme
		frame.Theme, frame.Auto = chooseWallTheme(p.Zone, u.At), true
	}
	page.WritePage(w, r, http.StatusOK, templates.Render("board", p.newUnitPage(frame, u, s.findLayout(session.Hospital), true)))
}

// The hours, in the hospital's time zone, at which a wall changes to the light theme and to the dark theme.
const (
	morning = 6
	evening = 20
)

// chooseWallTheme returns the theme for a wall at an instant.
func chooseWallTheme(zone *time.Location, t time.Time) string {
	if hour := t.In(zone).Hour(); hour >= morning && hour < evening {
		return "light"
	}
	return "dark"
}

// WallPath is the path of a wall's link without its token.
const WallPath = "/board/"

// Walls provides the screens that show the board.
type Walls interface {
	// Lookup returns the wall that a token belongs to, even if the link has been used or has expired.
	Lookup(token string) (walls.Wall, bool)
	// Wall returns a wall, or false if it does not exist or has been revoked.
	Wall(id string) (walls.Wall, bool)
	// Use signs in a screen with the link of a wall. If several screens use the link concurrently, one is signed in
	// and the others get [walls.ErrNone]. Any other error means that the link currently cannot be used.
	Use(ctx context.Context, token string) (walls.Wall, error)
}

// wallCookie gives access only to the board. It has the maximum lifetime that browsers allow.
var wallCookie = auth.Cookie{Suffix: "-wall", Purpose: "svc.v1 wall", Age: 400 * 24 * time.Hour}

// wallValue is the value of a wall's cookie. It becomes invalid when the wall's link changes.
type wallValue struct {
	ID   string
	Hash []byte // hash of the link that the screen used
}

// showWallLink responds with the button that signs in a screen. Opening the page does not use the link, because mail
// scanners follow links.
func (s *site) showWallLink(w http.ResponseWriter, r *http.Request) {
	token := chi.URLParam(r, "token")
	if wall, known := s.findWallLink(w, r, token); known {
		p := s.NewWriter(r, &auth.Session{Hospital: wall.Hospital})
		n := page.Notice{Frame: s.NewFrame(r, p, nil, p.T("title.board")), Heading: p.HospitalName, Say: p.T("walls.open.say")}
		n.Confirm, n.Button = WallPath+url.PathEscape(token), p.T("walls.open")
		page.WritePage(w, r, http.StatusOK, n.Render())
	}
}

// findWallLink returns the wall that a link belongs to and reports whether the browser may use the link. If the
// browser may not, findWallLink sends an error response. A browser with a signed-in person cannot become a screen,
// because the board would show the link's unit to the next person who signs in with that browser.
func (s *site) findWallLink(w http.ResponseWriter, r *http.Request, token string) (wall walls.Wall, ok bool) {
	if s.Walls != nil && s.Seals != nil {
		wall, ok = s.Walls.Lookup(token)
	}
	if !ok || !wall.LinkValid(s.Now()) {
		if !s.LimitTries(w, r) {
			if r.Method == http.MethodPost {
				s.Refuse(r, nil, "wall_link")
			}
			s.ShowFault(w, r, http.StatusNotFound, nil, "fault.wall")
		}
		return wall, false
	}
	if session, err := s.Cookies.ReadSession(r); err == nil {
		httpapi.Identify(r.Context(), session.Hospital, session.User)
		s.ShowFault(w, r, http.StatusConflict, session, "fault.person")
		return wall, false
	}
	return wall, true
}

// openWall signs in a screen with its link and redirects to the board. The sign-in is stored in a cookie, and the
// link gives no access afterwards.
func (s *site) openWall(w http.ResponseWriter, r *http.Request) {
	token := chi.URLParam(r, "token")
	if _, ok := s.findWallLink(w, r, token); !ok {
		return
	}
	wall, err := s.Walls.Use(r.Context(), token)
	switch {
	case errors.Is(err, walls.ErrNone):
		s.ShowFault(w, r, http.StatusNotFound, nil, "fault.wall")
	case err != nil:
		s.ShowUnavailable(w, r, nil, "wall link not used", err)
	default:
		httpapi.Identify(r.Context(), wall.Hospital, wall.ID)
		s.Cookies.Set(w, wallCookie, wallValue{wall.ID, wall.Hash[:]})
		http.Redirect(w, r, "/board", http.StatusSeeOther)
	}
}

// readWall returns the wall of a request. It returns false if the request has no valid wall cookie or the wall has
// been revoked.
func (s *site) readWall(r *http.Request) (walls.Wall, bool) {
	var kept wallValue
	if s.Walls == nil || !s.Cookies.Open(r, wallCookie, &kept) {
		return walls.Wall{}, false
	}
	wall, known := s.Walls.Wall(kept.ID)
	return wall, known && bytes.Equal(kept.Hash, wall.Hash[:])
}

// requireWall calls next for a person who may view the board, or for a wall. A signed-in person sees the board of
// their own hospital, even in a browser that also has the cookie of a wall.
func (s *site) requireWall(next page.Handler) http.HandlerFunc {
	person := s.RequireRole(users.Viewer, next)
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.Cookies.ReadSession(r); err == nil {
			person(w, r)
			return
		}
		if wall, ok := s.readWall(r); ok {
			httpapi.Identify(r.Context(), wall.Hospital, wall.ID)
			session := &auth.Session{Hospital: wall.Hospital, Wall: wall.ID}
			if !s.LimitPages(w, r, session) {
				next(w, r, session)
			}
			return
		}
		if _, err := r.Cookie(s.Cookies.Name(wallCookie)); err == nil {
			s.ShowFault(w, r, http.StatusUnauthorized, nil, "fault.wall")
			return
		}
		person(w, r)
	}
}
