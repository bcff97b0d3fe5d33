// Package keys administers the API keys of hospitals: minting, rotating, revoking,
// each on record before it takes effect. The verbs are those of a [Ring]; the
// command line calls them, and the endpoints under /api/admin/keys do.
package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// What the audit calls the acts.
const (
	ActMint   = "key.mint"
	ActRotate = "key.rotate"
	ActRevoke = "key.revoke"
)

// ErrEnded says that a key is revoked or expired, so there is nothing to rotate.
var ErrEnded = errors.New("the key is not valid any more")

// ErrTooMany says that a hospital has as many keys as it may have.
var ErrTooMany = errors.New("the hospital has 200 keys that are valid, and no more may be made; revoke one")

// Most is how many valid keys a hospital has.
const Most = 200

// Ring is all keys.
type Ring struct {
	Register *access.Register
	// Seen marks what the register has taken in. It is asked for before a key is
	// looked up that is to be changed.
	Seen func() int64
	// Put stores keys of one hospital, all or none, unless its settings were changed
	// after what was seen: then [access.ErrOvertaken]. When it returns, this process
	// honours them.
	Put   func(ctx context.Context, seen int64, keys ...*access.Key) error
	Audit audit.Record
	Now   func() time.Time
}

// Version names the state of a key: another one has another version.
func Version(k *access.Key) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v\x00%d\x00%d\x00%v\x00%d", k.ID, k.Name, k.Scopes,
		k.ExpiresAt.UnixMilli(), k.RevokedAt.UnixMilli(), k.Rate, k.Burst))
	return hex.EncodeToString(sum[:8])
}

// Mint makes a key and its token, which is shown once.
func (r *Ring) Mint(ctx context.Context, by string, template access.Key) (access.Key, string, error) {
	key, token := fresh(template, r.Now())
	if r.valid(key.Hospital) >= Most {
		return access.Key{}, "", ErrTooMany
	}
	if err := r.record(ctx, by, ActMint, "", &key); err != nil {
		return access.Key{}, "", err
	}
	// It was not there before: whatever else was changed is of no account.
	return key, token, r.settled(ctx, r.Put(ctx, math.MaxInt64, &key), by, ActMint, "", &key)
}

// valid counts the valid keys of a hospital.
func (r *Ring) valid(hospital string) (n int) {
	now := r.Now()
	for _, key := range r.Register.Keys(hospital) {
		if key.Valid(now) {
			n++
		}
	}
	return n
}

func fresh(template access.Key, now time.Time) (access.Key, string) {
	key, token := access.Mint(template, now)
	key.RevokedAt = time.Time{}
	return key, token
}

// Rotate makes a key like an old one, of the same lineage. The old one
// stays valid for the overlap at most. Both are stored, or neither.
func (r *Ring) Rotate(ctx context.Context, by string, seen int64, old access.Key, overlap time.Duration) (access.Key, string, error) {
	now := r.Now()
	if !old.Valid(now) {
		return access.Key{}, "", ErrEnded
	}
	if r.valid(old.Hospital) > Most { // the old one goes
		return access.Key{}, "", ErrTooMany
	}
	successor := old
	successor.Source = old.Lineage()
	key, token := fresh(successor, now)
	before := Version(&old)
	if until := cut(now.Add(overlap)); old.RevokedAt.IsZero() || until.Before(old.RevokedAt) {
		old.RevokedAt = until
	}
	if err := r.record(ctx, by, ActMint, "", &key); err != nil {
		return access.Key{}, "", err
	}
	if err := r.record(ctx, by, ActRotate, before, &old); err != nil {
		return access.Key{}, "", err
	}
	err := r.settled(ctx, r.Put(ctx, seen, &key, &old), by, ActRotate, before, &old)
	return key, token, r.settled(ctx, err, by, ActMint, "", &key)
}

// Revoke ends a key now. One that has ended stays as it is.
func (r *Ring) Revoke(ctx context.Context, by string, seen int64, key access.Key) (access.Key, error) {
	now := cut(r.Now())
	if !key.RevokedAt.IsZero() && !now.Before(key.RevokedAt) {
		return key, nil
	}
	before := Version(&key)
	key.RevokedAt = now
	if err := r.record(ctx, by, ActRevoke, before, &key); err != nil {
		return key, err
	}
	return key, r.settled(ctx, r.Put(ctx, seen, &key), by, ActRevoke, before, &key)
}

func (r *Ring) act(by, action, before string, key *access.Key) audit.Act {
	return audit.Act{
		Hospital: key.Hospital, At: r.Now(), By: by, Action: action, Subject: key.ID,
		Before: before, After: Version(key),
	}
}

// settled puts on record that an act which is on record was not done, if err says so,
// and returns err.
func (r *Ring) settled(ctx context.Context, err error, by, action, before string, key *access.Key) error {
	if err == nil {
		return nil
	}
	how := audit.Unclear
	if errors.Is(err, access.ErrOvertaken) {
		how = audit.Failed
	}
	if fault := r.Audit.NotDone(ctx, r.act(by, action, before, key), how); fault != nil {
		return fmt.Errorf("%w; nor is it on record that it was not done: %w", err, fault)
	}
	return err
}

// record puts what is about to be done to a key on record.
func (r *Ring) record(ctx context.Context, by, action, before string, key *access.Key) error {
	if err := r.Audit(ctx, r.act(by, action, before, key)); err != nil {
		return fmt.Errorf("record the act: %w", err)
	}
	return nil
}

func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Overlaps are the times for which a rotated key may stay valid.
var Overlaps = map[string]time.Duration{"0": 0, "1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

// Status is what a key is at an instant: active, revoked or expired.
func Status(k *access.Key, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt):
		return "revoked"
	case !k.Valid(now):
		return "expired"
	}
	return "active"
}
