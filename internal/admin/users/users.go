// Package users administers who may see the pages of a hospital. It keeps people with a
// role, and the links that sign one of them in once.
//
// A [User] is a label and a role; nothing of a patient and no credential is kept. Every
// instance follows the records, so a sign-in, an end of sessions or a changed role counts
// everywhere within a second.
package users

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"svc/internal/httpapi/access"
)

// Role is what a person may do on the pages.
type Role string

// The roles, each with all that the one before it may do.
const (
	Viewer Role = "viewer" // reads
	Charge Role = "charge" // sets the nurses on duty, acknowledges alerts
	Admin  Role = "admin"  // administers the hospital
)

// Roles returns all roles, the least first.
func Roles() []Role { return []Role{Viewer, Charge, Admin} }

// Covers reports whether the role may do what another one may.
func (r Role) Covers(other Role) bool {
	all := Roles()
	return slices.Contains(all, r) && slices.Index(all, r) >= slices.Index(all, other)
}

// Limit bounds a session: how long it lasts without a request of its person, and how long
// at most.
type Limit struct{ Idle, Absolute time.Duration }

// Limit returns the bounds of the role's sessions. Our defaults: a shift of twelve hours
// with its handover fits in.
func (r Role) Limit() Limit {
	switch r {
	case Admin:
		return Limit{15 * time.Minute, 8 * time.Hour}
	case Charge:
		return Limit{time.Hour, 13 * time.Hour}
	case Viewer:
	}
	return Limit{4 * time.Hour, 13 * time.Hour}
}

// User is a person in one hospital. A person of several hospitals has the same ID in each.
type User struct {
	ID       string // "usr_" + 16 hex
	Hospital string
	Label    string // what administrators call the person
	Role     Role
	// Subject is a keyed HMAC of who the identity provider says that it is; nil: signed in
	// by a link.
	Subject    []byte
	Epoch      int64 // a higher one ends all sessions
	Disabled   bool
	CreatedAt  time.Time
	Until      time.Time // zero: no end
	SignedInAt time.Time // zero: never
	Version    int64
}

// May reports whether the user may see anything at an instant.
func (u *User) May(now time.Time) bool {
	return !u.Disabled && u.Role.Covers(Viewer) && (u.Until.IsZero() || now.Before(u.Until))
}

// Link signs a person in once. Its token is shown once and stored nowhere.
type Link struct {
	Hash      [sha256.Size]byte
	Hospital  string
	User      string // id
	Label     string // of the user
	Role      Role
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero: not used
}

// Valid reports whether the link may be used at an instant.
func (l *Link) Valid(now time.Time) bool { return l.UsedAt.IsZero() && now.Before(l.ExpiresAt) }

// ID names the link in settings and audit: the hash of its token.
func (l *Link) ID() string { return hex.EncodeToString(l.Hash[:]) }

// Hash returns the part of a token that is stored.
func Hash(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// Token returns 32 random bytes in hexadecimal.
func Token() string { return access.RandomHex(32) }

func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
