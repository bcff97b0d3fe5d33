package schemas_test

import (
	"testing"

	"svc/internal/outbound/subscriber"
	"svc/schemas"
	"svc/schemas/administration"
	"svc/schemas/ledger"
)

// TestMain adds the records that other packages define, so that they are tested in the same manner.
func TestMain(m *testing.M) {
	schemas.AddRecord(administration.KeyCodec)
	schemas.AddRecord(administration.HospitalCodec)
	schemas.AddRecord(administration.WebhookCodec)
	schemas.AddRecord(administration.AlertTierCodec)
	schemas.AddRecord(administration.AlertRecipientCodec)
	schemas.AddRecord(administration.InstalledKeyCodec)
	schemas.AddRecord(administration.WallCodec)
	schemas.AddRecord(administration.LayoutCodec)
	schemas.AddRecord(administration.LinkCodec)
	schemas.AddRecord(administration.UserCodec)
	schemas.AddRecord(administration.SessionCodec)
	schemas.AddRecord(administration.ActCodec)
	schemas.AddRecord(ledger.EventCodec)
	schemas.AddRecord(ledger.DeliveryCodec)
	schemas.AddRecord(ledger.QueueCodec)
	schemas.AddRecord(ledger.StateCodec)
	schemas.AddRecord(ledger.OrderCodec)
	schemas.AddRecord(ledger.ClosedRunCodec)
	schemas.AddEnumeration(subscriber.SecretPrevious)
	m.Run()
}
