// Package users manages access to a hospital's pages. It stores people with their roles, and the single-use links
// that sign them in.
//
// A [User] is a label and a role; it contains no patient data and no credentials. Every instance reads the records,
// so a sign-in, the end of a session or a changed role takes effect everywhere within a second.
package users

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"svc/internal/httpapi/access"
)

// Role determines what a person may do on the pages.
type Role string

// Roles, in ascending order. Each role includes the permissions of the previous one.
const (
	Viewer Role = "viewer" // may read
	Charge Role = "charge" // may set the nurses on duty and acknowledge alerts
	Admin  Role = "admin"  // may administer the hospital

	// NoRole is the role of a person to whom the identity provider assigns no role. It grants no permissions.
	NoRole Role = ""
)

// Roles returns all roles, from the fewest to the most permissions.
func Roles() []Role { return []Role{Viewer, Charge, Admin} }

// Covers reports whether the role includes the permissions of another role.
func (r Role) Covers(other Role) bool {
	all := Roles()
	return slices.Contains(all, r) && slices.Index(all, r) >= slices.Index(all, other)
}

// Limit is the maximum idle time and the maximum duration of a session.
type Limit struct{ Idle, Absolute time.Duration }

// Limit returns the limits of the role's sessions. A session may last for a twelve-hour shift plus its handover; an
// administrator's session is shorter. No specification prescribes these limits.
func (r Role) Limit() Limit {
	switch r {
	case Admin:
		return Limit{15 * time.Minute, 8 * time.Hour}
	case Charge:
		return Limit{time.Hour, 13 * time.Hour}
	case Viewer, NoRole:
	}
	return Limit{4 * time.Hour, 13 * time.Hour}
}

// User is a person in one hospital. A person with access to several hospitals has the same ID in each.
type User struct {
	ID       string // "usr_" + 16 hex
	Hospital string
	Label    string // name that administrators gave the person
	Role     Role
	// Subject is a keyed HMAC of the person's identity at the identity provider; nil means that the person signed in
	// with a link.
	Subject    []byte
	Epoch      int64 // counter; each increase ends all sessions of the user
	Disabled   bool
	CreatedAt  time.Time
	Until      time.Time // zero: no end
	SignedInAt time.Time // last sign-in recorded in this record; zero: none. See [Register.LastSignIn]
	Version    int64
}

// May reports whether the user has access at an instant.
func (u *User) May(now time.Time) bool {
	return !u.Disabled && u.Role.Covers(Viewer) && (u.Until.IsZero() || now.Before(u.Until))
}

// Link is a single-use link that signs a person in. Its token is displayed once and never stored.
type Link struct {
	Hash      [sha256.Size]byte
	Hospital  string
	User      string // id
	Label     string // label of the user
	Role      Role
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero: not used
}

// Valid reports whether the link may be used at an instant.
func (l *Link) Valid(now time.Time) bool { return l.UsedAt.IsZero() && now.Before(l.ExpiresAt) }

// ID identifies the link in the settings and in the audit log. It is the hash of the token.
func (l *Link) ID() string { return hex.EncodeToString(l.Hash[:]) }

// Hash returns the hash of a token, which is stored instead of the token.
func Hash(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// Token returns 32 random bytes in hexadecimal.
func Token() string { return access.RandomHex(32) }

func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Register holds all users, links and sessions. The reader of the settings topic updates it. A Register is safe for
// concurrent use.
type Register struct {
	mu    sync.RWMutex
	users map[string]map[string]User // by id and hospital
	links map[[sha256.Size]byte]Link

	sessions map[string]Session // by id
}

// NewRegister returns an empty register.
func NewRegister() *Register {
	return &Register{users: map[string]map[string]User{}, links: map[[sha256.Size]byte]Link{}, sessions: map[string]Session{}}
}

// SetUser stores a new or changed user.
func (r *Register) SetUser(u User) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users[u.ID] == nil {
		r.users[u.ID] = map[string]User{}
	}
	r.users[u.ID][u.Hospital] = u
}

// DropUser removes a user from a hospital.
func (r *Register) DropUser(hospital, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.users[id], hospital); len(r.users[id]) == 0 {
		delete(r.users, id)
	}
}

// User returns a user of a hospital.
func (r *Register) User(hospital, id string) (User, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	u, ok := r.users[id][hospital]
	return u, ok
}

// Users returns the users of a hospital, ordered by label.
func (r *Register) Users(hospital string) []User {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []User
	for _, of := range r.users {
		if u, ok := of[hospital]; ok {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b User) int { return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Hospitals returns the user records of a person, one for each hospital, ordered by hospital id.
func (r *Register) Hospitals(id string) []User {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]User, 0, len(r.users[id]))
	for _, u := range r.users[id] {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b User) int { return cmp.Compare(a.Hospital, b.Hospital) })
	return all
}

// LastSignIn returns the time of a person's last sign-in to svc, or zero if none is recorded. A sign-in to several
// hospitals is recorded in the user record of only one of them, so that each sign-in changes a single record.
func (r *Register) LastSignIn(id string) (last time.Time) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, u := range r.users[id] {
		if u.SignedInAt.After(last) {
			last = u.SignedInAt
		}
	}
	return last
}

// SetLink stores a new or changed link.
func (r *Register) SetLink(l Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.links[l.Hash] = l
}

// DropLink removes a link.
func (r *Register) DropLink(hash [sha256.Size]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.links, hash)
}

// Link returns the link for a token, even if the link was used.
func (r *Register) Link(token string) (Link, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	l, ok := r.links[Hash(token)]
	return l, ok
}

// Links returns the links of a hospital, in no particular order.
func (r *Register) Links(hospital string) []Link {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []Link
	for _, l := range r.links {
		if l.Hospital == hospital {
			all = append(all, l)
		}
	}
	return all
}
