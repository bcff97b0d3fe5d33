// Package auth identifies who is signed in to the pages.
//
// A session is a record in the settings, which every instance reads. A session without a record is invalid, so a
// session that has ended stays ended after a restart or the loss of Redis. The browser stores the id of the record
// and the time of the person's last request in a sealed cookie, so requests do not write records.
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

// seenEvery is the minimum interval between two updates of the cookie while the person is active.
const seenEvery = 30 * time.Second

// Session is the session of a signed-in person.
type Session struct {
	ID       string
	User     string
	Hospital string     // hospital of the displayed pages
	Role     users.Role // role in that hospital
	BegunAt  time.Time
	ProvedAt time.Time // when the person last authenticated; zero: unknown

	Wall string // id of the wall, if the session belongs to a screen instead of a person

	// Base is the prefix of the paths of the pages. It contains the hospital if the path of the request does.
	Base   string
	cookie cookie
	record users.Session
}

// cookie is the content of a session cookie.
type cookie struct {
	ID       string `json:"id"`
	Seen     int64  `json:"s"`           // Unix seconds of the person's last request
	Position int64  `json:"p,omitempty"` // position in the settings log, at or after that of the session's record
	// User and Hospital are the session's user and hospital; they are used after the session's record has been
	// deleted.
	User     string `json:"u"`
	Hospital string `json:"h"`
}

// AppPath is the prefix of the paths of all pages that require a signed-in person.
const AppPath = "/app"

// EndsAt returns when the session ends if the person makes no further request.
func (s *Session) EndsAt() time.Time {
	limit := s.Role.Limit()
	idle, absolute := time.Unix(s.cookie.Seen, 0).Add(limit.Idle), s.BegunAt.Add(limit.Absolute)
	if absolute.Before(idle) {
		return absolute
	}
	return idle
}

// FreshFor is the maximum age of a person's authentication for an act that grants permissions, sets addresses, or
// displays or revokes a secret. It is a default of this project.
const FreshFor = 60 * time.Minute

// clockSkew is the maximum difference between the clocks of instances and providers.
const clockSkew = time.Minute

// IsFresh reports whether the person authenticated within [FreshFor].
func (s *Session) IsFresh(now time.Time) bool {
	return !s.ProvedAt.IsZero() && now.Sub(s.ProvedAt) <= FreshFor && s.ProvedAt.Sub(now) <= clockSkew
}

// The reasons why a request has no session.
var (
	ErrSignedOut = errors.New("no user is signed in")
	ErrExpired   = errors.New("the session has expired")
	ErrEnded     = errors.New("the session was ended") // by the person or an administrator
)

// Users provides the current permissions of people.
type Users interface {
	// User returns a user of a hospital, or false if there is none.
	User(hospital, id string) (users.User, bool)
	// Hospitals returns the user with the given id in each hospital that has such a user.
	Hospitals(id string) []users.User
	// Session returns a session that has not been ended, or false if there is none.
	Session(id string) (users.Session, bool)
	// Sessions returns the sessions of a person that have not been ended, oldest first.
	Sessions(user string) []users.Session
}

// ReadSession returns the session of a request. If the session is not valid, the error is [ErrSignedOut], [ErrExpired]
// or [ErrEnded]. The returned session is then nil, or names the person for the log and gives no access.
func (c *Cookies) ReadSession(r *http.Request) (*Session, error) {
	s := &Session{Base: AppPath}
	if !c.Open(r, sessionCookie, &s.cookie) || s.cookie.ID == "" {
		return nil, ErrSignedOut
	}
	var known bool
	if s.record, known = c.Users.Session(s.cookie.ID); !known && c.Await != nil {
		c.Await(r.Context(), s.cookie.Position) // another instance may have just started the session
		s.record, known = c.Users.Session(s.cookie.ID)
	}
	if !known {
		s.User, s.Hospital = s.cookie.User, s.cookie.Hospital
		return s, ErrEnded
	}
	s.ID, s.User, s.Hospital, s.BegunAt, s.ProvedAt = s.record.ID, s.record.User, s.record.Hospital, s.record.BegunAt, s.record.ProvedAt
	return s, c.check(s)
}

// check returns why a session is invalid in its hospital, or nil if it is valid. It also sets the user's current role
// in that hospital.
func (c *Cookies) check(s *Session) error {
	user, known := c.Users.User(s.Hospital, s.User)
	epoch, holds := s.record.EpochIn(s.Hospital)
	if !known || !holds || user.Epoch != epoch || user.Disabled {
		return ErrEnded
	}
	s.Role = user.Role
	now := c.Now()
	if !user.May(now) || !now.Before(s.EndsAt()) || s.BegunAt.Sub(now) > clockSkew {
		return ErrExpired
	}
	return nil
}

// MoveSession returns the session switched to another hospital, or false if the session is not valid there.
func (c *Cookies) MoveSession(s *Session, hospital string) (*Session, bool) {
	other := *s
	other.Hospital, other.Base = hospital, AppPath+"/u/"+url.PathEscape(hospital)
	return &other, c.check(&other) == nil
}

// ListHospitals returns the hospitals that the person of a session may view.
func (c *Cookies) ListHospitals(s *Session) (all []string) {
	for _, u := range c.Users.Hospitals(s.User) {
		if _, ok := c.MoveSession(s, u.Hospital); ok {
			all = append(all, u.Hospital)
		}
	}
	return all
}

// BeginSession sends the cookie of a new session to the browser.
func (c *Cookies) BeginSession(w http.ResponseWriter, s *users.Session) {
	kept := cookie{ID: s.ID, Seen: c.Now().Unix(), User: s.User, Hospital: s.Hospital}
	if c.Position != nil {
		kept.Position = c.Position()
	}
	c.Set(w, sessionCookie, kept)
}

// SessionID returns the id of a browser's session, even of a session that is no longer valid, or "" if the browser
// has no session.
func (c *Cookies) SessionID(r *http.Request) string {
	var kept cookie
	c.Open(r, sessionCookie, &kept)
	return kept.ID
}

// EndSession deletes the session cookie from the browser. It does not end the session's record; [users.Office] does
// that.
func (c *Cookies) EndSession(w http.ResponseWriter) { c.Remove(w, sessionCookie) }

// TouchSession records that the person of a session has made a request.
func (c *Cookies) TouchSession(w http.ResponseWriter, r *http.Request, s *Session) {
	if !isByPerson(r) {
		return
	}
	if now := c.Now(); now.Sub(time.Unix(s.cookie.Seen, 0)) >= seenEvery {
		again := s.cookie
		again.Seen = now.Unix()
		c.Set(w, sessionCookie, again)
	}
}

// isByPerson reports whether a person made the request. Pages also send requests automatically, to follow a unit or
// to reload; such requests do not extend the session.
func isByPerson(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Mode") {
	case "": // the browser does not support the header
		return !strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	case "navigate":
		return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-User") == "?1"
	}
	return r.Header.Get("X-Stay") != ""
}
