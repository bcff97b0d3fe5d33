package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/ingest"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
	"svc/internal/stream"
	"svc/schemas"
)

// The keys that all processes of an installation share. With another key a process could not read
// the settings, or would make other pseudonyms for the same patient.
const (
	installedSecrets    = "secrets"
	installedPseudonyms = "pseudonym"
)

// installedNames are the names of the keys in messages.
var installedNames = map[string]string{installedSecrets: "secrets key", installedPseudonyms: "pseudonym key"}

// otherKey is the error that a key is not the key of the installation.
type otherKey string

func (e otherKey) Error() string { return string(e) }

// otherRelease is the error that another release wrote the settings of a key, in a form that this
// one cannot read.
type otherRelease string

func (e otherRelease) Error() string {
	return "the " + string(e) + " of the installation was written by another release, in a form that this one does not read: start that release, or begin with empty topics"
}

func differs(format string, args ...any) error { return otherKey(fmt.Sprintf(format, args...)) }

// keyCheck compares the keys of this process with those of its installation. The first start of
// the installation put their fingerprints into the settings. A process with another key does not
// become ready.
type keyCheck struct {
	settings   *settings
	now        func() time.Time
	rings      map[string]*seal.Keyring // the keys of this process, by id
	needs      map[string]bool          // keys without which this process must not begin; others are checked if they are given
	strict     bool                     // svc dev: the process ends, because its keys cannot change while it runs
	firstData  []byte                   // the data of pseudonyms, if this is the first start
	pseudonyms ingest.Pseudonyms

	changed chan struct{} // holds a token while a check is due
	ready   chan struct{} // closed once all keys have been right

	mu    sync.Mutex
	fault error
	moved chan struct{} // closed and replaced when fault changes
}

func newKeyCheck(c *config, s *settings, now func() time.Time) (*keyCheck, error) {
	k := &keyCheck{
		settings: s, now: now, strict: c.KeysFixed, rings: map[string]*seal.Keyring{}, needs: map[string]bool{},
		changed: make(chan struct{}, 1), ready: make(chan struct{}), fault: errUnchecked, moved: make(chan struct{}),
	}
	if s.seals != nil {
		k.rings[installedSecrets] = s.seals
	}
	if c.PseudonymKey != "" {
		ring, err := c.pseudonymRing()
		if err != nil {
			return nil, err
		}
		k.rings[installedPseudonyms] = ring
		k.pseudonyms = ingest.NewPseudonyms(nil)
		// An operator may change the key while an older release still runs. That release has used
		// the oldest key.
		k.firstData = []byte(append(c.PseudonymsOld, c.PseudonymKey)[0])
	}
	s.table.OnChange(func(string, []byte) { k.scheduleCheck() })
	return k, nil
}

// pseudonymRing returns the ring of keys that seals the data of pseudonyms.
func (c *config) pseudonymRing() (*seal.Keyring, error) {
	ring, err := seal.NewKeyring(append([]string{c.PseudonymKey}, c.PseudonymsOld...)...)
	if err != nil {
		return nil, fmt.Errorf("pseudonym key: %w", err)
	}
	return ring, nil
}

func (k *keyCheck) scheduleCheck() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// errUnchecked is the fault before the first check.
var errUnchecked = errors.New("not checked yet")

// keyCheckEvery is how often a check is repeated, also if the settings do not change.
const keyCheckEvery = time.Second

// run checks the keys until ctx ends: once the settings have been read, and whenever they change.
func (k *keyCheck) run(ctx context.Context) error {
	select {
	case <-k.settings.table.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	begun := false
	for {
		err := k.check(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && !begun {
			if err = k.begin(); err == nil {
				begun = true
				close(k.ready)
			}
		}
		k.set(err)
		if of := otherRelease(""); k.strict && errors.As(err, &of) {
			return of
		}
		if of := otherKey(""); k.strict && errors.As(err, &of) {
			return fmt.Errorf("%w; put back the file of the key that this data was made with", of)
		}
		again := time.NewTimer(keyCheckEvery)
		select {
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		case <-k.changed:
		case <-again.C:
		}
		again.Stop()
	}
}

func (k *keyCheck) set(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if fmt.Sprint(k.fault) != fmt.Sprint(err) {
		k.fault = err
		close(k.moved)
		k.moved = make(chan struct{})
	}
}

// healthy is the check of /readyz. Its error says which key differs, or why that is unknown.
// Before the first check it is nil, since the check start fails then.
func (k *keyCheck) healthy(context.Context) error {
	if _, fault := k.state(); fault != errUnchecked { //nolint:errorlint // that very one
		return fault
	}
	return nil
}

func (k *keyCheck) state() (moved <-chan struct{}, fault error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.moved, k.fault
}

// while runs work as long as the keys are right, and runs it again when they are right again. It
// returns when ctx ends or work fails.
func (k *keyCheck) while(ctx context.Context, work func(context.Context) error) error {
	for ctx.Err() == nil {
		moved, fault := k.state()
		if fault == nil {
			within, stop := context.WithCancel(ctx)
			go func() {
				defer stop()
				for fault == nil {
					select {
					case <-moved:
						moved, fault = k.state()
					case <-within.Done():
						return
					}
				}
			}()
			err := work(within)
			stop()
			if err != nil {
				return err
			}
			continue
		}
		select {
		case <-moved:
		case <-ctx.Done():
		}
	}
	return nil
}

// check compares each key with that of the installation. If the installation has none, check
// makes this key the installation's.
func (k *keyCheck) check(ctx context.Context) error {
	var faults []error
	for _, id := range []string{installedSecrets, installedPseudonyms} {
		ring, has := k.rings[id]
		switch known, is := k.settings.installedKey(id); {
		case is && len(known.Fingerprint) == 0:
			faults = append(faults, otherRelease(installedNames[id]))
		case !has && is && k.needs[id]:
			faults = append(faults, differs("there is no %s, and the installation has one (%s)", installedNames[id], fingerprintOf(known)))
		case !has:
		case !is:
			faults = append(faults, k.claim(ctx, id, ring))
		case !ring.Use(fingerprintOf(known)):
			faults = append(faults, differs("the %s (%s) is not that of the installation (%s)", installedNames[id], ring.Fingerprint(), fingerprintOf(known)))
		}
	}
	return errors.Join(faults...)
}

func fingerprintOf(known *schemas.InstalledKey) (f seal.Fingerprint) {
	copy(f[:], known.Fingerprint)
	return f
}

// claim makes a key the installation's. If several processes start at once, one claims it and the
// others compare theirs.
func (k *keyCheck) claim(ctx context.Context, id string, ring *seal.Keyring) error {
	seen := k.settings.Seen()
	if _, is := k.settings.installedKey(id); is { // another process was faster
		k.scheduleCheck()
		return nil
	}
	made := &schemas.InstalledKey{ID: id, Version: 1, ChangedAt: k.now()}
	switch id {
	case installedSecrets: // settings of a release without fingerprints may be sealed with several keys
		rows, err := k.settings.sealed()
		if err != nil {
			return err
		}
		for i := range rows {
			if rows[i].Key == sealedUnknown {
				return differs("the %s (%s) does not open what lies in the settings", installedNames[id], ring.Fingerprint())
			}
		}
	case installedPseudonyms:
		made.Sealed = ring.Seal(installedName(id), k.firstData)
	}
	err := k.settings.putInstalledKey(ctx, seen, made, ring)
	if errors.Is(err, access.ErrOvertaken) {
		k.scheduleCheck()
		return errors.New("another process has just said which key it is")
	}
	if err != nil {
		return fmt.Errorf("tell the others of the %s: %w", installedNames[id], err)
	}
	return nil
}

// begin opens the data of pseudonyms with its key.
func (k *keyCheck) begin() error {
	ring, has := k.rings[installedPseudonyms]
	if !has {
		return nil
	}
	data, err := k.settings.openPseudonyms(ring)
	if err == nil {
		k.pseudonyms.Begin(data)
	}
	return err
}

// installedName is the name of the record of a key, and the name under which its value is sealed.
func installedName(id string) string { return schemas.InstalledKeys + id }

// openPseudonyms returns the data that makes pseudonyms.
func (s *settings) openPseudonyms(ring *seal.Keyring) ([]byte, error) {
	known, is := s.installedKey(installedPseudonyms)
	if !is {
		return nil, errors.New("no process has told its pseudonym key yet")
	}
	data, err := ring.Open(installedName(installedPseudonyms), known.Sealed)
	if err == nil && len(data) == 0 {
		err = seal.ErrBroken
	}
	if err != nil {
		return nil, fmt.Errorf("open what makes pseudonyms with the pseudonym key (%s): %w", ring.Fingerprint(), err)
	}
	return data, nil
}

// installedKey returns the record of a key in the settings. If another release wrote it, the
// record is empty.
func (s *settings) installedKey(id string) (*schemas.InstalledKey, bool) {
	value, is := s.table.Get(installedName(id))
	if !is {
		return nil, false
	}
	known, err := schemas.DecodeInstalledKey(value)
	if err != nil { // of another release: an empty record
		return &schemas.InstalledKey{ID: id}, true
	}
	return known, true
}

// putInstalledKey makes the newest key of a ring the installation's. The error may be
// [access.ErrOvertaken].
func (s *settings) putInstalledKey(ctx context.Context, seen int64, made *schemas.InstalledKey, ring *seal.Keyring) error {
	fingerprint := ring.Fingerprint()
	made.Fingerprint = fingerprint[:]
	value, err := schemas.EncodeInstalledKey(nil, made)
	if err != nil {
		return fmt.Errorf("encode installed key: %w", err)
	}
	name := installedName(made.ID)
	err = s.table.Replace(ctx, name, seen, stream.Entry{Key: name, Value: value})
	if errors.Is(err, stream.ErrOvertaken) {
		return fmt.Errorf("%w: %w", access.ErrOvertaken, err)
	}
	return err
}
