package settings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/schemas/administration"
)

// Ids of the keys that all processes of an installation share. With a different key, a process could not read the
// settings, or would compute different pseudonyms for the same patient.
const (
	SecretsKey   = "secrets"
	PseudonymKey = "pseudonym"
)

// installedNames maps the id of a key to its name in messages.
var installedNames = map[string]string{SecretsKey: "secrets key", PseudonymKey: "pseudonym key"}

// otherKey is the error for a key that is not the key of the installation.
type otherKey string

func (e otherKey) Error() string { return string(e) }

// otherRelease is the error for a key record that a different release wrote in a form that this release cannot read.
type otherRelease string

func (e otherRelease) Error() string {
	return "the " + string(e) + " of the installation was written by another release, in a format that this release does not read: " +
		"start that release, or start with empty topics"
}

func keyErrorf(format string, args ...any) error { return otherKey(fmt.Sprintf(format, args...)) }

// installedName returns the name of a key's record in the settings. It is also the name under which the value in the
// record is sealed.
func installedName(id string) string { return administration.InstalledKeys + id }

// openPseudonyms returns the data from which pseudonyms are computed.
func (s *Store) openPseudonyms(ring *seal.Keyring) ([]byte, error) {
	known, is := s.installedKey(PseudonymKey)
	if !is {
		return nil, errors.New("the installation has no pseudonym key yet")
	}
	data, err := ring.Open(installedName(PseudonymKey), known.Sealed)
	if err == nil && len(data) == 0 {
		err = seal.ErrBroken
	}
	if err != nil {
		return nil, fmt.Errorf("decrypt the pseudonym data with the pseudonym key (%s): %w", ring.Fingerprint(), err)
	}
	return data, nil
}

// installedKey returns a key's record in the settings, and reports whether there is one. If this release cannot
// decode the record, the result contains only the id.
func (s *Store) installedKey(id string) (*administration.InstalledKey, bool) {
	value, is := s.table.Get(installedName(id))
	if !is {
		return nil, false
	}
	known, err := administration.InstalledKeyCodec.Decode(value)
	if err != nil { // written by a different release
		return &administration.InstalledKey{ID: id}, true
	}
	return known, true
}

// putInstalledKey makes the newest key of a ring the installation's key. The error may be [access.ErrOvertaken].
func (s *Store) putInstalledKey(ctx context.Context, seen int64, made *administration.InstalledKey, ring *seal.Keyring) error {
	fingerprint := ring.Fingerprint()
	made.Fingerprint = fingerprint[:]
	value, err := administration.InstalledKeyCodec.Encode(nil, made)
	if err != nil {
		return fmt.Errorf("encode installed key: %w", err)
	}
	name := installedName(made.ID)
	err = s.table.Replace(ctx, []string{name}, seen, stream.Entry{Key: name, Value: value})
	if errors.Is(err, stream.ErrOvertaken) {
		return fmt.Errorf("%w: %w", access.ErrOvertaken, err)
	}
	return err
}

// install makes the newest key of a ring the installation's key. Unless lost is true, the ring must also contain the
// installation's current key. From then on, all processes with the new key seal with it, and processes without it
// become unready.
func (s *Store) install(ctx context.Context, id string, ring *seal.Keyring, lost bool, sealed []byte, now time.Time) error {
	for {
		seen := s.Seen()
		known, is := s.installedKey(id)
		made := &administration.InstalledKey{ID: id, Sealed: sealed, Version: 1, ChangedAt: now}
		switch {
		case is && fingerprintOf(known) == ring.Fingerprint():
			return nil
		case is && !lost && !ring.Use(fingerprintOf(known)):
			return keyErrorf("the installation has a different %s (%s): add it with --%s-key-old", installedNames[id], fingerprintOf(known), id)
		case is:
			made.Version = known.Version + 1
		}
		err := s.putInstalledKey(ctx, seen, made, ring)
		if !errors.Is(err, access.ErrOvertaken) {
			return err
		}
		if err = pause(ctx, overtakenPause); err != nil {
			return err
		}
	}
}

// Installed returns the fingerprint of the installation's key with the given id, and reports whether there is such a
// key. The fingerprint is zero if a different release wrote the record.
func (s *Store) Installed(id string) (f seal.Fingerprint, is bool) {
	known, is := s.installedKey(id)
	if is {
		f = fingerprintOf(known)
	}
	return f, is
}

// ReadInstalled reads the fingerprints of an installation's keys, by id, from its settings topic. A fingerprint is
// zero if a different release wrote its record. ReadInstalled writes nothing.
func ReadInstalled(ctx context.Context, cluster *stream.Cluster, topic string) (map[string]seal.Fingerprint, error) {
	spans, err := cluster.Spans(ctx, topic, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	found := map[string]seal.Fingerprint{}
	for _, s := range spans {
		err := cluster.Range(ctx, topic, s, func(r stream.Record) error {
			id, is := strings.CutPrefix(string(r.Key), administration.InstalledKeys)
			if !is {
				return nil
			}
			var f seal.Fingerprint
			if known, err := administration.InstalledKeyCodec.Decode(r.Value); err == nil {
				f = fingerprintOf(known)
			}
			found[id] = f
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Rewrap makes the newest pseudonym key of a ring the installation's key and seals the pseudonym data with it. The
// data, and therefore the pseudonyms, do not change.
func (s *Store) Rewrap(ctx context.Context, ring *seal.Keyring, now time.Time) error {
	data, err := s.openPseudonyms(ring)
	if err != nil {
		return fmt.Errorf("%w; give the current key of the installation with --pseudonym-key-old", err)
	}
	ring.Use(ring.Fingerprint())
	return s.install(ctx, PseudonymKey, ring, false, ring.Seal(installedName(PseudonymKey), data), now)
}
