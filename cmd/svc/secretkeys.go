package main

import (
	"fmt"
	"time"

	"svc/ingest"
	"svc/internal/admin/settings"
	"svc/internal/seal"
)

// seals returns the ring of the configured secrets keys; nil: there are none.
func (c *config) seals() (*seal.Keyring, error) {
	if c.SecretsKey == "" {
		return nil, nil
	}
	ring, err := seal.NewKeyring(append([]string{c.SecretsKey}, c.SecretsKeyOld...)...)
	if err != nil {
		return nil, fmt.Errorf("secrets key: %w", err)
	}
	return ring, nil
}

// pseudonymRing returns the ring of keys that seals the data of pseudonyms.
func (c *config) pseudonymRing() (*seal.Keyring, error) {
	ring, err := seal.NewKeyring(append([]string{c.PseudonymKey}, c.PseudonymsOld...)...)
	if err != nil {
		return nil, fmt.Errorf("pseudonym key: %w", err)
	}
	return ring, nil
}

// newKeyCheck returns the check of the keys of this process, and the pseudonyms that it begins.
func newKeyCheck(c *config, s *settings.Store, now func() time.Time) (k *settings.KeyCheck, p ingest.Pseudonyms, err error) {
	check := settings.KeyCheckConfig{Store: s, Now: now, Strict: c.KeysFixed}
	if c.PseudonymKey != "" {
		if check.Pseudonyms, err = c.pseudonymRing(); err != nil {
			return nil, p, err
		}
		p = ingest.NewPseudonyms(nil)
		check.Begin = p.Begin
		// An operator may change the key while an older release still runs. That release has used
		// the oldest key.
		check.FirstData = []byte(append(c.PseudonymsOld, c.PseudonymKey)[0])
	}
	return settings.NewKeyCheck(check), p, nil
}
