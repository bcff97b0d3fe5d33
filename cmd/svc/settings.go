package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"svc/internal/access"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/internal/subscribers"
	"svc/schemas"
)

// The kinds of setting.
const (
	kindKey      = "key"
	kindHospital = "hospital"

	kindWebhook   = "webhook"
	kindTier      = "alert-tier"
	kindRecipient = "alert-recipient"
)

// settings is the settings topic, followed: keys, hospitals and who is told, as they
// are now, on every role, within a second of a change.
type settings struct {
	table       *stream.Table
	register    *access.Register
	subscribers *subscribers.Register
	seals       *seal.Keyring // nil: what is sealed stays closed
}

func followSettings(cluster *stream.Cluster, prefix string, seals *seal.Keyring, now func() time.Time, log *slog.Logger) *settings {
	s := &settings{
		table:       cluster.Table(prefix+schemas.Settings().Name, func(string) int32 { return 0 }),
		register:    access.NewRegister(now),
		subscribers: subscribers.NewRegister(),
		seals:       seals,
	}
	s.table.OnChange(func(key string, value []byte) {
		if err := s.take(key, value); err != nil {
			// A newer release may write what this one does not know; the
			// rest of the settings still hold.
			log.Error("setting not understood", "error", err)
		}
	})
	return s
}

// take brings the registers in line with one record.
func (s *settings) take(key string, value []byte) error {
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
	default:
		return s.takeSubscriber(hospital, kind, id, value)
	}
	return nil
}

// putKey writes a key; when it returns, this process honours it.
func (s *settings) putKey(ctx context.Context, key *access.Key) error {
	value, err := schemas.EncodeKey(nil, key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	return s.table.Put(ctx, schemas.Key{Hospital: key.Hospital, Kind: kindKey, ID: key.ID}.String(), value)
}

// putHospital writes a hospital.
func (s *settings) putHospital(ctx context.Context, h *access.Hospital) error {
	value, err := schemas.EncodeHospital(nil, h)
	if err != nil {
		return fmt.Errorf("encode hospital: %w", err)
	}
	return s.table.Put(ctx, schemas.Key{Hospital: h.ID, Kind: kindHospital, ID: h.ID}.String(), value)
}
