// Package keys administers the API keys of hospitals. It creates, rotates and revokes them, and writes an audit record
// before each change takes effect. The command line and the endpoints under /api/admin/keys use a [Ring].
package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// Names of actions in the audit log.
const (
	ActMint   = "key.mint"
	ActRotate = "key.rotate"
	ActRevoke = "key.revoke"
)

// ErrEnded means that a key is revoked or expired, so it cannot be rotated.
var ErrEnded = errors.New("the key is no longer valid")

// ErrTooMany means that a hospital already has [Most] valid keys.
var ErrTooMany = errors.New("the hospital has reached the limit of 200 valid keys; revoke one")

// Most is the maximum number of valid keys of a hospital.
const Most = 200

// Ring administers the keys of all hospitals.
type Ring struct {
	Register *access.Register
	// Seen returns the position up to which the register has read the settings. The caller must call it before it
	// reads the key to change.
	Seen func() int64
	// Put stores keys of one hospital, all or none. It fails with [access.ErrOvertaken] if the settings of the
	// hospital were changed after the position that the caller got from Seen. When it returns nil, this process uses
	// the keys.
	Put   func(ctx context.Context, seen int64, keys ...*access.Key) error
	Audit audit.Record
	Now   func() time.Time

	turns audit.Turns
}

// Version identifies the state of a key. A changed key has a different version.
func Version(k *access.Key) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v\x00%d\x00%d\x00%v\x00%d", k.ID, k.Name, k.Scopes,
		k.ExpiresAt.UnixMilli(), k.RevokedAt.UnixMilli(), k.Rate, k.Burst))
	return hex.EncodeToString(sum[:8])
}

// Mint creates a key and its token, which is displayed once. It returns [ErrTooMany] if the hospital has [Most] valid
// keys. The write fails if anything has changed since the keys were counted, so the limit applies across instances.
func (r *Ring) Mint(ctx context.Context, by string, template access.Key) (key access.Key, token string, err error) {
	err = r.turns.Do(ctx, template.Hospital, func() error {
		seen := r.Seen()
		if r.valid(template.Hospital) >= Most {
			return ErrTooMany
		}
		key, token = access.Mint(template, r.Now())
		return r.do(ctx, seen, []*access.Key{&key}, r.act(by, ActMint, "", &key))
	})
	if err != nil {
		return access.Key{}, "", err
	}
	return key, token, nil
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

// Rotate creates a key that replaces an old key of the same hospital. The new key has a new id and token, and the
// same name, scopes, limits and expiry. The old key remains valid for at most the given overlap. Both changes are
// stored, or neither. Rotate returns [ErrEnded] if the old key is no longer valid, and [ErrTooMany] if the hospital
// has more than [Most] valid keys, including the old one.
func (r *Ring) Rotate(ctx context.Context, by string, seen int64, old access.Key, overlap time.Duration) (access.Key, string, error) {
	now := r.Now()
	if !old.Valid(now) {
		return access.Key{}, "", ErrEnded
	}
	if r.valid(old.Hospital) > Most { // this allows one rotation while the hospital has Most keys
		return access.Key{}, "", ErrTooMany
	}
	successor := old
	successor.Source = old.Lineage()
	key, token := access.Mint(successor, now)
	before := Version(&old)
	if until := cut(now.Add(overlap)); old.RevokedAt.IsZero() || until.Before(old.RevokedAt) {
		old.RevokedAt = until
	}
	return key, token, r.do(ctx, seen, []*access.Key{&key, &old}, r.act(by, ActMint, "", &key), r.act(by, ActRotate, before, &old))
}

// Revoke ends a key now. It does not change a key that is already revoked.
func (r *Ring) Revoke(ctx context.Context, by string, seen int64, key access.Key) (access.Key, error) {
	now := cut(r.Now())
	if !key.RevokedAt.IsZero() && !now.Before(key.RevokedAt) {
		return key, nil
	}
	before := Version(&key)
	key.RevokedAt = now
	return key, r.do(ctx, seen, []*access.Key{&key}, r.act(by, ActRevoke, before, &key))
}

func (r *Ring) act(by, action, before string, key *access.Key) audit.Act {
	return audit.Act{
		Hospital: key.Hospital, At: r.Now(), By: by, Action: action, Subject: key.ID,
		Before: before, After: Version(key),
	}
}

// do records actions in the audit log and writes the keys that they change.
func (r *Ring) do(ctx context.Context, seen int64, keys []*access.Key, acts ...audit.Act) error {
	return r.Audit.Do(ctx, func() error { return r.Put(ctx, seen, keys...) }, acts...)
}

func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Overlaps are the possible durations for which a rotated key remains valid, by name.
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
