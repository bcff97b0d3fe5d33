// Package auth says who is signed in to the pages.
//
// A session lies in a sealed cookie alone. No server keeps it, so the loss of Redis signs
// nobody out.
package auth

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/internal/admin/users"
)

// sessionCookie holds the session of a person until the browser is closed.
var sessionCookie = Cookie{"", "svc.v1 session", 0}

// seenEvery is the least time between two writes of the cookie while its person works.
const seenEvery = 30 * time.Second

// Session is a person who is signed in.
type Session struct {
	User     string     `json:"u"`
	Hospital string     `json:"h"` // that the pages show
	Role     users.Role `json:"r"` // there
	Epoch    int64      `json:"e"` // of the user there; a higher one ends the session
	Issued   int64      `json:"i"` // Unix seconds, as Seen
	Seen     int64      `json:"s"`
	// Epochs are the epochs of the user in other hospitals. An epoch of 0 is left out.
	Epochs map[string]int64 `json:"o,omitempty"`

	Wall string `json:"-"` // id of the wall, if nobody is signed in on it

	// Base begins the paths of the pages. It names the hospital if the path of the request
	// does.
	Base string   `json:"-"`
	home *Session // as it lies in the cookie, if Hospital is another one
}

// AppPath begins the paths of all pages that need a person.
const AppPath = "/app"

// EndsAt returns when the session ends unless its person asks for something.
func (s *Session) EndsAt() time.Time {
	limit := s.Role.Limit()
	idle, absolute := time.Unix(s.Seen, 0).Add(limit.Idle), time.Unix(s.Issued, 0).Add(limit.Absolute)
	if absolute.Before(idle) {
		return absolute
	}
	return idle
}

// Why a request has no session.
var (
	ErrSignedOut = errors.New("nobody is signed in")
	ErrExpired   = errors.New("the session has expired")
	ErrEnded     = errors.New("the session was ended") // by an administrator
)

// Users says what people may do now.
type Users interface {
	// User returns a user of a hospital; false: there is none.
	User(hospital, id string) (users.User, bool)
	// Hospitals returns a user in each hospital that has one of that id.
	Hospitals(id string) []users.User
}

// ReadSession returns the session of a request. The errors are [ErrSignedOut],
// [ErrExpired] and [ErrEnded]; the session is not to be used then, and may be nil.
func (c *Cookies) ReadSession(r *http.Request) (*Session, error) {
	s := &Session{}
	if !c.Open(r, sessionCookie, s) || s.Hospital == "" {
		return nil, ErrSignedOut
	}
	s.Base = AppPath
	return s, c.check(s)
}

// check returns why a session does not hold in its hospital. It sets the role that the user has
// there now.
func (c *Cookies) check(s *Session) error {
	user, known := c.Users.User(s.Hospital, s.User)
	if !known || user.Epoch != s.Epoch || user.Disabled {
		return ErrEnded
	}
	s.Role = user.Role // an administrator may have changed it
	now := c.Now()
	if !user.May(now) || !now.Before(s.EndsAt()) || now.Add(time.Minute).Before(time.Unix(s.Issued, 0)) {
		return ErrExpired
	}
	return nil
}

// MoveSession returns the session in another hospital of its person; false: it does not
// hold there.
func (c *Cookies) MoveSession(s *Session, hospital string) (*Session, bool) {
	other := *s
	other.home, other.Base = s, AppPath+"/u/"+url.PathEscape(hospital)
	if hospital != s.Hospital {
		other.Hospital, other.Epoch = hospital, s.Epochs[hospital]
	}
	return &other, c.check(&other) == nil
}

// ListHospitals returns the hospitals that the person of a session may look at.
func (c *Cookies) ListHospitals(s *Session) (all []string) {
	if s.home != nil {
		s = s.home
	}
	for _, u := range c.Users.Hospitals(s.User) {
		if _, ok := c.MoveSession(s, u.Hospital); ok {
			all = append(all, u.Hospital)
		}
	}
	return all
}

// BeginSession signs a person in.
func (c *Cookies) BeginSession(w http.ResponseWriter, u *users.User) {
	now := c.Now().Unix()
	s := &Session{User: u.ID, Hospital: u.Hospital, Role: u.Role, Epoch: u.Epoch, Issued: now, Seen: now}
	for _, other := range c.Users.Hospitals(u.ID) {
		if other.Epoch != 0 && other.Hospital != u.Hospital && len(s.Epochs) < mostEpochs {
			if s.Epochs == nil {
				s.Epochs = map[string]int64{}
			}
			s.Epochs[other.Hospital] = other.Epoch
		}
	}
	c.Set(w, sessionCookie, s)
}

// mostEpochs is how many epochs fit into a cookie. The session does not hold in further
// hospitals.
const mostEpochs = 24

// EndSession signs the person of a browser out.
func (c *Cookies) EndSession(w http.ResponseWriter) { c.Remove(w, sessionCookie) }

// TouchSession notes that the person of a session has asked for something.
func (c *Cookies) TouchSession(w http.ResponseWriter, r *http.Request, s *Session) {
	if !asksForSomething(r) {
		return
	}
	if s.home != nil {
		s = s.home
	}
	if now := c.Now(); now.Sub(time.Unix(s.Seen, 0)) >= seenEvery {
		again := *s
		again.Seen = now.Unix()
		c.Set(w, sessionCookie, &again)
	}
}

// asksForSomething reports whether a person made the request. A page also asks by itself,
// to follow its unit or to fetch itself anew, and that is no use of the session.
func asksForSomething(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Mode") {
	case "": // of a browser that does not say
		return !strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	case "navigate":
		return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-User") == "?1"
	}
	return r.Header.Get("X-Stay") != ""
}
