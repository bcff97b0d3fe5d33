package settings

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/seal"
	"svc/schemas/administration"
)

// KeyCheckConfig holds the dependencies of a key check.
type KeyCheckConfig struct {
	Store      *Store
	Now        func() time.Time
	Pseudonyms *seal.Keyring // pseudonym keys of this process; nil: this process does not compute pseudonyms
	// FirstData is the pseudonym data to store at the first start of an installation.
	FirstData []byte
	// Begin is called once, with the pseudonym data, when all keys match for the first time. It is not called in a
	// process without pseudonym keys.
	Begin func(data []byte)
	// Strict makes Run return an error if a key does not match the installation's key, so that the process exits. It
	// is for a process whose keys cannot change while it runs.
	Strict bool
}

// KeyCheck compares the keys of this process with the keys of its installation. The first process of an installation
// stores the fingerprints of the keys in the settings. A process with a different key does not become ready.
type KeyCheck struct {
	KeyCheckConfig
	rings map[string]*seal.Keyring // the keys of this process, by id
	needs map[string]bool          // keys that this process requires; other keys are checked if they are configured

	changed chan struct{} // holds a token while a check is due
	ready   chan struct{} // closed once all keys have matched

	mu    sync.Mutex
	fault error
	moved chan struct{} // closed and replaced when fault changes
}

// NewKeyCheck returns a key check. It has a result once [KeyCheck.Run] has read the settings.
func NewKeyCheck(c KeyCheckConfig) *KeyCheck {
	k := &KeyCheck{
		KeyCheckConfig: c, rings: map[string]*seal.Keyring{}, needs: map[string]bool{},
		changed: make(chan struct{}, 1), ready: make(chan struct{}), fault: errUnchecked, moved: make(chan struct{}),
	}
	if c.Store.Seals != nil {
		k.rings[SecretsKey] = c.Store.Seals
	}
	if c.Pseudonyms != nil {
		k.rings[PseudonymKey] = c.Pseudonyms
	}
	c.Store.table.OnChange(func(string, []byte) { k.scheduleCheck() })
	return k
}

// NeedSecrets makes the check fail if the installation has a secrets key and this process has none. Call it before
// [KeyCheck.Run].
func (k *KeyCheck) NeedSecrets() { k.needs[SecretsKey] = true }

// Ready returns a channel that is closed once all keys have matched.
func (k *KeyCheck) Ready() <-chan struct{} { return k.ready }

func (k *KeyCheck) scheduleCheck() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// errUnchecked is the fault of a key check before its first check.
var errUnchecked = errors.New("not checked yet")

// keyCheckEvery is the interval between checks, even if the settings do not change.
const keyCheckEvery = time.Second

// Run checks the keys until ctx ends: once the settings have been read, then every second and whenever the settings
// change. With [KeyCheckConfig].Strict, it also ends if a key does not match.
func (k *KeyCheck) Run(ctx context.Context) error {
	select {
	case <-k.Store.Ready():
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
		if of := otherRelease(""); k.Strict && errors.As(err, &of) {
			return of
		}
		if of := otherKey(""); k.Strict && errors.As(err, &of) {
			return fmt.Errorf("%w; restore the key file that this data was created with", of)
		}
		again, stop := context.WithTimeout(ctx, keyCheckEvery)
		select {
		case <-k.changed:
		case <-again.Done():
		}
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (k *KeyCheck) set(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if fmt.Sprint(k.fault) != fmt.Sprint(err) {
		k.fault = err
		close(k.moved)
		k.moved = make(chan struct{})
	}
}

// Healthy is the check for /readyz. Its error says which key does not match, or why this is unknown. Healthy returns
// nil before the first check; until then, the health check named start fails.
func (k *KeyCheck) Healthy(context.Context) error {
	if _, fault := k.State(); fault != errUnchecked { //nolint:errorlint // errUnchecked is never wrapped
		return fault
	}
	return nil
}

// State returns nil as fault if the keys match; otherwise fault says why they do not. The channel moved is closed
// when fault changes.
func (k *KeyCheck) State() (moved <-chan struct{}, fault error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.moved, k.fault
}

// While calls work whenever the keys match. If the keys no longer match, While ends the context of work, which must
// then return nil; when they match again, While calls work again. While returns when ctx ends or work fails.
func (k *KeyCheck) While(ctx context.Context, work func(context.Context) error) error {
	for ctx.Err() == nil {
		moved, fault := k.State()
		if fault == nil {
			within, stop := context.WithCancel(ctx)
			go func() {
				defer stop()
				for fault == nil {
					select {
					case <-moved:
						moved, fault = k.State()
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

// check compares each key with the installation's key. If the installation does not have the key yet, check makes the
// key of this process the installation's key.
func (k *KeyCheck) check(ctx context.Context) error {
	var faults []error
	for _, id := range []string{SecretsKey, PseudonymKey} {
		ring, has := k.rings[id]
		switch known, is := k.Store.installedKey(id); {
		case is && len(known.Fingerprint) == 0:
			faults = append(faults, otherRelease(installedNames[id]))
		case !has && is && k.needs[id]:
			faults = append(faults, keyErrorf("the %s is missing, but the installation has one (%s)", installedNames[id], fingerprintOf(known)))
		case !has:
		case !is:
			faults = append(faults, k.claim(ctx, id, ring))
		case !ring.Use(fingerprintOf(known)):
			faults = append(faults, keyErrorf("the %s (%s) is not the key of the installation (%s)", installedNames[id],
				ring.Fingerprint(), fingerprintOf(known)))
		}
	}
	return errors.Join(faults...)
}

func fingerprintOf(known *administration.InstalledKey) (f seal.Fingerprint) {
	copy(f[:], known.Fingerprint)
	return f
}

// claim makes a key the installation's key. If several processes start at the same time, one of them succeeds, and
// each of the others schedules another check.
func (k *KeyCheck) claim(ctx context.Context, id string, ring *seal.Keyring) error {
	seen := k.Store.Seen()
	if _, is := k.Store.installedKey(id); is { // another process was faster
		k.scheduleCheck()
		return nil
	}
	made := &administration.InstalledKey{ID: id, Version: 1, ChangedAt: k.Now()}
	switch id {
	case SecretsKey: // settings from a release without fingerprints may be sealed with several keys
		rows, err := k.Store.Sealed()
		if err != nil {
			return err
		}
		for i := range rows {
			if rows[i].Key == SealedUnknown {
				return keyErrorf("the %s (%s) does not decrypt the stored settings", installedNames[id], ring.Fingerprint())
			}
		}
	case PseudonymKey:
		made.Sealed = ring.Seal(installedName(id), k.FirstData)
	}
	err := k.Store.putInstalledKey(ctx, seen, made, ring)
	if errors.Is(err, access.ErrOvertaken) {
		k.scheduleCheck()
		return errors.New("another process has just set the installation key")
	}
	if err != nil {
		return fmt.Errorf("write the fingerprint of the %s: %w", installedNames[id], err)
	}
	return nil
}

// begin decrypts the pseudonym data and calls [KeyCheckConfig.Begin]. It does nothing if the process has no pseudonym
// key.
func (k *KeyCheck) begin() error {
	ring, has := k.rings[PseudonymKey]
	if !has {
		return nil
	}
	data, err := k.Store.openPseudonyms(ring)
	if err == nil {
		k.Begin(data)
	}
	return err
}
