package schemas

import (
	"fmt"

	"github.com/hamba/avro/v2"
)

// codec is the library's own codec, for records of older versions.
var codec = avro.Config{DisableBlockSizeHeader: true}.Freeze()

// upgrade resolves a payload of an older version to the newest one by the rules of Avro:
// fields by name, missing fields by their default. It costs about a hundred times a decode.
func upgrade(payload []byte, old, newest *Schema) ([]byte, error) {
	from, err := old.parse()
	if err != nil {
		return nil, err
	}
	to, err := newest.parse()
	if err != nil {
		return nil, err
	}
	return resolve(payload, from, to)
}

// resolve rewrites a payload of one schema in another one.
func resolve(payload []byte, from, to avro.Schema) ([]byte, error) {
	r := reader{buf: payload}
	check(&r, from)
	if r.fault == "" && r.pos < len(r.buf) {
		r.refuse("bytes after the end")
	}
	if r.fault != "" {
		return nil, fmt.Errorf("%w: %s at byte %d", ErrMalformed, r.fault, headerSize+r.where)
	}
	both, err := avro.NewSchemaCompatibility().Resolve(to, from)
	if err != nil {
		return nil, fmt.Errorf("resolve the versions: %w", err)
	}
	var value any
	if err := codec.Unmarshal(both, payload, &value); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return codec.Marshal(to, value)
}

// check reads a value of a schema and keeps nothing. It runs before the decoder of the library,
// which allocates as much as a length asks for (GO-2026-5046, -5047, -5048). That decoder also
// takes an end of bytes inside a number for the end of the value.
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
