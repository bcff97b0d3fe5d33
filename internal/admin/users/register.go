package users

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"sync"
)

// Register holds all users and links. The follower of the settings feeds it. It is safe
// for concurrent use.
type Register struct {
	mu    sync.RWMutex
	users map[string]map[string]User // by id and hospital
	links map[[sha256.Size]byte]Link
}

// NewRegister returns an empty register.
func NewRegister() *Register {
	return &Register{users: map[string]map[string]User{}, links: map[[sha256.Size]byte]Link{}}
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

// Hospitals returns the users of a person, one for each hospital, ordered by hospital id.
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

// Link returns the link of a token, also one that was used.
func (r *Register) Link(token string) (Link, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	l, ok := r.links[Hash(token)]
	return l, ok
}

// Links returns the links of a hospital, in no order.
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
