package schemas

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hamba/avro/v2"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
)

// fatal contains the methods of a test that are common to the packages testing and rapid.
type fatal interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// readGeneric decodes a record with the library's codec, according to the schema alone.
func readGeneric(t fatal, schema avro.Schema, b []byte) any {
	t.Helper()
	r := avro.NewReader(nil, 0, avro.WithReaderConfig(codec)).Reset(b[headerSize:])
	var value any
	r.ReadVal(schema, &value)
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	if r.Peek(); r.Error == nil {
		t.Fatal("the library leaves bytes over")
	}
	return value
}

// same compares a domain value with the value that the library decoded. It matches fields by their names in the
// schema, so that a failure names the missing or misplaced field.
func same(t fatal, path string, v reflect.Value, schema avro.Schema, generic any) {
	t.Helper()
	if ref, ok := schema.(*avro.RefSchema); ok {
		schema = ref.Schema()
	}
	switch s := schema.(type) {
	case *avro.RecordSchema:
		sameRecord(t, path, v, s, generic)
	case *avro.ArraySchema:
		if set, ok := reflect.TypeAssert[acuity.Reasons](v); ok {
			v = reflect.ValueOf(adt.ReasonCodes(set))
		}
		list, ok := generic.([]any)
		if !ok || len(list) != v.Len() {
			t.Fatalf("%s: %v on the wire, %v in the domain", path, generic, v)
		}
		for i, item := range list {
			same(t, fmt.Sprintf("%s[%d]", path, i), v.Index(i), s.Items(), item)
		}
	case *avro.UnionSchema:
		if v.IsNil() != (generic == nil) {
			t.Fatalf("%s: %v on the wire, %v in the domain", path, generic, v)
		}
		if generic == nil {
			return
		}
		if branch, ok := generic.(map[string]any); ok && len(branch) == 1 {
			for name, inner := range branch {
				if strings.HasPrefix(name, "svc.") {
					generic = inner
				}
			}
		}
		same(t, path, v.Elem(), s.Types()[1], generic)
	case *avro.EnumSchema:
		symbol, ok := generic.(string)
		if !ok || fmt.Sprint(slices.Index(s.Symbols(), symbol)) != fmt.Sprint(v.Uint()) {
			t.Fatalf("%s: %v on the wire, %v in the domain", path, generic, v)
		}
	default:
		if got, want := fmt.Sprint(plain(generic)), fmt.Sprint(plain(v.Interface())); got != want {
			t.Fatalf("%s: %s on the wire, %s in the domain", path, got, want)
		}
	}
}

func sameRecord(t fatal, path string, v reflect.Value, s *avro.RecordSchema, generic any) {
	t.Helper()
	fields, ok := generic.(map[string]any)
	visible := 0
	for i := range v.NumField() {
		if inRecord(v.Type().Field(i)) {
			visible++
		}
	}
	if !ok || visible != len(s.Fields()) {
		t.Fatalf("%s: %d fields in the schema, %d in the domain", path, len(s.Fields()), visible)
	}
	for _, field := range s.Fields() {
		name := strings.ToUpper(field.Name()[:1]) + field.Name()[1:]
		in := v.FieldByName(name)
		if !in.IsValid() {
			in = v.FieldByName(strings.TrimSuffix(name, "Id") + "ID")
		}
		if !in.IsValid() { // an initialism, such as URL
			in = v.FieldByName(strings.ToUpper(name))
		}
		if !in.IsValid() {
			t.Fatalf("%s: the domain has no field for %s", path, field.Name())
		}
		same(t, path+"."+field.Name(), in, field.Type(), fields[field.Name()])
	}
}

// plain converts a domain value or a value that the library decoded to a common form, which consists of milliseconds,
// ids, numbers and strings.
func plain(v any) any {
	switch v := v.(type) {
	case catalogue.Factor:
		return v.ID()
	case uint64:
		return int64(v)
	case acuity.Instant:
		return int64(v)
	case time.Time:
		if v.IsZero() {
			return int64(0)
		}
		return v.UnixMilli()
	case time.Duration:
		return int64(v)
	default:
		return v
	}
}
