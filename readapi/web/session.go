package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/internal/admin/users"
)

// Role is what a person may do on the pages.
type Role = users.Role

// The roles, each with all that the one before it may do.
const (
	Viewer = users.Viewer
	Charge = users.Charge
	Admin  = users.Admin
)

// seenEvery is how often the cookie is written anew while its person works.
const seenEvery = 30 * time.Second

// Session is who is signed in. It lies in a sealed cookie alone: no server keeps it, so
// the loss of Redis signs nobody out.
type Session struct {
	User     string `json:"u"`
	Hospital string `json:"h"` // that the pages show
	Role     Role   `json:"r"` // there
	Epoch    int64  `json:"e"` // of the user there; a higher one ends the session
	Issued   int64  `json:"i"` // Unix seconds, as Seen
	Seen     int64  `json:"s"`
	// Epochs are those of the user in other hospitals, where they are not 0.
	Epochs map[string]int64 `json:"o,omitempty"`

	Wall string `json:"-"` // id of the wall, if nobody is signed in on it

	// Base begins the paths of the pages: of the hospital in the path, if there is one.
	Base string   `json:"-"`
	home *Session // as it lies in the cookie, if Hospital is another one
}

// appBase begins the paths of the pages.
const appBase = "/app"

// ends is when the session ends unless its person asks for something.
func (s *Session) ends() time.Time {
	limit := s.Role.Limit()
	idle, absolute := time.Unix(s.Seen, 0).Add(limit.Idle), time.Unix(s.Issued, 0).Add(limit.Absolute)
	if absolute.Before(idle) {
		return absolute
	}
	return idle
}

// Why a request has no session.
var (
	errSignedOut = errors.New("nobody is signed in")
	errExpired   = errors.New("the session has expired")
	errEnded     = errors.New("the session was ended") // by an administrator
)

// Seals seals what lies in a cookie. A value opens only under the name it was sealed for.
type Seals interface {
	Seal(name string, clear []byte) []byte
	Open(name string, sealed []byte) ([]byte, error)
}

// Users says what people are now.
type Users interface {
	// User returns a user of a hospital; false: there is none.
	User(hospital, id string) (users.User, bool)
	// Hospitals returns a user in each hospital that has one of that id.
	Hospitals(id string) []users.User
}

// cookies reads and writes sessions.
type cookies struct {
	seals  Seals // nil: nobody can sign in
	users  Users
	now    func() time.Time
	secure bool // the pages are served by HTTPS
}

// read returns the session of a request. The errors are errSignedOut, errExpired and
// errEnded; the session may hold nothing then.
func (c *cookies) read(r *http.Request) (*Session, error) {
	s := &Session{}
	if !c.open(r, sessionCookie, s) || s.Hospital == "" {
		return nil, errSignedOut
	}
	s.Base = appBase
	return s, c.check(s)
}

// check says why a session does not hold in its hospital; its role is what the user is
// there now.
func (c *cookies) check(s *Session) error {
	user, known := c.users.User(s.Hospital, s.User)
	if !known || user.Epoch != s.Epoch || user.Disabled {
		return errEnded
	}
	s.Role = user.Role // an administrator may have changed it
	now := c.now()
	if !user.May(now) || !now.Before(s.ends()) || now.Add(time.Minute).Before(time.Unix(s.Issued, 0)) {
		return errExpired
	}
	return nil
}

// in returns the session in another hospital of its person; false: it does not hold there.
func (c *cookies) in(s *Session, hospital string) (*Session, bool) {
	other := *s
	other.home, other.Base = s, appBase+"/u/"+url.PathEscape(hospital)
	if hospital != s.Hospital {
		other.Hospital, other.Epoch = hospital, s.Epochs[hospital]
	}
	return &other, c.check(&other) == nil
}

// hospitals returns those in which a session holds.
func (c *cookies) hospitals(s *Session) (all []string) {
	for _, u := range c.users.Hospitals(s.User) {
		if _, ok := c.in(s, u.Hospital); ok {
			all = append(all, u.Hospital)
		}
	}
	return all
}

// begin signs a person in.
func (c *cookies) begin(w http.ResponseWriter, u *users.User) {
	now := c.now().Unix()
	s := &Session{User: u.ID, Hospital: u.Hospital, Role: u.Role, Epoch: u.Epoch, Issued: now, Seen: now}
	for _, other := range c.users.Hospitals(u.ID) {
		if other.Epoch != 0 && other.Hospital != u.Hospital && len(s.Epochs) < mostEpochs {
			if s.Epochs == nil {
				s.Epochs = map[string]int64{}
			}
			s.Epochs[other.Hospital] = other.Epoch
		}
	}
	c.set(w, sessionCookie, s)
}

// mostEpochs is how many fit into a cookie. In hospitals beyond it the session does not
// hold.
const mostEpochs = 24

// asked reports whether a person asks for something: a page that follows its unit by
// itself, or is fetched anew, is no use of the session.
func asked(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Mode") {
	case "": // of a browser that does not say
		return !strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	case "navigate":
		return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-User") == "?1"
	}
	return r.Header.Get("X-Stay") != ""
}

// touch notes that the person has asked for something.
func (c *cookies) touch(w http.ResponseWriter, s *Session) {
	if s.home != nil {
		s = s.home
	}
	if now := c.now(); now.Sub(time.Unix(s.Seen, 0)) >= seenEvery {
		again := *s
		again.Seen = now.Unix()
		c.set(w, sessionCookie, &again)
	}
}
