// Package keys administers the API keys of hospitals. It mints, rotates and revokes them,
// and writes an audit record before each act takes effect. A [Ring] has these verbs; the
// command line and the endpoints under /api/admin/keys call it.
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

// These are the actions in the audit log.
const (
	ActMint   = "key.mint"
	ActRotate = "key.rotate"
	ActRevoke = "key.revoke"
)

// ErrEnded says that a key is revoked or expired, so it cannot be rotated.
var ErrEnded = errors.New("the key is not valid any more")

// ErrTooMany says that a hospital has the greatest allowed number of keys.
var ErrTooMany = errors.New("the hospital has 200 keys that are valid, and no more may be made; revoke one")

// Most is how many valid keys a hospital may have.
const Most = 200

// Ring administers the keys of all hospitals.
type Ring struct {
	Register *access.Register
	// Seen returns a mark of what the register has read. The caller asks for it before it
	// looks up a key to change.
	Seen func() int64
	// Put stores keys of one hospital, all or none. It fails with [access.ErrOvertaken]
	// if the settings of the hospital were changed after seen. When it returns nil, this
	// process uses the keys.
	Put   func(ctx context.Context, seen int64, keys ...*access.Key) error
	Audit audit.Record
	Now   func() time.Time
}

// Version identifies the state of a key. A changed key has another version.
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
	// A new key cannot conflict with other changes, so the write is unconditional.
	return key, token, r.recordIfFailed(ctx, r.Put(ctx, math.MaxInt64, &key), by, ActMint, "", &key)
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

// Rotate makes a key like an old one, in the same lineage. The old key stays valid for at
// most the overlap. The store gets both changes or neither.
func (r *Ring) Rotate(ctx context.Context, by string, seen int64, old access.Key, overlap time.Duration) (access.Key, string, error) {
	now := r.Now()
	if !old.Valid(now) {
		return access.Key{}, "", ErrEnded
	}
	if r.valid(old.Hospital) > Most { // the new key replaces the old one
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
	err := r.recordIfFailed(ctx, r.Put(ctx, seen, &key, &old), by, ActRotate, before, &old)
	return key, token, r.recordIfFailed(ctx, err, by, ActMint, "", &key)
}

// Revoke ends a key now. It does not change a key that has already ended.
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
	return key, r.recordIfFailed(ctx, r.Put(ctx, seen, &key), by, ActRevoke, before, &key)
}

func (r *Ring) act(by, action, before string, key *access.Key) audit.Act {
	return audit.Act{
		Hospital: key.Hospital, At: r.Now(), By: by, Action: action, Subject: key.ID,
		Before: before, After: Version(key),
	}
}

// recordIfFailed returns err. If there is one, it adds to the audit log that the recorded
// act was not done.
func (r *Ring) recordIfFailed(ctx context.Context, err error, by, action, before string, key *access.Key) error {
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

// record writes the audit record of an act on a key, before the act.
func (r *Ring) record(ctx context.Context, by, action, before string, key *access.Key) error {
	if err := r.Audit(ctx, r.act(by, action, before, key)); err != nil {
		return fmt.Errorf("record the act: %w", err)
	}
	return nil
}

func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Overlaps are how long a rotated key may stay valid.
var Overlaps = map[string]time.Duration{"0": 0, "1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

// Status returns the state of a key at an instant: active, revoked or expired.
func Status(k *access.Key, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt):
		return "revoked"
	case !k.Valid(now):
		return "expired"
	}
	return "active"
}
