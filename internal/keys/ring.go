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
	"time"

	"svc/internal/access"
	"svc/internal/audit"
)

// What the audit calls the acts.
const (
	ActMint   = "key.mint"
	ActRotate = "key.rotate"
	ActRevoke = "key.revoke"
)

// ErrEnded says that a key is revoked or expired, so there is nothing to rotate.
var ErrEnded = errors.New("the key is not valid any more")

// Ring is all keys.
type Ring struct {
	Register *access.Register
	// Put stores a key; when it returns, this process honours it.
	Put   func(ctx context.Context, key *access.Key) error
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
	key, token := access.Mint(template, r.Now())
	key.RevokedAt = time.Time{}
	return key, token, r.write(ctx, by, ActMint, "", &key)
}

// Rotate makes a key like an old one, of the same lineage. The old one
// stays valid for the overlap at most.
func (r *Ring) Rotate(ctx context.Context, by string, old access.Key, overlap time.Duration) (access.Key, string, error) {
	now := r.Now()
	if !old.Valid(now) {
		return access.Key{}, "", ErrEnded
	}
	successor := old
	successor.Source = old.Lineage()
	key, token, err := r.Mint(ctx, by, successor)
	if err != nil {
		return access.Key{}, "", err
	}
	before := Version(&old)
	if until := cut(now.Add(overlap)); old.RevokedAt.IsZero() || until.Before(old.RevokedAt) {
		old.RevokedAt = until
	}
	return key, token, r.write(ctx, by, ActRotate, before, &old)
}

// Revoke ends a key now. One that has ended stays as it is.
func (r *Ring) Revoke(ctx context.Context, by string, key access.Key) (access.Key, error) {
	now := cut(r.Now())
	if !key.RevokedAt.IsZero() && !now.Before(key.RevokedAt) {
		return key, nil
	}
	before := Version(&key)
	key.RevokedAt = now
	return key, r.write(ctx, by, ActRevoke, before, &key)
}

func (r *Ring) write(ctx context.Context, by, action, before string, key *access.Key) error {
	act := audit.Act{
		Hospital: key.Hospital, At: r.Now(), By: by, Action: action, Subject: key.ID,
		Before: before, After: Version(key),
	}
	if err := r.Audit(ctx, act); err != nil {
		return fmt.Errorf("record the act: %w", err)
	}
	return r.Put(ctx, key)
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
