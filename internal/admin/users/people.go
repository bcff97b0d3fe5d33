package users

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"

	"svc/internal/admin/audit"
)

// ActChange is the action in the audit log when a user is changed.
const ActChange = "user.change"

// ErrRole means that the identity provider controls the role of a user.
var ErrRole = errors.New("the identity provider controls the role")

// Change is an administrator's change to a user; a nil field is unchanged.
type Change struct {
	Label       *string
	Role        *Role
	Disabled    *bool
	EndSessions bool
}

// Change changes a user. seen is the result of Seen, which the caller must have called before it read the user.
// Changing the role, disabling the user or ending the sessions invalidates all of the user's sessions in this
// hospital. Change returns [ErrRole] if the change includes a different role but the identity provider controls the
// role. If nothing would change, Change writes nothing, and returns the user with the same version.
func (o *Office) Change(ctx context.Context, by string, seen int64, u User, c Change) (User, error) {
	old := u
	if c.Role != nil && *c.Role != u.Role {
		if u.Subject != nil {
			return u, ErrRole
		}
		u.setRole(*c.Role)
	}
	if c.Label != nil {
		u.Label = *c.Label
	}
	if c.EndSessions || c.Disabled != nil && *c.Disabled && !u.Disabled {
		u.Epoch++
	}
	if c.Disabled != nil {
		u.Disabled = *c.Disabled
	}
	if u.Label == old.Label && u.Role == old.Role && u.Disabled == old.Disabled && u.Epoch == old.Epoch {
		return u, nil
	}
	u.Version++
	act := audit.Act{
		Hospital: u.Hospital, At: cut(o.Now()), By: by, Action: ActChange, Subject: u.ID,
		Before: old.versionText(), After: u.versionText(),
	}
	changes := Changes{Users: []*User{&u}}
	for _, s := range o.Register.Sessions(u.ID) {
		if epoch, _ := s.EpochIn(u.Hospital); s.Hospital == u.Hospital && epoch != u.Epoch {
			changes.DropSessions = append(changes.DropSessions, &s)
		}
	}
	return u, o.do(ctx, seen, changes, act)
}

// setRole changes the role and the epoch, because a session is valid only for the role that the person had at sign-in.
func (u *User) setRole(role Role) {
	if u.Role != role {
		u.Role = role
		u.Epoch++
	}
}

func (u *User) versionText() string { return strconv.FormatInt(u.Version, 10) }

// ErrNoAccess means that a person does not have access to any hospital.
var ErrNoAccess = errors.New("the person does not have access to any hospital")

// ActDrop is the action in the audit log when a person loses access to a hospital.
const ActDrop = "user.drop"

// SignIn applies the roles that an identity provider assigns to a person, one for each hospital. subjects are keyed
// hashes of the person's identity; the first is made with the newest key. SignIn returns the session of the person
// and the user records of the hospitals in which the session is valid. Hospitals where an administrator has locked
// the person are excluded. If no hospital remains, the error is [ErrNoAccess].
//
// In a hospital where the person has no role, the user record remains with [NoRole]. The record keeps the lock and
// the epoch, so assigning a role again does not unlock the person or revive an ended session.
func (o *Office) SignIn(
	ctx context.Context, subjects [][]byte, label string, roles map[string]Role, in SignIn,
) (s Session, may []User, err error) {
	err = audit.Retry(ctx, func() error {
		seen, now := o.Seen(), cut(o.Now())
		id := o.idOf(subjects)
		var c Changes
		var acts []audit.Act
		may = nil
		before := map[string]User{}
		for _, u := range o.Register.Hospitals(id) {
			before[u.Hospital] = u
		}
		hospitals := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(roles))
		slices.Sort(hospitals)
		for _, hospital := range slices.Compact(hospitals) {
			u, known := before[hospital]
			if !known {
				u = User{ID: id, Hospital: hospital, Label: label, CreatedAt: now}
			}
			role := roles[hospital]
			maySignIn := role != NoRole && !u.Disabled
			first := maySignIn && len(may) == 0
			if first || u.Role != role || !bytes.Equal(u.Subject, subjects[0]) {
				act := audit.Act{Hospital: hospital, At: now, By: id, Action: ActChange, Subject: id}
				if known {
					act.Before = u.versionText()
				}
				switch {
				case first:
					act.Action, u.SignedInAt = ActBegin, now
				case role == NoRole && u.Role != NoRole:
					act.Action = ActDrop
				}
				u.setRole(role)
				u.Subject, u.Version = subjects[0], u.Version+1
				act.After = u.versionText()
				c.Users, acts = append(c.Users, &u), append(acts, act)
			}
			if maySignIn {
				may = append(may, u)
			}
		}
		if len(may) > 0 {
			s, acts = o.addSession(&c, acts, may, in)
		}
		if len(c.Users) == 0 {
			return nil
		}
		return o.do(ctx, seen, c, acts...)
	})
	switch {
	case err != nil:
		return Session{}, nil, err
	case len(may) == 0:
		return Session{}, nil, ErrNoAccess
	}
	return s, may, nil
}

// idOf returns the id of the person who has one of the hashes, or derives an id from the first hash.
func (o *Office) idOf(subjects [][]byte) string {
	for _, subject := range subjects {
		if id := idOfSubject(subject); len(o.Register.Hospitals(id)) > 0 {
			return id
		}
	}
	if id, known := o.Register.bySubject(subjects); known {
		return id
	}
	return idOfSubject(subjects[0])
}

func idOfSubject(subject []byte) string { return "usr_" + hex.EncodeToString(subject[:8]) }

// bySubject returns the id of the person whose stored hash is one of the given hashes, and reports whether there is
// such a person. It is needed after the key for the hashes has changed.
func (r *Register) bySubject(subjects [][]byte) (id string, known bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for id, of := range r.users {
		for _, u := range of { // the hash differs between hospitals if the key changed between two sign-ins
			if slices.ContainsFunc(subjects, func(s []byte) bool { return bytes.Equal(s, u.Subject) }) {
				return id, true
			}
		}
	}
	return "", false
}
