package main

import (
	"time"

	"svc/ingest"
	"svc/internal/admin/settings"
	"svc/internal/config"
)

// newKeyCheck returns the check of the keys of this process, and the pseudonyms that it begins.
func newKeyCheck(c *config.Config, s *settings.Store, now func() time.Time) (k *settings.KeyCheck, p ingest.Pseudonyms, err error) {
	check := settings.KeyCheckConfig{Store: s, Now: now, Strict: c.KeysFixed}
	if c.PseudonymKey != "" {
		if check.Pseudonyms, err = c.PseudonymRing(); err != nil {
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
