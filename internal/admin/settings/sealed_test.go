package settings

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/internal/admin/subscribers"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/internal/seal"
	"svc/schemas/administration"
)

const testKey = "0123456789abcdef0123456789abcdef"

func ringOf(t interface{ Fatal(...any) }, keys ...string) *seal.Keyring {
	ring, err := seal.NewKeyring(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// TestRecordsNeverHoldWhatIsSealed encodes webhooks and recipients as they are written to Kafka. The bytes must not
// contain the secrets, but decoding must return them.
func TestRecordsNeverHoldWhatIsSealed(t *testing.T) {
	ring := ringOf(t, testKey)
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[!-~]{24,128}`)
		w := &subscriber.Webhook{
			ID: "whk_" + rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "id"), Hospital: "north", URL: "https://partner.example", Events: []string{outbound.Ping},
			Enabled: true, RatePerSecond: 50, TimeoutSeconds: 10, Version: 3, CreatedAt: time.UnixMilli(1).UTC(),
			Secrets: []subscriber.Secret{
				{ID: "sec_1", Value: secret.Draw(t, "next"), State: subscriber.SecretNext, Until: time.UnixMilli(2).UTC()},
				{ID: "sec_2", Value: secret.Draw(t, "current"), State: subscriber.SecretCurrent},
			},
		}
		kept, err := sealWebhook(ring, w)
		if err != nil {
			t.Fatal(err)
		}
		value, err := administration.WebhookCodec.Encode(nil, kept)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range w.Secrets {
			if bytes.Contains(value, []byte(s.Value)) {
				t.Fatal("a secret is in the record")
			}
		}
		decoded, err := administration.WebhookCodec.Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		if got, fault := openWebhook(ring, decoded); fault != nil || !reflect.DeepEqual(got, w) {
			t.Fatalf("opens as %+v, %v", got, fault)
		}

		p := &subscriber.Recipient{
			ID: "rcp_1", Hospital: "north", Label: "Charge nurse", EmailShown: "c***@x***.example", PhoneShown: "***42", CreatedAt: time.UnixMilli(1).UTC(),
			Email: rapid.StringMatching(`[a-z]{8,30}@[a-z]{8,30}\.example`).Draw(t, "email"), Phone: rapid.StringMatching(`\+[1-9][0-9]{10,14}`).Draw(t, "phone"),
			Language: rapid.SampledFrom([]string{"", "en", "es"}).Draw(t, "language"),
		}
		sealed, err := sealRecipient(ring, p)
		if err != nil {
			t.Fatal(err)
		}
		value, err = administration.AlertRecipientCodec.Encode(nil, sealed)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(value, []byte(p.Email)) || bytes.Contains(value, []byte(p.Phone)) || bytes.Contains(value, []byte(p.Phone[1:])) {
			t.Fatal("an address is in the record")
		}
		back, err := administration.AlertRecipientCodec.Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := openRecipient(ring, back); err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("opens as %+v, %v", got, err)
		}
	})
}

// TestSealedValuesStayInTheirPlace: a sealed value cannot be opened in a different field, record or hospital, after a
// change to its bytes, or with a different key. It then has no value, and the setting cannot be written, because that
// would lose the value.
func TestSealedValuesStayInTheirPlace(t *testing.T) {
	ring, other := ringOf(t, testKey), ringOf(t, testKey+"other")
	w := &subscriber.Webhook{ID: "whk_1", Hospital: "north", Secrets: []subscriber.Secret{
		{ID: "sec_1", Value: "a secret of twenty-four ch", State: subscriber.SecretCurrent}, {ID: "sec_2", Value: "another of twenty-four cha", State: subscriber.SecretPrevious},
	}}
	p := &subscriber.Recipient{ID: "rcp_1", Hospital: "north", Email: "a@b.example", EmailShown: "a***", Phone: "+15550100", PhoneShown: "***00"}
	hook := func(change func(*administration.Webhook)) func() (any, error) {
		return func() (any, error) {
			kept, err := sealWebhook(ring, w)
			if err != nil {
				t.Fatal(err)
			}
			change(kept)
			got, err := openWebhook(ring, kept)
			if _, again := sealWebhook(ring, got); err != nil && !errors.Is(again, subscribers.ErrNoKey) {
				t.Error("what did not open is written over")
			}
			return got.Secrets[0].Value, err
		}
	}
	recipient := func(change func(*administration.AlertRecipient)) func() (any, error) {
		return func() (any, error) {
			kept, err := sealRecipient(ring, p)
			if err != nil {
				t.Fatal(err)
			}
			change(kept)
			got, err := openRecipient(ring, kept)
			if _, again := sealRecipient(ring, got); err != nil && !errors.Is(again, subscribers.ErrNoKey) {
				t.Error("what did not open is written over")
			}
			return got.Email, err
		}
	}
	for name, tt := range map[string]struct {
		open func() (any, error)
		want error
	}{
		"as it was":            {hook(func(*administration.Webhook) {}), nil},
		"to another record":    {hook(func(k *administration.Webhook) { k.ID = "whk_2" }), seal.ErrBroken},
		"to another hospital":  {hook(func(k *administration.Webhook) { k.Hospital = "south" }), seal.ErrBroken},
		"between secrets":      {hook(func(k *administration.Webhook) { k.Secrets[0].Sealed = k.Secrets[1].Sealed }), seal.ErrBroken},
		"changed":              {hook(func(k *administration.Webhook) { k.Secrets[0].Sealed[20] ^= 1 }), seal.ErrBroken},
		"recipient as it was":  {recipient(func(*administration.AlertRecipient) {}), nil},
		"between fields":       {recipient(func(k *administration.AlertRecipient) { k.Email, k.Phone = k.Phone, k.Email }), seal.ErrBroken},
		"to another recipient": {recipient(func(k *administration.AlertRecipient) { k.ID = "rcp_2" }), seal.ErrBroken},
		"from another key": {recipient(func(k *administration.AlertRecipient) {
			k.Email = other.Seal("north/alert-recipient/rcp_1 email", []byte("x"))
		}), seal.ErrKey},
		"of another installation": {func() (any, error) {
			kept, err := sealWebhook(other, w)
			if err != nil {
				t.Fatal(err)
			}
			got, err := openWebhook(ring, kept)
			return got.Secrets[0].Value, err
		}, seal.ErrKey},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.open()
			if !errors.Is(err, tt.want) || (err == nil) != (got != "") {
				t.Errorf("%q, %v; want %v", got, err, tt.want)
			}
		})
	}
	if _, err := sealWebhook(nil, w); !errors.Is(err, subscribers.ErrNoKey) {
		t.Errorf("sealed without a key: %v", err)
	}
	if _, err := sealRecipient(nil, p); !errors.Is(err, subscribers.ErrNoKey) {
		t.Errorf("sealed without a key: %v", err)
	}
	kept, err := sealWebhook(ring, w)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := openWebhook(nil, kept); err != nil || got.Secrets[0].Value != "" || got.Secrets[0].ID != "sec_1" {
		t.Errorf("a role without keys sees %+v, %v", got, err)
	}
}
