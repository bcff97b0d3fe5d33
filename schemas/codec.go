package schemas

import (
	"svc/acuity"
	"svc/internal/admin/audit"
	"svc/internal/admin/layout"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/internal/outbound"
)

// Codec writes and reads the records of one kind. It cuts a [time.Time] to the millisecond.
type Codec[T any] struct {
	schema *Schema // the newest version
	fields func(*coder, *T)
}

// The codecs of all records but observations, states and models, which have functions of their
// own.
var (
	ChangeCodec         = Codec[acuity.Change]{&changeV1, changeFields}
	UnitChartCodec      = Codec[acuity.UnitChart]{&unitChartV2, unitChartFields}
	RoomChartCodec      = Codec[acuity.RoomChart]{&roomChartV2, roomChartFields}
	SnapshotCodec       = Codec[Snapshot]{&snapshotV1, hospitalSnapshotFields}
	DeadLetterCodec     = Codec[DeadLetter]{&deadLetterV1, deadLetterFields}
	ledgerEventCodec    = Codec[outbound.Event]{&ledgerEventV1, ledgerEventFields}
	DeliveryCodec       = Codec[outbound.Entry]{&deliveryV1, deliveryFields}
	endpointQueueCodec  = Codec[outbound.EndpointQueue]{&endpointQueueV1, endpointQueueFields}
	notifiedUnitCodec   = Codec[outbound.HospitalState]{&notifiedUnitV1, notifiedUnitFields}
	OrderCodec          = Codec[outbound.Order]{&orderV2, orderFields}
	ActCodec            = Codec[audit.Act]{&auditV1, auditFields}
	KeyCodec            = Codec[access.Key]{&keyV2, keyFields}
	HospitalCodec       = Codec[access.Hospital]{&hospitalV1, hospitalFields}
	WebhookCodec        = Codec[Webhook]{&webhookV1, webhookFields}
	AlertTierCodec      = Codec[outbound.Tier]{&alertTierV1, alertTierFields}
	AlertRecipientCodec = Codec[AlertRecipient]{&alertRecipientV1, alertRecipientFields}
	InstalledKeyCodec   = Codec[InstalledKey]{&installedKeyV1, installedKeyFields}
	UserCodec           = Codec[users.User]{&userV1, userFields}
	LinkCodec           = Codec[users.Link]{&linkV1, linkFields}
	WallCodec           = Codec[walls.Wall]{&wallV1, wallFields}
	LayoutCodec         = Codec[layout.Layout]{&layoutV1, layoutFields}
)

// Encode appends the record of v to dst, which it returns.
func (k Codec[T]) Encode(dst []byte, v *T) ([]byte, error) {
	return encode(dst, k.schema, v, k.fields)
}

// Decode reads a record of any released version. The errors are [ErrMalformed] and
// [UnknownSchemaError].
func (k Codec[T]) Decode(b []byte) (*T, error) {
	v := new(T)
	if err := k.DecodeInto(b, v); err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeInto is Decode into v. Every field of v is overwritten.
func (k Codec[T]) DecodeInto(b []byte, v *T) error { return decode(b, k.schema, v, k.fields) }

// encode appends a record of schema s to dst.
func encode[T any](dst []byte, s *Schema, v *T, fields func(*coder, *T)) ([]byte, error) {
	c := freeCoder()
	defer c.free()
	c.w = begin(dst, s)
	fields(c, v)
	return c.w.end(s)
}

// decode reads a record of schema s, of any released version, into v. Every field of v is
// overwritten. The errors are [ErrMalformed] and [UnknownSchemaError].
func decode[T any](b []byte, s *Schema, v *T, fields func(*coder, *T)) error {
	r, err := open(b, s)
	if err != nil {
		return err
	}
	c := freeCoder()
	defer c.free()
	c.reading, c.r = true, r
	fields(c, v)
	return c.r.close(s)
}
