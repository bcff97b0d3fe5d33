package users

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// Session is the sign-in of a person at one browser. Its record is in the settings topic, so an ended session remains
// ended after a restart or the loss of Redis, and at every instance. A session without a record is invalid.
type Session struct {
	ID       string // 32 hex digits; the browser stores the id in a sealed cookie
	Hospital string // hospital whose settings store the record, and where the session begins
	User     string // id of the user
	BegunAt  time.Time
	// ProvedAt is when the link or the identity provider authenticated the person. It is zero if the provider does
	// not report the time.
	ProvedAt time.Time
	EndsAt   time.Time // latest end of the session
	Browser  string    // such as "Firefox, Windows"; "": unknown
	// Epochs are the epochs of the user when the session began, ascending by hospital. The session is invalid in a
	// hospital without an epoch, or where the user now has a different epoch.
	Epochs []SessionEpoch
	// ShownAt is the creation time of the newest secret that the session has displayed. Zero means none.
	ShownAt time.Time
}

// SessionEpoch is the epoch that the session's user had in one hospital when the session began.
type SessionEpoch struct {
	Hospital string
	Epoch    int64
}

// EpochIn returns the epoch of a session in a hospital. It returns false if the session is not valid in that
// hospital.
func (s *Session) EpochIn(hospital string) (int64, bool) {
	i, holds := slices.BinarySearchFunc(s.Epochs, hospital, func(e SessionEpoch, id string) int { return cmp.Compare(e.Hospital, id) })
	if !holds {
		return 0, false
	}
	return s.Epochs[i].Epoch, true
}

// mostSessions is the maximum number of concurrent sessions of a person. If the person signs in once more, the oldest
// session ends.
const mostSessions = 10

// SignIn describes the browser at which a person signs in.
type SignIn struct {
	Browser  string    // as in [Session]
	Before   string    // id of the browser's previous session, which ends; "": none
	ProvedAt time.Time // as in [Session]
}

// Reasons in the audit log for sessions that ended because a new one started.
const (
	endedBySignIn = "sign_in" // the browser signed in again
	endedByLimit  = "limit"   // the person had mostSessions
)

// addSession adds a new session for a person to c. It also ends the sessions that the new one replaces, and removes
// expired sessions. all contains the person's user records in the hospitals where the session is valid. The first of
// these hospitals stores the session.
func (o *Office) addSession(c *Changes, acts []audit.Act, all []User, in SignIn) (Session, []audit.Act) {
	now, first := cut(o.Now()), &all[0]
	s := Session{
		ID: access.RandomHex(16), Hospital: first.Hospital, User: first.ID, BegunAt: now, ProvedAt: cut(in.ProvedAt), Browser: in.Browser,
	}
	for i := range all {
		s.Epochs = append(s.Epochs, SessionEpoch{all[i].Hospital, all[i].Epoch})
		if ends := now.Add(all[i].Role.Limit().Absolute); ends.After(s.EndsAt) {
			s.EndsAt = ends
		}
	}
	end := func(old *Session, reason string) {
		c.DropSessions = append(c.DropSessions, old)
		if now.Before(old.EndsAt) {
			acts = append(acts, endOf(old, now, old.User, reason))
		}
	}
	if old, known := o.Register.Session(in.Before); known {
		end(&old, endedBySignIn)
	}
	for _, old := range o.Register.ended(first.Hospital, now) {
		if old.ID != in.Before {
			c.DropSessions = append(c.DropSessions, &old)
		}
	}
	open := slices.DeleteFunc(o.Register.Sessions(s.User), func(old Session) bool { return !now.Before(old.EndsAt) || old.ID == in.Before })
	for i := range max(len(open)-mostSessions+1, 0) {
		end(&open[i], endedByLimit)
	}
	c.Sessions = append(c.Sessions, &s)
	return s, acts
}

func endOf(s *Session, now time.Time, by, reason string) audit.Act {
	return audit.Act{Hospital: s.Hospital, At: now, By: by, Action: ActEnd, Subject: s.User, Before: s.ID[:min(len(s.ID), 16)], Reason: reason}
}

// EndSessions ends the given sessions of one person, each in all hospitals in which it is valid. reason is the stable
// word for the audit records.
func (o *Office) EndSessions(ctx context.Context, reason string, all ...Session) error {
	if len(all) == 0 {
		return nil
	}
	var c Changes
	var acts []audit.Act
	for i := range all {
		c.DropSessions = append(c.DropSessions, &all[i])
		acts = append(acts, endOf(&all[i], cut(o.Now()), all[i].User, reason))
	}
	// The write is unconditional, because a sign-out must succeed even if other settings change at the same time.
	return o.do(ctx, math.MaxInt64, c, acts...)
}

// ErrShown means that this secret or a newer one was already displayed, or that the session that requested it has
// ended.
var ErrShown = errors.New("the secret was already shown")

// ShowOnce records that a session is about to display the secret that was created at madeAt. If several requests
// display the same secret, even at different instances, ShowOnce succeeds for one of them; the others get [ErrShown].
func (o *Office) ShowOnce(ctx context.Context, id string, madeAt time.Time) error {
	return audit.Retry(ctx, func() error {
		seen := o.Seen()
		s, known := o.Register.Session(id)
		if !known || !cut(madeAt).After(s.ShownAt) {
			return ErrShown
		}
		s.ShownAt = cut(madeAt)
		return o.Put(ctx, seen, Changes{Sessions: []*Session{&s}})
	})
}

// SetSession stores a new or changed session.
func (r *Register) SetSession(s Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[s.ID] = s
}

// DropSession removes a session.
func (r *Register) DropSession(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, id)
}

// Session returns the session with the given id. It returns false if the session was ended or never existed.
func (r *Register) Session(id string) (Session, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s, ok := r.sessions[id]
	return s, ok
}

// Sessions returns the sessions of a person that have not been ended, oldest first.
func (r *Register) Sessions(user string) []Session {
	return r.sessionsOf(func(s *Session) bool { return s.User == user })
}

// ended returns the expired sessions whose records belong to a hospital.
func (r *Register) ended(hospital string, now time.Time) []Session {
	return r.sessionsOf(func(s *Session) bool { return s.Hospital == hospital && !now.Before(s.EndsAt) })
}

func (r *Register) sessionsOf(of func(*Session) bool) (all []Session) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, s := range r.sessions {
		if of(&s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(a.BegunAt.Compare(b.BegunAt), cmp.Compare(a.ID, b.ID)) })
	return all
}
