package settings

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/admin/layout"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/internal/outbound/subscriber"
	"svc/internal/stream"
	"svc/schemas"
	"svc/schemas/administration"
)

// Kinds of settings.
const (
	kindKey       = "key"
	kindHospital  = "hospital"
	kindUser      = "user"
	kindLink      = "link"
	kindSession   = "session"
	kindWall      = "wall"
	kindLayout    = "layout"
	kindWebhook   = "webhook"
	kindTier      = "alert-tier"
	kindRecipient = "alert-recipient"
)

// kind defines how the records of one kind of setting change the registers.
type kind struct {
	set  func(s *Store, value []byte) error
	drop func(s *Store, hospital, id string) error
}

// kindOf returns a kind of setting whose records are encoded with the given codec.
func kindOf[T any](name string, codec schemas.Codec[T], set func(*Store, *T) error, drop func(s *Store, hospital, id string) error) kind {
	return kind{drop: drop, set: func(s *Store, value []byte) error {
		decoded, err := codec.Decode(value)
		if err != nil {
			return fmt.Errorf("decode %s: %w", name, err)
		}
		return set(s, decoded)
	}}
}

var kinds = map[string]kind{
	kindKey: kindOf(kindKey, administration.KeyCodec,
		func(s *Store, k *access.Key) error { s.Register.SetKey(*k); return nil },
		func(s *Store, _, id string) error { s.Register.DropKey(id); return nil }),
	kindHospital: kindOf(kindHospital, administration.HospitalCodec,
		func(s *Store, h *access.Hospital) error { s.Register.SetHospital(*h); return nil },
		func(s *Store, hospital, _ string) error { s.Register.DropHospital(hospital); return nil }),
	kindUser: kindOf(kindUser, administration.UserCodec,
		func(s *Store, u *users.User) error { s.Users.SetUser(*u); return nil },
		func(s *Store, hospital, id string) error { s.Users.DropUser(hospital, id); return nil }),
	kindSession: kindOf(kindSession, administration.SessionCodec,
		func(s *Store, v *users.Session) error { s.Users.SetSession(*v); return nil },
		func(s *Store, _, id string) error { s.Users.DropSession(id); return nil }),
	kindLink: kindOf(kindLink, administration.LinkCodec,
		func(s *Store, l *users.Link) error { s.Users.SetLink(*l); return nil },
		func(s *Store, _, id string) error { return dropLink(s, id) }),
	kindWall: kindOf(kindWall, administration.WallCodec,
		func(s *Store, w *walls.Wall) error { s.Walls.Set(*w); return nil },
		func(s *Store, _, id string) error { s.Walls.Drop(id); return nil }),
	kindLayout: kindOf(kindLayout, administration.LayoutCodec,
		func(s *Store, l *layout.Layout) error { s.Layouts.Set(l); return nil },
		func(s *Store, hospital, _ string) error { s.Layouts.Drop(hospital); return nil }),
	kindWebhook: kindOf(kindWebhook, administration.WebhookCodec,
		func(s *Store, kept *administration.Webhook) error {
			w, err := openWebhook(s.Seals, kept)
			s.Subscribers.SetWebhook(w)
			return err
		},
		func(s *Store, hospital, id string) error { s.Subscribers.DropWebhook(hospital, id); return nil }),
	kindRecipient: kindOf(kindRecipient, administration.AlertRecipientCodec,
		func(s *Store, kept *administration.AlertRecipient) error {
			p, err := openRecipient(s.Seals, kept)
			s.Subscribers.SetRecipient(p)
			return err
		},
		func(s *Store, hospital, id string) error { s.Subscribers.DropRecipient(hospital, id); return nil }),
	kindTier: kindOf(kindTier, administration.AlertTierCodec,
		func(s *Store, t *subscriber.Tier) error { s.Subscribers.SetTier(t); return nil },
		func(s *Store, hospital, id string) error { s.Subscribers.DropTier(hospital, id); return nil }),
}

func dropLink(s *Store, id string) error {
	var hash [32]byte
	if n, err := hex.Decode(hash[:], []byte(id)); err != nil || n != len(hash) {
		return fmt.Errorf("link name: %w", schemas.ErrKey)
	}
	s.Users.DropLink(hash)
	return nil
}

// removed returns the entry that removes a setting.
func removed(hospital, kind, id string) stream.Entry {
	return stream.Entry{Key: schemas.Key{Hospital: hospital, Kind: kind, ID: id}.String()}
}

// entryOf returns the record of a setting.
func entryOf[T any](hospital, kind, id string, codec schemas.Codec[T], value *T) (entry stream.Entry, err error) {
	entry = removed(hospital, kind, id)
	if entry.Value, err = codec.Encode(nil, value); err != nil {
		err = fmt.Errorf("encode %s: %w", kind, err)
	}
	return entry, err
}

// put writes a setting of a hospital. The error may be [access.ErrOvertaken].
func put[T any](ctx context.Context, s *Store, seen int64, hospital, kind, id string, codec schemas.Codec[T], value *T) error {
	entry, err := entryOf(hospital, kind, id, codec, value)
	if err != nil {
		return err
	}
	return s.write(ctx, hospital, seen, entry)
}

// KeyEntry returns the record of a key in the settings.
func KeyEntry(key *access.Key) (stream.Entry, error) {
	return entryOf(key.Hospital, kindKey, key.ID, administration.KeyCodec, key)
}

// HospitalEntry returns the record of a hospital in the settings.
func HospitalEntry(h *access.Hospital) (stream.Entry, error) {
	return entryOf(h.ID, kindHospital, h.ID, administration.HospitalCodec, h)
}

// PutUsers writes changes to users, links and sessions, all or none.
func (s *Store) PutUsers(ctx context.Context, seen int64, c users.Changes) error {
	var entries []stream.Entry
	hospitals := map[string]bool{}
	for _, u := range c.Users {
		entry, err := entryOf(u.Hospital, kindUser, u.ID, administration.UserCodec, u)
		if err != nil {
			return err
		}
		entries, hospitals[u.Hospital] = append(entries, entry), true
	}
	for _, l := range c.Links {
		entry, err := entryOf(l.Hospital, kindLink, l.ID(), administration.LinkCodec, l)
		if err != nil {
			return err
		}
		entries, hospitals[l.Hospital] = append(entries, entry), true
	}
	for _, v := range c.Sessions {
		entry, err := entryOf(v.Hospital, kindSession, v.ID, administration.SessionCodec, v)
		if err != nil {
			return err
		}
		entries, hospitals[v.Hospital] = append(entries, entry), true
	}
	for _, v := range c.DropSessions {
		entries, hospitals[v.Hospital] = append(entries, removed(v.Hospital, kindSession, v.ID)), true
	}
	for _, u := range c.DropUsers {
		entries, hospitals[u.Hospital] = append(entries, removed(u.Hospital, kindUser, u.ID)), true
	}
	for _, l := range c.DropLinks {
		entries, hospitals[l.Hospital] = append(entries, removed(l.Hospital, kindLink, l.ID())), true
	}
	return s.WriteAll(ctx, slices.Sorted(maps.Keys(hospitals)), seen, entries...)
}

// Office returns a [users.Office] that changes the users and links in s, and records each change in the audit log.
func (s *Store) Office(record audit.Record, now func() time.Time) *users.Office {
	return &users.Office{Register: s.Users, Seen: s.Seen, Put: s.PutUsers, Audit: record, Now: now}
}

// PutWall writes or removes a wall. The error may be [access.ErrOvertaken].
func (s *Store) PutWall(ctx context.Context, seen int64, w *walls.Wall, drop bool) error {
	if drop {
		return s.write(ctx, w.Hospital, seen, removed(w.Hospital, kindWall, w.ID))
	}
	return put(ctx, s, seen, w.Hospital, kindWall, w.ID, administration.WallCodec, w)
}

// layoutID is the id of the only layout of a hospital.
const layoutID = "unit"

// PutLayout writes the layout of a hospital. The error may be [access.ErrOvertaken].
func (s *Store) PutLayout(ctx context.Context, seen int64, l *layout.Layout) error {
	return put(ctx, s, seen, l.Hospital, kindLayout, layoutID, administration.LayoutCodec, l)
}
