package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/schemas"
)

// Kinds of settings.
const (
	kindKey      = "key"
	kindHospital = "hospital"

	kindUser = "user"
	kindLink = "link"

	kindWall   = "wall"
	kindLayout = "layout"

	kindWebhook   = "webhook"
	kindTier      = "alert-tier"
	kindRecipient = "alert-recipient"
)

// settings follows the settings topic: keys, hospitals, users, and subscribers. Every role has a
// change within a second.
type settings struct {
	table       *stream.Table
	register    *access.Register
	subscribers *subscribers.Register
	users       *users.Register
	walls       *walls.Register
	layouts     *layout.Register
	seals       *seal.Keyring // nil: sealed values cannot be opened
}

func followSettings(cluster *stream.Cluster, prefix string, seals *seal.Keyring, now func() time.Time, log *slog.Logger) *settings {
	s := &settings{
		table:       cluster.Table(prefix+schemas.Settings().Name, func(string) int32 { return 0 }),
		register:    access.NewRegister(now),
		subscribers: subscribers.NewRegister(),
		users:       users.NewRegister(),
		walls:       walls.NewRegister(),
		layouts:     layout.NewRegister(),
		seals:       seals,
	}
	s.table.OnChange(func(key string, value []byte) {
		if err := s.applyRecord(key, value); err != nil {
			// A newer release may write settings that this one cannot read. The other settings
			// still apply.
			log.Error("setting not understood", "error", err)
		}
	})
	return s
}

// applyRecord applies one record to the registers.
func (s *settings) applyRecord(key string, value []byte) error {
	if strings.HasPrefix(key, schemas.InstalledKeys) { // a process that needs a key looks it up
		if known, is := s.installedKey(installedSecrets); is && s.seals != nil {
			s.seals.Use(fingerprintOf(known))
		}
		return nil
	}
	hospital, rest, _ := strings.Cut(key, "/")
	kind, id, _ := strings.Cut(rest, "/")
	switch {
	case kind == kindKey && value == nil:
		s.register.DropKey(id)
	case kind == kindKey:
		decoded, err := schemas.DecodeKey(value)
		if err != nil {
			return fmt.Errorf("decode key: %w", err)
		}
		s.register.SetKey(*decoded)
	case kind == kindHospital && value == nil:
		s.register.DropHospital(hospital)
	case kind == kindHospital:
		decoded, err := schemas.DecodeHospital(value)
		if err != nil {
			return fmt.Errorf("decode hospital: %w", err)
		}
		s.register.SetHospital(*decoded)
	case kind == kindUser, kind == kindLink:
		return s.takeUser(hospital, kind, id, value)
	case kind == kindWall, kind == kindLayout:
		return s.takeWall(hospital, kind, id, value)
	default:
		return s.takeSubscriber(hospital, kind, id, value)
	}
	return nil
}

// Seen returns the position of the settings that this process has read. A change is made from a
// position.
func (s *settings) Seen() int64 { return s.table.Seen("") }

// write writes settings of a hospital, all or none. It returns [access.ErrOvertaken] if one of
// them has changed since the position seen. When it returns, this process applies them.
func (s *settings) write(ctx context.Context, hospital string, seen int64, entries ...stream.Entry) error {
	return s.writeAll(ctx, []string{hospital}, seen, entries...)
}

// writeAll is write for several hospitals, in one transaction.
func (s *settings) writeAll(ctx context.Context, hospitals []string, seen int64, entries ...stream.Entry) error {
	prefixes := make([]string, len(hospitals))
	for i, id := range hospitals {
		prefixes[i] = id + "/"
	}
	err := s.table.ReplaceAll(ctx, prefixes, seen, entries...)
	if errors.Is(err, stream.ErrOvertaken) {
		return fmt.Errorf("%w: %w", access.ErrOvertaken, err)
	}
	return err
}

// putKeys writes keys of one hospital.
func (s *settings) putKeys(ctx context.Context, seen int64, keys ...*access.Key) error {
	entries := make([]stream.Entry, len(keys))
	for i, key := range keys {
		var err error
		if entries[i], err = keyEntry(key); err != nil {
			return err
		}
	}
	return s.write(ctx, keys[0].Hospital, seen, entries...)
}

// putHospital writes a hospital.
func (s *settings) putHospital(ctx context.Context, seen int64, h *access.Hospital) error {
	entry, err := hospitalEntry(h)
	if err != nil {
		return err
	}
	return s.write(ctx, h.ID, seen, entry)
}

// keyEntry returns the record of a key in the settings.
func keyEntry(key *access.Key) (stream.Entry, error) {
	value, err := schemas.EncodeKey(nil, key)
	if err != nil {
		return stream.Entry{}, fmt.Errorf("encode key: %w", err)
	}
	return stream.Entry{Key: schemas.Key{Hospital: key.Hospital, Kind: kindKey, ID: key.ID}.String(), Value: value}, nil
}

// hospitalEntry returns the record of a hospital in the settings.
func hospitalEntry(h *access.Hospital) (stream.Entry, error) {
	value, err := schemas.EncodeHospital(nil, h)
	if err != nil {
		return stream.Entry{}, fmt.Errorf("encode hospital: %w", err)
	}
	return stream.Entry{Key: schemas.Key{Hospital: h.ID, Kind: kindHospital, ID: h.ID}.String(), Value: value}, nil
}
