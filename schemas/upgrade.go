package schemas

import "github.com/hamba/avro/v2"

// codec is the library's own codec, for the defaults of fields.
var codec = avro.Config{DisableBlockSizeHeader: true}.Freeze()

// upgrade resolves a payload of an older version to the newest one by the rules of Avro:
// fields by name, missing fields by their default.
func upgrade(payload []byte, old, newest *Schema) ([]byte, error) {
	b, err := bridgeBetween(old, newest)
	if err != nil {
		return nil, err
	}
	return b.cross(payload)
}

// check reads a value of a schema and keeps nothing. The library's own decoder never sees
// bytes of others: it allocates as much as a length asks for (GO-2026-5046, -5047, -5048). It
// also takes an end of bytes inside a number for the end of the value.
func check(r *reader, schema avro.Schema) {
	switch s := schema.(type) {
	case *avro.RecordSchema:
		for _, field := range s.Fields() {
			check(r, field.Type())
		}
	case *avro.ArraySchema:
		for l := r.items(); l.next(r); {
			check(r, s.Items())
		}
	case *avro.UnionSchema:
		branch := int(r.enum(uint8(len(s.Types()) - 1))) //nolint:gosec // unions have a handful of branches
		check(r, s.Types()[branch])
	case *avro.EnumSchema:
		r.enum(uint8(len(s.Symbols()) - 1)) //nolint:gosec // a test holds every enumeration below 128 symbols
	case *avro.FixedSchema:
		r.skip(s.Size())
	case *avro.RefSchema:
		check(r, s.Schema())
	case *avro.NullSchema:
	case *avro.PrimitiveSchema:
		checkPrimitive(r, s.Type())
	default:
		r.refuse(unusedType)
	}
}

const unusedType = "type that no record of ours uses"

func checkPrimitive(r *reader, t avro.Type) {
	switch t { //nolint:exhaustive // the default refuses the rest
	case avro.Boolean:
		r.bool()
	case avro.Int:
		r.int()
	case avro.Long:
		r.long()
	case avro.Double:
		r.skip(8)
	case avro.String, avro.Bytes:
		r.span()
	default:
		r.refuse(unusedType)
	}
}
