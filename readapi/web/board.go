package web

import (
	"bytes"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

// showBoard answers with the page of the wall.
func (s *site) showBoard(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	u, ok := s.readUnit(w, r, session)
	if !ok {
		return
	}
	p := s.writer(r, session)
	frame := s.NewFrame(r, p.Writer, session, p.T("title.board"))
	followStream(&frame, u, "/board/events", false)
	if frame.Theme == "" && session.Wall != "" { // nobody is there to choose
		frame.Theme, frame.Auto = chooseWallTheme(p.Zone, u.At), true
	}
	page.WritePage(w, r, http.StatusOK, templates.Render("board", p.newUnitPage(frame, u, s.findLayout(session.Hospital), true)))
}

// A wall is dark at night, by the clock of the hospital.
const (
	morning = 6
	evening = 20
)

// chooseWallTheme returns the theme of a wall at an instant.
func chooseWallTheme(zone *time.Location, t time.Time) string {
	if hour := t.In(zone).Hour(); hour >= morning && hour < evening {
		return "light"
	}
	return "dark"
}

// WallPath begins the path of the link of a wall. The token follows.
const WallPath = "/board/"

// Walls are the screens that show the board.
type Walls interface {
	// Lookup returns the wall of a token.
	Lookup(token string) (walls.Wall, bool)
	// Wall returns a wall; false: it does not exist, or was revoked.
	Wall(id string) (walls.Wall, bool)
}

// wallCookie opens the board alone. It lasts as long as browsers keep a cookie.
var wallCookie = auth.Cookie{Suffix: "-wall", Purpose: "svc.v1 wall", Age: 400 * 24 * time.Hour}

// wallValue is the value of the cookie of a wall. It ends when the link of the wall changes.
type wallValue struct {
	ID   string
	Hash []byte
}

// openWall signs in a wall by its link. The link works until the wall is revoked, as screens
// are restarted.
func (s *site) openWall(w http.ResponseWriter, r *http.Request) {
	wall, known := walls.Wall{}, false
	if s.Walls != nil && s.Seals != nil {
		wall, known = s.Walls.Lookup(chi.URLParam(r, "token"))
	}
	if !known {
		if !s.LimitTries(w, r) {
			s.ShowFault(w, r, http.StatusNotFound, nil, "fault.wall")
		}
		return
	}
	s.Cookies.Set(w, wallCookie, wallValue{wall.ID, wall.Hash[:]})
	http.Redirect(w, r, "/board", http.StatusSeeOther)
}

// readWall returns the wall of a request; false: the request is of no wall, or the wall was
// revoked.
func (s *site) readWall(r *http.Request) (walls.Wall, bool) {
	var kept wallValue
	if s.Walls == nil || !s.Cookies.Open(r, wallCookie, &kept) {
		return walls.Wall{}, false
	}
	wall, known := s.Walls.Wall(kept.ID)
	return wall, known && bytes.Equal(kept.Hash, wall.Hash[:])
}

// requireWall calls next for a wall, or for a person who may look at the board.
func (s *site) requireWall(next page.Handler) http.HandlerFunc {
	person := s.RequireRole(users.Viewer, next)
	return func(w http.ResponseWriter, r *http.Request) {
		if wall, ok := s.readWall(r); ok {
			next(w, r, &auth.Session{Hospital: wall.Hospital, Wall: wall.ID})
			return
		}
		if _, err := r.Cookie(s.Cookies.Name(wallCookie)); err == nil {
			if _, err := s.Cookies.ReadSession(r); err != nil {
				s.ShowFault(w, r, http.StatusUnauthorized, nil, "fault.wall")
				return
			}
		}
		person(w, r)
	}
}
