package config

import (
	"fmt"

	"svc/internal/seal"
)

// Seals returns the ring of the configured secrets keys; nil: there are none.
func (c *Config) Seals() (*seal.Keyring, error) {
	if c.SecretsKey == "" {
		return nil, nil
	}
	ring, err := seal.NewKeyring(append([]string{c.SecretsKey}, c.SecretsKeyOld...)...)
	if err != nil {
		return nil, fmt.Errorf("secrets key: %w", err)
	}
	return ring, nil
}

// PseudonymRing returns the ring of keys that seals the data of pseudonyms.
func (c *Config) PseudonymRing() (*seal.Keyring, error) {
	ring, err := seal.NewKeyring(append([]string{c.PseudonymKey}, c.PseudonymsOld...)...)
	if err != nil {
		return nil, fmt.Errorf("pseudonym key: %w", err)
	}
	return ring, nil
}
