// Package settings stores, in a Kafka topic, the settings that administrators change. Secrets and addresses are
// sealed.
package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/schemas/administration"
)

// Store follows the settings topic, which contains keys, hospitals, users, walls, layouts and subscribers. Every
// process applies a change within a second. Callers read settings from the registers. The Put and Drop methods write
// changes to the topic.
type Store struct {
	Register    *access.Register
	Subscribers *subscribers.Register
	Users       *users.Register
	Walls       *walls.Register
	Layouts     *layout.Register
	Seals       *seal.Keyring // nil: sealed values cannot be opened

	table *stream.Table
}

// Follow returns the store of the settings in a topic. The store is empty until [Store.Run] has read the settings.
func Follow(cluster *stream.Cluster, topic string, seals *seal.Keyring, now func() time.Time, log *slog.Logger) *Store {
	s := &Store{
		table:       cluster.Table(topic, func(string) int32 { return 0 }),
		Register:    access.NewRegister(now),
		Subscribers: subscribers.NewRegister(),
		Users:       users.NewRegister(),
		Walls:       walls.NewRegister(),
		Layouts:     layout.NewRegister(),
		Seals:       seals,
	}
	s.table.OnChange(func(key string, value []byte) {
		if err := s.applyRecord(key, value); err != nil {
			// A newer release may write settings that this release cannot read. The other settings still apply.
			log.Error("setting not decoded", "error", err)
		}
	})
	return s
}

// Run reads the settings until ctx ends.
func (s *Store) Run(ctx context.Context) error { return s.table.Run(ctx) }

// Ready returns a channel that is closed once the settings have been read.
func (s *Store) Ready() <-chan struct{} { return s.table.Ready() }

// applyRecord applies one record to the registers.
func (s *Store) applyRecord(key string, value []byte) error {
	if strings.HasPrefix(key, administration.InstalledKeys) { // these records change no register; installedKey reads them from the table
		if known, is := s.installedKey(SecretsKey); is && s.Seals != nil {
			s.Seals.Use(fingerprintOf(known))
		}
		return nil
	}
	hospital, rest, _ := strings.Cut(key, "/")
	kind, id, _ := strings.Cut(rest, "/")
	known, is := kinds[kind]
	switch {
	case !is: // written by a newer release
		return nil
	case value == nil:
		return known.drop(s, hospital, id)
	}
	return known.set(s, value)
}

// Seen returns the position up to which this process has read the settings. A caller passes this position to a write,
// which fails if the settings have changed after it.
func (s *Store) Seen() int64 { return s.table.Seen("") }

// awaitWithin is the maximum time that a reader waits for another process's writes.
const awaitWithin = 2 * time.Second

// Await waits until this process has read the settings up to the given position, which another process has already
// read. It waits for at most awaitWithin, and does not report whether the position was reached.
func (s *Store) Await(ctx context.Context, position int64) {
	ctx, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	_ = s.table.Await(ctx, "", position) //nolint:errcheck // the caller uses the settings as they are
}

// write writes settings of a hospital, all or none. It returns [access.ErrOvertaken] if settings of the hospital have
// changed after the position that the caller got from Seen. When it returns nil, this process uses the new settings.
func (s *Store) write(ctx context.Context, hospital string, seen int64, entries ...stream.Entry) error {
	return s.WriteAll(ctx, []string{hospital}, seen, entries...)
}

// WriteAll writes settings of several hospitals in one transaction, as write does.
func (s *Store) WriteAll(ctx context.Context, hospitals []string, seen int64, entries ...stream.Entry) error {
	prefixes := make([]string, len(hospitals))
	for i, id := range hospitals {
		prefixes[i] = id + "/"
	}
	err := s.table.Replace(ctx, prefixes, seen, entries...)
	if errors.Is(err, stream.ErrOvertaken) {
		return fmt.Errorf("%w: %w", access.ErrOvertaken, err)
	}
	return err
}

// PutKeys writes keys of one hospital. The error may be [access.ErrOvertaken].
func (s *Store) PutKeys(ctx context.Context, seen int64, keys ...*access.Key) error {
	entries := make([]stream.Entry, len(keys))
	for i, key := range keys {
		var err error
		if entries[i], err = KeyEntry(key); err != nil {
			return err
		}
	}
	return s.write(ctx, keys[0].Hospital, seen, entries...)
}

// PutHospital writes a hospital. The error may be [access.ErrOvertaken].
func (s *Store) PutHospital(ctx context.Context, seen int64, h *access.Hospital) error {
	return put(ctx, s, seen, h.ID, kindHospital, h.ID, administration.HospitalCodec, h)
}

// Ring returns a [keys.Ring] that changes the keys in s, and records each change in the audit log.
func (s *Store) Ring(record audit.Record, now func() time.Time) *keys.Ring {
	return &keys.Ring{Register: s.Register, Seen: s.Seen, Put: s.PutKeys, Audit: record, Now: now}
}
