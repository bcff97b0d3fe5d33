// Package walls manages the screens that show a hospital's board. A wall is signed in with a link that is displayed
// once and works once, so a photograph of the address on the screen does not give access. The wall remains signed in
// until it is revoked or gets a new link. It has access only to the board.
package walls

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
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
	Label     string            // name that administrators gave the wall
	Hash      [sha256.Size]byte // hash of the link's token
	CreatedAt time.Time
	ExpiresAt time.Time // when the unused link expires; zero: never
	UsedAt    time.Time // when a screen used the link; zero: not yet
}

// LinkValid reports whether the link may be used at an instant.
func (w *Wall) LinkValid(now time.Time) bool {
	return w.UsedAt.IsZero() && (w.ExpiresAt.IsZero() || now.Before(w.ExpiresAt))
}

// LinkFor is the lifetime of a wall's link. It gives a technician a day to set up a screen. No specification
// prescribes it.
const LinkFor = 24 * time.Hour

// Most is the maximum number of walls of a hospital.
const Most = 50

// Names of actions in the audit log.
const (
	ActMake   = "wall.make"
	ActRevoke = "wall.revoke"
	ActRelink = "wall.relink" // an administrator created a new link, which signed out the previous screen
	ActUse    = "wall.use"    // a screen used the link
)

// ErrTooMany means that a hospital already has [Most] walls.
var ErrTooMany = errors.New("the hospital has reached the limit of 50 wall displays; revoke one")

// Register holds all walls. The reader of the settings topic updates it. A Register is safe for concurrent use.
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

// Wall returns the wall with the given id. It returns false if the wall was revoked or never existed.
func (r *Register) Wall(id string) (Wall, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	w, ok := r.byID[id]
	return w, ok
}

// Lookup returns the wall whose link has the given token.
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
	// Seen returns the position up to which the register has read the settings. The caller must call Seen before it
	// reads the state that it is going to change.
	Seen func() int64
	// Put stores a wall, or removes it if drop is true. It fails with [access.ErrOvertaken] if the hospital's
	// settings have changed since the position that the caller got from Seen. Once Put has returned nil, this process
	// has applied the change.
	Put   func(ctx context.Context, seen int64, w *Wall, drop bool) error
	Audit audit.Record
	Now   func() time.Time

	turns audit.Turns
}

// Make creates a wall and the token of its link. It returns [ErrTooMany] if the hospital has [Most] walls. If the
// hospital's settings change after the walls were counted, Make counts them again. The limit therefore applies across
// instances.
func (o *Office) Make(ctx context.Context, by, hospital, label string) (w Wall, token string, err error) {
	err = o.turns.Do(ctx, hospital, func() error {
		seen := o.Seen()
		if len(o.Register.Walls(hospital)) >= Most {
			return ErrTooMany
		}
		w = Wall{ID: "wall_" + access.RandomHex(8), Hospital: hospital, Label: label, CreatedAt: cut(o.Now())}
		token = w.newLink(w.CreatedAt)
		return o.do(ctx, seen, &w, false, audit.Act{By: by, Action: ActMake, After: version(&w)})
	})
	if err != nil {
		return Wall{}, "", err
	}
	return w, token, nil
}

// newLink gives the wall a new link, and returns the link's token.
func (w *Wall) newLink(now time.Time) string {
	token := access.RandomHex(32)
	w.Hash, w.ExpiresAt, w.UsedAt = sha256.Sum256([]byte(token)), now.Add(LinkFor), time.Time{}
	return token
}

func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// ErrNone means that the wall does not exist, or that its link was used or has expired.
var ErrNone = errors.New("the wall display does not exist, or its link has expired")

// Relink gives a wall a new link, after its screen has lost the cookie or was replaced. The previous screen is signed
// out.
func (o *Office) Relink(ctx context.Context, by, hospital, id string) (w Wall, token string, err error) {
	err = audit.Retry(ctx, func() error {
		var known bool
		seen := o.Seen()
		if w, known = o.Register.Wall(id); !known || w.Hospital != hospital {
			return ErrNone
		}
		before := version(&w)
		token = w.newLink(cut(o.Now()))
		return o.do(ctx, seen, &w, false, audit.Act{By: by, Action: ActRelink, Before: before, After: version(&w)})
	})
	return w, token, err
}

// Use signs in a screen with a wall's link. If several screens use the link concurrently, even on different instances
// of svc, only one of them is signed in; the others get [ErrNone].
func (o *Office) Use(ctx context.Context, token string) (w Wall, err error) {
	err = audit.Retry(ctx, func() error {
		var known bool
		seen, now := o.Seen(), cut(o.Now())
		if w, known = o.Register.Lookup(token); !known || !w.LinkValid(now) {
			return ErrNone
		}
		w.UsedAt = now
		return o.do(ctx, seen, &w, false, audit.Act{By: w.ID, Action: ActUse, Before: version(&w), After: version(&w)})
	})
	return w, err
}

// Revoke removes a wall, which signs out its screen on every instance.
func (o *Office) Revoke(ctx context.Context, by string, w Wall) error {
	return o.do(ctx, math.MaxInt64, &w, true, audit.Act{By: by, Action: ActRevoke, Before: version(&w)})
}

func (o *Office) do(ctx context.Context, seen int64, w *Wall, drop bool, act audit.Act) error {
	act.Hospital, act.At, act.Subject = w.Hospital, o.Now(), w.ID
	return o.Audit.Do(ctx, func() error { return o.Put(ctx, seen, w, drop) }, act)
}

func version(w *Wall) string { return hex.EncodeToString(w.Hash[:8]) }
