package users

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// Names of actions in the audit log.
const (
	ActLink   = "link.make"
	ActRefuse = "link.refuse" // a used, withdrawn or expired link was opened
	ActBegin  = "session.begin"
	ActEnd    = "session.end"
)

// Errors that creating or using a link may return.
var (
	ErrNoLink = errors.New("the link was used, has expired, or never existed")
	ErrTTL    = errors.New("the lifetime of a link must be from 1 minute to 24 hours")
)

// Limits for a link's lifetime.
const (
	LeastTTL = time.Minute
	MostTTL  = 24 * time.Hour
)

// linkKept is how long a link remains stored after it ends. During that time, an attempt to use the link again can be
// distinguished from an attempt with an invalid token.
const linkKept = 24 * time.Hour

// Changes are settings to write together, all or none.
type Changes struct {
	Users     []*User
	Links     []*Link
	DropUsers []*User
	DropLinks []*Link

	Sessions     []*Session
	DropSessions []*Session
}

// Office administers the users and links of all hospitals.
type Office struct {
	Register *Register
	// Seen returns the position up to which the register has read the settings. The caller must call it before it
	// reads the state to change.
	Seen func() int64
	// Put stores changes, all or none. It fails with [access.ErrOvertaken] if the settings of an affected hospital
	// were changed after the position that the caller got from Seen. When it returns nil, this process uses the new
	// settings.
	Put   func(ctx context.Context, seen int64, c Changes) error
	Audit audit.Record
	// Refusals records failed sign-ins; it may be nil.
	Refusals *audit.Refusals
	Now      func() time.Time

	turns audit.Turns
}

// MakeLink creates a link that signs in a new user of a hospital, and returns the link with its token. The number of
// links is not limited; see [Office.Invite].
func (o *Office) MakeLink(ctx context.Context, by, hospital, label string, role Role, ttl time.Duration) (Link, string, error) {
	// A new link cannot conflict with other changes, so the write is unconditional.
	return o.makeLink(ctx, math.MaxInt64, by, hospital, label, role, ttl)
}

// makeLink does the work of [Office.MakeLink], on the condition that no settings of the hospital have changed after
// the position that the caller got from Seen.
func (o *Office) makeLink(ctx context.Context, seen int64, by, hospital, label string, role Role, ttl time.Duration) (Link, string, error) {
	if ttl < LeastTTL || ttl > MostTTL {
		return Link{}, "", ErrTTL
	}
	token, now := Token(), cut(o.Now())
	l := Link{
		Hash: Hash(token), Hospital: hospital, User: "usr_" + access.RandomHex(8), Label: label, Role: role,
		CreatedAt: now, ExpiresAt: now.Add(ttl),
	}
	act := audit.Act{Hospital: hospital, At: now, By: by, Action: ActLink, Subject: l.User, After: l.ID()[:16]}
	changes := o.ended(hospital, now)
	changes.Links = append(changes.Links, &l)
	return l, token, o.do(ctx, seen, changes, act)
}

// ended returns the changes that remove links and users that ended more than linkKept ago.
func (o *Office) ended(hospital string, now time.Time) (c Changes) {
	for _, l := range o.Register.Links(hospital) {
		if now.Sub(l.ExpiresAt) > linkKept {
			c.DropLinks = append(c.DropLinks, &l)
		}
	}
	for _, u := range o.Register.Users(hospital) {
		if !u.Until.IsZero() && now.Sub(u.Until) > linkKept {
			c.DropUsers = append(c.DropUsers, &u)
		}
	}
	return c
}

// FindLink returns the link of a token, even if it has ended.
func (o *Office) FindLink(token string) (Link, bool) { return o.Register.Link(token) }

// UseLink signs in the person for whom a link was created. If the link is used concurrently, even at different
// instances, exactly one use succeeds, because the change is written only if the settings have not changed since the
// link was read. UseLink returns [ErrNoLink] if the link is unknown or no longer valid.
func (o *Office) UseLink(ctx context.Context, token string, in SignIn) (s Session, err error) {
	err = audit.Retry(ctx, func() error {
		seen, now := o.Seen(), cut(o.Now())
		l, known := o.Register.Link(token)
		if !known {
			return ErrNoLink
		}
		act := audit.Act{Hospital: l.Hospital, At: now, By: l.User, Action: ActBegin, Subject: l.User, Before: l.ID()[:16]}
		if !l.Valid(now) {
			act.Action = ActRefuse
			return errors.Join(ErrNoLink, o.record(ctx, act))
		}
		l.UsedAt = now
		u := User{
			ID: l.User, Hospital: l.Hospital, Label: l.Label, Role: l.Role, CreatedAt: now, SignedInAt: now,
			Until: now.Add(l.Role.Limit().Absolute), Version: 1,
		}
		in.ProvedAt = now
		c, acts := Changes{Users: []*User{&u}, Links: []*Link{&l}}, []audit.Act{act}
		s, acts = o.addSession(&c, acts, []User{u}, in)
		return o.do(ctx, seen, c, acts...)
	})
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

// RefuseSignIn records a failed sign-in in each hospital in which the person has a user record, or once for the
// installation if there is none. subjects are the hashes that [Office.SignIn] describes; nil means that the person is
// unknown. reason is a stable word for the audit record.
func (o *Office) RefuseSignIn(ctx context.Context, subjects [][]byte, reason string) {
	act := audit.Act{Hospital: audit.Installation, By: audit.Unknown, Action: audit.ActRefuseSignIn, Reason: reason}
	if subjects != nil {
		act.By = o.idOf(subjects)
	}
	act.Subject = act.By
	known := o.Register.Hospitals(act.By)
	for i := range known {
		act.Hospital = known[i].Hospital
		o.Refusals.Add(ctx, act)
	}
	if len(known) == 0 {
		o.Refusals.Add(ctx, act)
	}
}

// record writes the audit record of an action. The caller then executes the action.
func (o *Office) record(ctx context.Context, act audit.Act) error {
	if err := o.Audit(ctx, act); err != nil {
		return fmt.Errorf("record the action: %w", err)
	}
	return nil
}

// do records actions in the audit log and writes their changes.
func (o *Office) do(ctx context.Context, seen int64, c Changes, acts ...audit.Act) error {
	return o.Audit.Do(ctx, func() error { return o.Put(ctx, seen, c) }, acts...)
}
