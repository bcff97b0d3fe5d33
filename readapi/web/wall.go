package web

import (
	"bytes"
	"net/http"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/walls"
)

// WallPath is where the link of a wall leads; its token follows.
const WallPath = "/board/"

// Walls are the screens that show the board.
type Walls interface {
	// Lookup returns the wall of a token.
	Lookup(token string) (walls.Wall, bool)
	// Wall returns a wall; false: it was revoked.
	Wall(id string) (walls.Wall, bool)
}

// wallValue is what the cookie of a wall holds: it ends when the link of the wall changes.
type wallValue struct {
	ID   string
	Hash []byte
}

// openWall signs in a wall by its link. That changes nothing but the cookie of the
// browser: the link goes on to work until the wall is revoked, as screens are restarted.
func (s *site) openWall(w http.ResponseWriter, r *http.Request) {
	wall, known := walls.Wall{}, false
	if s.Walls != nil && s.Seals != nil {
		wall, known = s.Walls.Lookup(chi.URLParam(r, "token"))
	}
	if !known {
		if !s.tooMany(w, r) {
			s.say(w, r, http.StatusNotFound, nil, "fault.wall")
		}
		return
	}
	s.cookies.set(w, wallCookie, wallValue{wall.ID, wall.Hash[:]})
	http.Redirect(w, r, "/board", http.StatusSeeOther)
}

// readWall returns the wall of a request; false: it is none, or was revoked.
func (s *site) readWall(r *http.Request) (walls.Wall, bool) {
	var kept wallValue
	if s.Walls == nil || !s.cookies.open(r, wallCookie, &kept) {
		return walls.Wall{}, false
	}
	wall, known := s.Walls.Wall(kept.ID)
	return wall, known && bytes.Equal(kept.Hash, wall.Hash[:])
}

// onWall calls next for a wall, or for a person who may look at the board.
func (s *site) onWall(next func(http.ResponseWriter, *http.Request, *Session)) http.HandlerFunc {
	person := s.signedIn(Viewer, next)
	return func(w http.ResponseWriter, r *http.Request) {
		if wall, ok := s.readWall(r); ok {
			next(w, r, &Session{Hospital: wall.Hospital, Wall: wall.ID})
			return
		}
		if _, err := r.Cookie(s.cookies.name(wallCookie)); err == nil {
			if _, err := s.cookies.read(r); err != nil {
				s.say(w, r, http.StatusUnauthorized, nil, "fault.wall")
				return
			}
		}
		person(w, r)
	}
}
