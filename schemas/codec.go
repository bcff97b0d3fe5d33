package schemas

import (
	"svc/acuity"
)

// Codec writes and reads the records of one kind. It cuts a [time.Time] to the millisecond.
type Codec[T any] struct {
	schema *Schema // the newest version
	fields func(*Coder, *T)
}

// NewCodec returns the codec of a record that another package describes, by its name in
// [Released]: fields goes through all fields of the newest version in their order.
func NewCodec[T any](record string, fields func(*Coder, *T)) Codec[T] {
	var newest *Schema
	for _, s := range released {
		if s.Record == record {
			newest = s
		}
	}
	if newest == nil {
		panic("schemas: no record " + record) // a name of the build: any test finds it
	}
	return Codec[T]{newest, fields}
}

// The codecs of records that have no functions of their own. Those of administration and of the
// ledger are packages.
var (
	ChangeCodec     = Codec[acuity.Change]{&changeV1, changeFields}
	UnitChartCodec  = Codec[acuity.UnitChart]{&unitChartV2, unitChartFields}
	RoomChartCodec  = Codec[acuity.RoomChart]{&roomChartV2, roomChartFields}
	SnapshotCodec   = Codec[Snapshot]{&snapshotV1, hospitalSnapshotFields}
	DeadLetterCodec = Codec[DeadLetter]{&deadLetterV1, deadLetterFields}
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
func encode[T any](dst []byte, s *Schema, v *T, fields func(*Coder, *T)) ([]byte, error) {
	c := freeCoder()
	defer c.free()
	c.w = begin(dst, s)
	fields(c, v)
	return c.w.end(s)
}

// decode reads a record of schema s, of any released version, into v. Every field of v is
// overwritten. The errors are [ErrMalformed] and [UnknownSchemaError].
func decode[T any](b []byte, s *Schema, v *T, fields func(*Coder, *T)) error {
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
