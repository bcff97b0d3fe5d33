package schemas

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hamba/avro/v2"
)

// Schema is one released version of a record. The file avsc/<record>.v<version>.avsc contains the schema's text.
type Schema struct {
	Record  string
	Version int
	ID      SchemaID // the built-in id; never changes
}

// released lists all released versions. Each record has a range of a hundred ids, which starts with the id of the
// record's first version. The ids are far above those of a schema registry, which counts from 1. The ids never
// change, because records in Kafka contain them.
var released = []*Schema{
	{"observation", 1, 1400000101},
	{"observation", 2, 1400000102},
	{"observation", 3, 1400000103},
	{"observation", 4, 1400000104},
	{"observation", 5, 1400000105},
	{"observation", 6, 1400000106},
	{"reference-state", 1, 1400000201},
	{"change", 1, 1400000301},
	{"unit-chart", 1, 1400000401},
	{"unit-chart", 2, 1400000402},
	{"unit-state", 1, 1400000501},
	{"unit-state", 2, 1400000502},
	{"snapshot", 1, 1400000601},
	{"model", 1, 1400000701},
	{"model", 2, 1400000702},
	{"model", 3, 1400000703},
	{"rule-state", 1, 1400000801},
	{"place-state", 1, 1400000901},
	{"switches-state", 1, 1400001001},
	{"room-chart", 1, 1400001101},
	{"room-chart", 2, 1400001102},
	{"room-chart", 3, 1400001103},
	{"room-chart", 4, 1400001104},
	{"room-state", 1, 1400001201},
	{"room-state", 2, 1400001202},
	{"visit-state", 1, 1400001301},
	{"visit-state", 2, 1400001302},
	{"visit-state", 3, 1400001303},
	{"visit-state", 4, 1400001304},
	{"visit-state", 5, 1400001305},
	{"statement-state", 1, 1400001401},
	{"statement-state", 2, 1400001402},
	{"statement-state", 3, 1400001403},
	{"statement-state", 4, 1400001404},
	{"dedup-state", 1, 1400001501},
	{"mapping-state", 1, 1400001601},
	{"code-state", 1, 1400001701},
	{"key", 1, 1400001801},
	{"key", 2, 1400001802},
	{"hospital", 1, 1400001901},
	{"audit", 1, 1400002001},
	{"audit", 2, 1400002002},
	{"dead-letter", 1, 1400002101},
	{"ledger-event", 1, 1400002201},
	{"delivery", 1, 1400002301},
	{"endpoint-queue", 1, 1400002401},
	{"notified-unit", 1, 1400002501},
	{"order", 1, 1400002601},
	{"order", 2, 1400002602},
	{"webhook", 1, 1400002701},
	{"alert-tier", 1, 1400002801},
	{"alert-recipient", 1, 1400002901},
	{"alert-recipient", 2, 1400002902},
	{"installed-key", 1, 1400003001},
	{"link", 1, 1400003101},
	{"user", 1, 1400003201},
	{"wall", 1, 1400003301},
	{"wall", 2, 1400003302},
	{"layout", 1, 1400003401},
	{"session", 1, 1400003501},
	{"alert-run", 1, 1400003601},
	{"past-staffing-state", 1, 1400003701},
}

// newest returns the newest version of a record.
func newest(record string) *Schema {
	for _, s := range slices.Backward(released) {
		if s.Record == record {
			return s
		}
	}
	panic("schemas: no record " + record) // the names are constants, so any test would detect this
}

// Released returns all released versions of all records. The versions of each record are in ascending order.
func Released() []Schema {
	list := make([]Schema, len(released))
	for i, s := range released {
		list[i] = *s
	}
	return list
}

//go:embed avsc/*.avsc
var files embed.FS

// Describe returns the full name of the record, and the text of the schema as it was released.
func (s Schema) Describe() (name, text string) {
	b, err := s.Text()
	var head struct{ Name, Namespace string }
	if err == nil {
		err = json.Unmarshal(b, &head)
	}
	if err != nil {
		panic("schemas: " + err.Error()) // the files are embedded, so any test would detect this
	}
	return head.Namespace + "." + head.Name, string(b)
}

// Text returns the JSON text of the schema as it was released.
func (s Schema) Text() ([]byte, error) { return files.ReadFile(s.file()) }

func (s *Schema) file() string { return fmt.Sprintf("avsc/%s.v%d.avsc", s.Record, s.Version) }

// parsed caches the parsed schemas by file. A schema is parsed only when it is first needed to convert a record of an
// older version.
var parsed sync.Map

// parse returns the schema as the Avro library represents it.
func (s *Schema) parse() (avro.Schema, error) {
	if known, ok := parsed.Load(s.file()); ok {
		if schema, ok := known.(avro.Schema); ok {
			return schema, nil
		}
	}
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	// A separate cache is needed because the versions of a record share their name.
	schema, err := avro.ParseBytesWithCache(text, "", &avro.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", s.file(), err)
	}
	parsed.Store(s.file(), schema)
	return schema, nil
}

// registration maps the released schemas to their ids in a schema registry, and the ids to the schemas.
type registration struct {
	ids     map[*Schema]SchemaID
	schemas map[SchemaID]*Schema
}

var registered atomic.Pointer[registration]

// UseRegistry sets the schema ids for records that are written. The ids come from a schema registry and are in the
// order of [Released]. Records with the built-in ids can still be read. UseRegistry must be called before the first
// record is written or read.
func UseRegistry(ids []SchemaID) {
	r := &registration{map[*Schema]SchemaID{}, map[SchemaID]*Schema{}}
	for i, id := range ids {
		r.ids[released[i]], r.schemas[id] = id, released[i]
	}
	registered.Store(r)
}

// written returns the schema id that is used in new records.
func (s *Schema) written() SchemaID {
	if r := registered.Load(); r != nil {
		if id, ok := r.ids[s]; ok {
			return id
		}
	}
	return s.ID
}

// Portable returns the record b with the built-in id of its schema, which is the same in all installations. It
// returns b unchanged if b already has that id or is not a record.
func Portable(b []byte) []byte { return withSchemaID(b, func(s *Schema) SchemaID { return s.ID }) }

// Registered returns the record b with the id that this installation uses for the record's schema. It returns b
// unchanged if b already has that id or is not a record.
func Registered(b []byte) []byte { return withSchemaID(b, (*Schema).written) }

// withSchemaID returns the record b with the id that idOf returns for the record's schema. If b already has that id
// or is not a record, it returns b unchanged. Otherwise, the result is in new memory.
func withSchemaID(b []byte, idOf func(*Schema) SchemaID) []byte {
	id, ok := IDOf(b)
	if !ok {
		return b
	}
	s := find(id)
	if s == nil || idOf(s) == id {
		return b
	}
	return append(appendHeader(make([]byte, 0, len(b)), idOf(s)), b[headerSize:]...)
}

// find returns the schema with the given id, which may be a built-in id or the id in a registry. It returns nil if
// the id is unknown.
func find(id SchemaID) *Schema {
	for _, s := range released {
		if s.ID == id {
			return s
		}
	}
	if r := registered.Load(); r != nil {
		return r.schemas[id]
	}
	return nil
}

// codec is the Avro library's codec, which is used only for records of older versions.
var codec = avro.Config{DisableBlockSizeHeader: true}.Freeze()

// upgrade converts a payload from an older version of a record to the newest one. According to Avro's rules, fields
// match by name, and missing fields get their defaults. An upgrade takes about a hundred times as long as decoding.
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

// resolve converts a payload from one schema to another. It returns an error if the payload does not match the schema
// from.
func resolve(payload []byte, from, to avro.Schema) ([]byte, error) {
	r := reader{buf: payload}
	check(&r, from)
	if r.fault == "" && r.pos < len(r.buf) {
		r.refuse("bytes after the end of the record")
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

// check reads a value with the given schema and discards it. It runs before the library's decoder, because that
// decoder allocates as much memory as a length field requests (GO-2026-5046, -5047, -5048), and accepts input that
// ends inside a number.
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
		branch := int(r.enum(uint8(len(s.Types()) - 1))) //nolint:gosec // a union has only a few branches
		check(r, s.Types()[branch])
	case *avro.EnumSchema:
		r.enum(uint8(len(s.Symbols()) - 1)) //nolint:gosec // a test checks that every enumeration has fewer than 128 symbols
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

const unusedType = "type that no schema here uses"

func checkPrimitive(r *reader, t avro.Type) {
	switch t { //nolint:exhaustive // the default case refuses all other types
	case avro.Boolean:
		r.bool()
	case avro.Int:
		number[int32](r)
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
