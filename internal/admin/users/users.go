// Package users administers access to the pages of a hospital. It stores people with their roles, and the links that
// sign them in once.
//
// A [User] is a label and a role; no patient data and no credential is stored. Every instance reads the records, so a
// sign-in, an end of sessions or a changed role takes effect everywhere within a second.
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

// Roles. Each includes the rights of the previous one.
const (
	Viewer Role = "viewer" // reads
	Charge Role = "charge" // sets the nurses on duty, acknowledges alerts
	Admin  Role = "admin"  // administers the hospital

	// NoRole is the role of a person without any rights, because the identity provider does not assign a role.
	NoRole Role = ""
)

// Roles returns all roles, from the fewest to the most rights.
func Roles() []Role { return []Role{Viewer, Charge, Admin} }

// Covers reports whether the role includes the rights of another role.
func (r Role) Covers(other Role) bool {
	all := Roles()
	return slices.Contains(all, r) && slices.Index(all, r) >= slices.Index(all, other)
}

// Limit has the limits of a session: its maximum idle time and its maximum duration.
type Limit struct{ Idle, Absolute time.Duration }

// Limit returns the limits of the role's sessions. Except for Admin, a session may last for a shift of twelve hours
// with its handover. No specification prescribes these limits.
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
	// Subject is a keyed HMAC of the identity at the provider; nil means that the person signed in with a link.
	Subject    []byte
	Epoch      int64 // a higher epoch ends all sessions; it never decreases
	Disabled   bool
	CreatedAt  time.Time
	Until      time.Time // zero: no end
	SignedInAt time.Time // zero: unknown, because a sign-in to several hospitals is recorded in the first of them
	Version    int64
}

// May reports whether the user has access at an instant.
func (u *User) May(now time.Time) bool {
	return !u.Disabled && u.Role.Covers(Viewer) && (u.Until.IsZero() || now.Before(u.Until))
}

// Link signs a person in once. Its token is shown once and never stored.
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

// ID identifies the link in settings and audit log. It is the hash of the token.
func (l *Link) ID() string { return hex.EncodeToString(l.Hash[:]) }

// Hash returns the part of a token that is stored.
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
