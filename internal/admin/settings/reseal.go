package settings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
	"svc/schemas"
	"svc/schemas/administration"
)

// SealedBy identifies the key that seals a setting.
type SealedBy string

// Values of [SealedBy], best first.
const (
	SealedNewest  SealedBy = "newest"
	SealedOlder   SealedBy = "older"   // one of SVC_SECRETS_KEY_OLD; that key must remain configured
	SealedUnknown SealedBy = "unknown" // the key is not configured, so the value cannot be read
)

// SealedRow is a setting with sealed values.
type SealedRow struct {
	Hospital string   `json:"hospitalId"`
	ID       string   `json:"id"`
	Key      SealedBy `json:"key"`

	kind string
}

// Sealed returns all webhooks and recipients, with the key that seals their values.
func (s *Store) Sealed() (rows []SealedRow, err error) {
	s.table.Range("", func(name string, value []byte) bool {
		if strings.HasPrefix(name, administration.InstalledKeys) {
			return true
		}
		var key schemas.Key
		if key, err = schemas.ParseKey([]byte(name)); err != nil {
			return false
		}
		var values [][]byte
		switch key.Kind {
		case kindWebhook:
			var w *administration.Webhook
			if w, err = administration.WebhookCodec.Decode(value); err == nil {
				for i := range w.Secrets {
					values = append(values, w.Secrets[i].Sealed)
				}
			}
		case kindRecipient:
			var p *administration.AlertRecipient
			if p, err = administration.AlertRecipientCodec.Decode(value); err == nil {
				values = [][]byte{p.Email, p.Phone}
			}
		default:
			return true
		}
		if err != nil {
			err = fmt.Errorf("decode %s: %w", name, err)
			return false
		}
		rows = append(rows, SealedRow{key.Hospital, key.ID, worst(s.Seals, values), key.Kind})
		return true
	})
	return rows, err
}

// worst returns the worst [SealedBy] of the sealed values.
func worst(seals *seal.Keyring, values [][]byte) SealedBy {
	by := SealedNewest
	for _, value := range values {
		switch {
		case len(value) == 0:
		case !seals.Has(value):
			return SealedUnknown
		case seals.Old(value):
			by = SealedOlder
		}
	}
	return by
}

// overtakenPause is the pause before a retry of a write that another process has overtaken.
const overtakenPause = 50 * time.Millisecond

// putAgain writes a setting again without changing it, which seals it with the newest key. If the setting was removed
// in the meantime, it remains removed.
func (s *Store) putAgain(ctx context.Context, r *SealedRow) error {
	for {
		var err error
		seen := s.Seen()
		if r.kind == kindWebhook {
			if w, ok := s.Subscribers.Webhook(r.Hospital, r.ID); ok {
				err = s.PutWebhook(ctx, seen, w)
			}
		} else if p, ok := s.Subscribers.Recipient(r.Hospital, r.ID); ok {
			err = s.PutRecipient(ctx, seen, p)
		}
		if !errors.Is(err, access.ErrOvertaken) {
			return err
		}
		if err = pause(ctx, overtakenPause); err != nil {
			return err
		}
	}
}

// Resealed counts settings with sealed values.
type Resealed struct {
	All, Done int
	Unknown   int // sealed with a key that is not configured
}

// Reseal makes the newest secrets key the installation's key, and reseals with it the settings that configured older
// keys have sealed. The settings and their versions do not change. The resealing of each setting is recorded in the
// audit log. If lost is true, the installation's current key need not be configured.
func (s *Store) Reseal(ctx context.Context, lost bool, record audit.Record, now func() time.Time) (n Resealed, err error) {
	if err = s.install(ctx, SecretsKey, s.Seals, lost, nil, now()); err != nil {
		return n, err
	}
	s.Seals.Use(s.Seals.Fingerprint())
	rows, err := s.Sealed()
	if err != nil {
		return n, err
	}
	n.All = len(rows)
	for i := range rows {
		r := &rows[i]
		switch r.Key {
		case SealedNewest:
			continue
		case SealedUnknown:
			n.Unknown++
			continue
		case SealedOlder:
		}
		act := audit.Act{Hospital: r.Hospital, At: now(), By: audit.CommandLine, Action: r.kind + ".reseal", Subject: r.ID}
		if err = record.Do(ctx, func() error { return s.putAgain(ctx, r) }, act); err != nil {
			return n, err
		}
		n.Done++
	}
	return n, nil
}

// pause waits for d. It returns the error of ctx if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	wait, stop := context.WithTimeout(ctx, d)
	defer stop()
	<-wait.Done()
	return ctx.Err()
}
