// Package walls administers the screens that show the board of a hospital. A wall is
// signed in by a link that is shown once, and stays so until it is revoked. It may see the
// board and nothing else.
package walls

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// Wall is one screen.
type Wall struct {
	ID        string // "wall_" + 16 hex
	Hospital  string
	Label     string            // what administrators call the wall
	Hash      [sha256.Size]byte // of the token of its link
	CreatedAt time.Time
}

// Most is how many walls a hospital may have.
const Most = 50

// These are the actions in the audit log.
const (
	ActMake   = "wall.make"
	ActRevoke = "wall.revoke"
)

// ErrTooMany says that a hospital has the greatest allowed number of walls.
var ErrTooMany = errors.New("the hospital has 50 walls, and no more may be made; revoke one")

// Register holds all walls. The follower of the settings feeds it. It is safe for
// concurrent use.
type Register struct {
	mu     sync.RWMutex
	byID   map[string]Wall
	byHash map[[sha256.Size]byte]string
}

// NewRegister returns an empty register.
func NewRegister() *Register {
	return &Register{byID: map[string]Wall{}, byHash: map[[sha256.Size]byte]string{}}
}

// Set stores a new or changed wall.
func (r *Register) Set(w Wall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byHash, r.byID[w.ID].Hash)
	r.byID[w.ID], r.byHash[w.Hash] = w, w.ID
}

// Drop removes a wall.
func (r *Register) Drop(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byHash, r.byID[id].Hash)
	delete(r.byID, id)
}

// Wall returns a wall; false: it was revoked, or never existed.
func (r *Register) Wall(id string) (Wall, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	w, ok := r.byID[id]
	return w, ok
}

// Lookup returns the wall of a token.
func (r *Register) Lookup(token string) (Wall, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	w, ok := r.byID[r.byHash[sha256.Sum256([]byte(token))]]
	return w, ok
}

// Walls returns the walls of a hospital, oldest first.
func (r *Register) Walls(hospital string) []Wall {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []Wall
	for _, w := range r.byID {
		if w.Hospital == hospital {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b Wall) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Office administers the walls of all hospitals.
type Office struct {
	Register *Register
	// Put stores a wall; drop: it removes it. When it returns nil, this process honours
	// that.
	Put   func(ctx context.Context, w *Wall, drop bool) error
	Audit audit.Record
	Now   func() time.Time
}

// Make makes a wall and the token of its link.
func (o *Office) Make(ctx context.Context, by, hospital, label string) (Wall, string, error) {
	if len(o.Register.Walls(hospital)) >= Most {
		return Wall{}, "", ErrTooMany
	}
	token := access.RandomHex(32)
	w := Wall{
		ID: "wall_" + access.RandomHex(8), Hospital: hospital, Label: label,
		Hash: sha256.Sum256([]byte(token)), CreatedAt: o.Now().UTC().Truncate(time.Millisecond),
	}
	return w, token, o.do(ctx, &w, false, audit.Act{By: by, Action: ActMake, After: version(&w)})
}

// Revoke ends a wall everywhere.
func (o *Office) Revoke(ctx context.Context, by string, w Wall) error {
	return o.do(ctx, &w, true, audit.Act{By: by, Action: ActRevoke, Before: version(&w)})
}

func (o *Office) do(ctx context.Context, w *Wall, drop bool, act audit.Act) error {
	act.Hospital, act.At, act.Subject = w.Hospital, o.Now(), w.ID
	return o.Audit.Do(ctx, func() error { return o.Put(ctx, w, drop) }, act)
}

func version(w *Wall) string { return hex.EncodeToString(w.Hash[:8]) }
