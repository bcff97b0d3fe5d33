package settings

import (
	"context"
	"fmt"

	"svc/internal/admin/subscribers"
	"svc/internal/outbound/subscriber"
	"svc/internal/seal"
	"svc/schemas"
	"svc/schemas/administration"
)

// sealedName returns the name that binds a sealed value to its place: the key of its record and the field. In a
// different record or field, the value cannot be opened.
func sealedName(key schemas.Key, field string) string { return key.String() + " " + field }

func webhookKey(hospital, id string) schemas.Key {
	return schemas.Key{Hospital: hospital, Kind: kindWebhook, ID: id}
}

func recipientKey(hospital, id string) schemas.Key {
	return schemas.Key{Hospital: hospital, Kind: kindRecipient, ID: id}
}

// sealWebhook returns the record of a webhook with sealed secrets. It refuses to overwrite a secret that could not be
// opened.
func sealWebhook(seals *seal.Keyring, w *subscriber.Webhook) (*administration.Webhook, error) {
	kept := &administration.Webhook{
		ID: w.ID, Hospital: w.Hospital, URL: w.URL, Events: w.Events, Rooms: w.Rooms, Enabled: w.Enabled, RatePerSecond: w.RatePerSecond,
		TimeoutSeconds: w.TimeoutSeconds, ReaderKeys: w.ReaderKeys, Version: w.Version, CreatedAt: w.CreatedAt,
	}
	for _, secret := range w.Secrets {
		if seals == nil || secret.Value == "" {
			return nil, fmt.Errorf("seal %s: %w", w.ID, subscribers.ErrNoKey)
		}
		kept.Secrets = append(kept.Secrets, administration.Secret{
			ID: secret.ID, Sealed: seals.Seal(sealedName(webhookKey(w.Hospital, w.ID), secret.ID), []byte(secret.Value)),
			State: secret.State, Until: secret.Until,
		})
	}
	return kept, nil
}

// openWebhook decodes the record of a webhook. A secret has no value if seals is nil or if the secret cannot be
// decrypted; in the second case, openWebhook also returns an error, which contains the id of the webhook.
func openWebhook(seals *seal.Keyring, kept *administration.Webhook) (*subscriber.Webhook, error) {
	w := &subscriber.Webhook{
		ID: kept.ID, Hospital: kept.Hospital, URL: kept.URL, Events: kept.Events, Rooms: kept.Rooms, Enabled: kept.Enabled,
		RatePerSecond:  kept.RatePerSecond,
		TimeoutSeconds: kept.TimeoutSeconds, ReaderKeys: kept.ReaderKeys, Version: kept.Version, CreatedAt: kept.CreatedAt,
	}
	var fault error
	for i := range kept.Secrets {
		k := &kept.Secrets[i]
		secret := subscriber.Secret{ID: k.ID, State: k.State, Until: k.Until}
		if seals != nil {
			clear, err := seals.Open(sealedName(webhookKey(w.Hospital, w.ID), k.ID), k.Sealed)
			if err != nil {
				fault = fmt.Errorf("decrypt a secret of %s: %w", w.ID, err)
			}
			secret.Value = string(clear)
		}
		w.Secrets = append(w.Secrets, secret)
	}
	return w, fault
}

// sealRecipient returns the record of a recipient, with sealed addresses. It refuses to overwrite an address that
// could not be opened.
func sealRecipient(seals *seal.Keyring, p *subscriber.Recipient) (*administration.AlertRecipient, error) {
	closed := p.Email == "" && p.EmailShown != "" || p.Phone == "" && p.PhoneShown != ""
	if closed || seals == nil && p.Email+p.Phone != "" {
		return nil, fmt.Errorf("seal %s: %w", p.ID, subscribers.ErrNoKey)
	}
	kept := &administration.AlertRecipient{
		ID: p.ID, Hospital: p.Hospital, Label: p.Label, WebhookID: p.WebhookID, EmailShown: p.EmailShown, PhoneShown: p.PhoneShown,
		Version: p.Version, CreatedAt: p.CreatedAt, Language: p.Language,
	}
	if seals != nil {
		key := recipientKey(p.Hospital, p.ID)
		kept.Email = seals.Seal(sealedName(key, "email"), []byte(p.Email))
		kept.Phone = seals.Seal(sealedName(key, "phone"), []byte(p.Phone))
	}
	return kept, nil
}

// openRecipient decodes the record of a recipient, as [openWebhook] does.
func openRecipient(seals *seal.Keyring, kept *administration.AlertRecipient) (*subscriber.Recipient, error) {
	p := &subscriber.Recipient{
		ID: kept.ID, Hospital: kept.Hospital, Label: kept.Label, WebhookID: kept.WebhookID, EmailShown: kept.EmailShown,
		PhoneShown: kept.PhoneShown, Version: kept.Version, CreatedAt: kept.CreatedAt, Language: kept.Language,
	}
	if seals == nil {
		return p, nil
	}
	key := recipientKey(p.Hospital, p.ID)
	email, err := seals.Open(sealedName(key, "email"), kept.Email)
	phone, err2 := seals.Open(sealedName(key, "phone"), kept.Phone)
	p.Email, p.Phone = string(email), string(phone)
	if err == nil {
		err = err2
	}
	if err != nil {
		err = fmt.Errorf("decrypt an address of %s: %w", p.ID, err)
	}
	return p, err
}

// PutWebhook implements [subscribers.Store].
func (s *Store) PutWebhook(ctx context.Context, seen int64, w *subscriber.Webhook) error {
	kept, err := sealWebhook(s.Seals, w)
	if err != nil {
		return err
	}
	return put(ctx, s, seen, w.Hospital, kindWebhook, w.ID, administration.WebhookCodec, kept)
}

// DropWebhook implements [subscribers.Store].
func (s *Store) DropWebhook(ctx context.Context, seen int64, hospital, id string) error {
	return s.write(ctx, hospital, seen, removed(hospital, kindWebhook, id))
}

// PutRecipient implements [subscribers.Store].
func (s *Store) PutRecipient(ctx context.Context, seen int64, p *subscriber.Recipient) error {
	kept, err := sealRecipient(s.Seals, p)
	if err != nil {
		return err
	}
	return put(ctx, s, seen, p.Hospital, kindRecipient, p.ID, administration.AlertRecipientCodec, kept)
}

// DropRecipient implements [subscribers.Store].
func (s *Store) DropRecipient(ctx context.Context, seen int64, hospital, id string) error {
	return s.write(ctx, hospital, seen, removed(hospital, kindRecipient, id))
}

// PutTier implements [subscribers.Store].
func (s *Store) PutTier(ctx context.Context, seen int64, t *subscriber.Tier) error {
	return put(ctx, s, seen, t.Hospital, kindTier, t.ID, administration.AlertTierCodec, t)
}
