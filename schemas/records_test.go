package schemas

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/facts"
)

// record is one kind of record in the tests, with its Go type and its codec.
type record struct {
	schema *Schema
	value  any // a zero value of the Go type
	encode func(dst []byte, v any) ([]byte, error)
	decode func([]byte) (any, error)
}

var errType = errors.New("another Go type than the record's")

func recordOf[T any](s *Schema, encode func([]byte, *T) ([]byte, error), decode func([]byte) (*T, error)) record {
	return record{
		schema: s, value: *new(T),
		encode: func(dst []byte, v any) ([]byte, error) {
			if v, ok := v.(*T); ok {
				return encode(dst, v)
			}
			return dst, errType
		},
		decode: func(b []byte) (any, error) { return decode(b) },
	}
}

func stateRecord[T any](s *Schema) record {
	return recordOf(s,
		func(dst []byte, v *T) ([]byte, error) {
			if state, ok := any(v).(facts.Record); ok {
				return EncodeState(dst, state)
			}
			return dst, errType
		},
		func(b []byte) (*T, error) {
			v, err := DecodeState(b)
			if err != nil {
				return nil, err
			}
			state, ok := v.(any).(*T)
			if !ok {
				return nil, &UnknownSchemaError{Want: s.Record}
			}
			return state, nil
		})
}

// records lists every kind of record, with the newest version of its schema. [AddRecord] adds the kinds that other
// packages define.
var records = []record{
	recordOf(newest("observation"), EncodeObservation, observationCodec.Decode),
	recordOf(newest("change"), ChangeCodec.Encode, ChangeCodec.Decode),
	recordOf(newest("unit-chart"), UnitChartCodec.Encode, func(b []byte) (*acuity.UnitChart, error) {
		u := acuity.UnitChart{Unplaced: 7} // must be overwritten
		return &u, UnitChartCodec.DecodeInto(b, &u)
	}),
	recordOf(newest("room-chart"), RoomChartCodec.Encode, func(b []byte) (*acuity.RoomChart, error) {
		room := acuity.RoomChart{Label: "left over"} // must be overwritten
		return &room, RoomChartCodec.DecodeInto(b, &room)
	}),
	stateRecord[facts.UnitState](newest("unit-state")),
	stateRecord[facts.RoomState](newest("room-state")),
	stateRecord[facts.VisitState](newest("visit-state")),
	stateRecord[facts.StatementState](newest("statement-state")),
	stateRecord[facts.DedupState](newest("dedup-state")),
	stateRecord[facts.MappingState](newest("mapping-state")),
	stateRecord[facts.CodeState](newest("code-state")),
	stateRecord[facts.RuleState](newest("rule-state")),
	stateRecord[facts.PlaceState](newest("place-state")),
	stateRecord[facts.SwitchesState](newest("switches-state")),
	stateRecord[facts.ReferenceState](newest("reference-state")),
	stateRecord[facts.PastStaffingState](newest("past-staffing-state")),
	recordOf(newest("dead-letter"), DeadLetterCodec.Encode, DeadLetterCodec.Decode),
	recordOf(newest("snapshot"), SnapshotCodec.Encode, SnapshotCodec.Decode),
	recordOf(newest("model"), ModelCodec.Encode, ModelCodec.Decode),
}

// AddRecord adds a kind of record that another package defines.
func AddRecord[T any](c Codec[T]) { records = append(records, recordOf(c.schema, c.Encode, c.Decode)) }

// AddEnumeration adds an enumeration of the domain with its greatest valid number.
func AddEnumeration[T ~uint8](last T) { lasts[reflect.TypeFor[T]()] = uint8(last) }

// eachRecord runs a test for every kind of record.
func eachRecord(t *testing.T, test func(t *testing.T, r record)) {
	t.Helper()
	for _, r := range records {
		t.Run(r.schema.Record, func(t *testing.T) { test(t, r) })
	}
}

// lasts maps each enumeration in the domain to its greatest valid number.
var lasts = map[reflect.Type]uint8{
	reflect.TypeFor[acuity.EventType]():     lastEventType,
	reflect.TypeFor[acuity.Precision]():     lastPrecision,
	reflect.TypeFor[acuity.DiagnosisMode](): lastDiagnosisMode,
	reflect.TypeFor[catalogue.SignalKind](): lastSignalKind,
	reflect.TypeFor[acuity.SignalStatus]():  lastSignalStatus,
	reflect.TypeFor[codes.ValueKind]():      lastValueKind,
	reflect.TypeFor[codes.Comparator]():     lastComparator,
	reflect.TypeFor[acuity.RoomStatus]():    lastRoomStatus,
	reflect.TypeFor[acuity.Tristate]():      lastTristate,
	reflect.TypeFor[acuity.Cause]():         lastCause,
	reflect.TypeFor[acuity.Outcome]():       lastOutcome,
	reflect.TypeFor[acuity.EffectKind]():    lastEffectKind,
	reflect.TypeFor[acuity.Level]():         lastLevel,
	reflect.TypeFor[acuity.Color]():         lastColor,
	reflect.TypeFor[acuity.Axis]():          lastAxis,
	reflect.TypeFor[acuity.EvidenceKind]():  lastEvidenceKind,
	reflect.TypeFor[acuity.StageClass]():    lastStageClass,
	reflect.TypeFor[acuity.ArrivalKind]():   lastArrivalKind,
}

// source chooses the values for the function filled, either at random or by counting. Numbers are in [low, high].
type source interface {
	number(name string, low, high int64) int64
	text(name string) string
	factor(name string) catalogue.Factor
	reasons(name string) acuity.Reasons
}

// filled sets all fields of v, including those of nested values. Different values have different encodings: a list is
// nil or has items, and times are in UTC and whole milliseconds.
func filled(s source, name string, v reflect.Value) {
	switch v.Interface().(type) {
	case catalogue.Factor:
		v.SetUint(uint64(s.factor(name)))
		return
	case acuity.Reasons:
		v.SetUint(uint64(s.reasons(name)))
		return
	case time.Time:
		v.Set(reflect.ValueOf(acuity.Instant(s.number(name, 0, 1<<42)).Time()))
		return
	}
	if last, ok := lasts[v.Type()]; ok {
		v.SetUint(uint64(s.number(name, 0, int64(last))))
		return
	}
	switch v.Kind() { //nolint:exhaustive // the default case panics for a missing kind
	case reflect.Bool:
		v.SetBool(s.number(name, 0, 1) == 1)
	case reflect.String:
		v.SetString(s.text(name))
	case reflect.Uint8:
		v.SetUint(uint64(s.number(name, 0, 255)))
	case reflect.Int8:
		v.SetInt(s.number(name, -128, 127))
	case reflect.Int32, reflect.Int:
		v.SetInt(s.number(name, -1<<31, 1<<31-1))
	case reflect.Int64:
		v.SetInt(s.number(name, -1<<63, 1<<63-1))
	case reflect.Uint64:
		v.SetUint(uint64(s.number(name, -1<<63, 1<<63-1)))
	case reflect.Float64:
		v.SetFloat(float64(s.number(name, 0, 1000)) / 8)
	case reflect.Pointer:
		if s.number(name, 0, 1) == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			filled(s, name, v.Elem())
		}
	case reflect.Slice:
		if n := int(s.number(name, 0, 3)); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				filled(s, name, v.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			filled(s, name, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); inRecord(field) {
				filled(s, field.Name, v.Field(i))
			}
		}
	default:
		panic("no rule to fill " + v.Type().String())
	}
}

// inRecord reports whether a field is part of the record. Unexported fields are internal to the domain, and fields
// with the struct tag avro:"-" are in a header.
func inRecord(field reflect.StructField) bool {
	return field.IsExported() && field.Tag.Get("avro") != "-"
}

type drawn struct{ t *rapid.T }

func (d drawn) number(name string, low, high int64) int64 {
	return rapid.Int64Range(low, high).Draw(d.t, name)
}

func (d drawn) text(name string) string {
	return rapid.OneOf(
		rapid.Just(""), rapid.SampledFrom([]string{"LOINC", "ICD-10-CM", "clinical", "fhir", "Ωβ–ü"}),
		rapid.StringN(0, 8, 24), rapid.Just(strings.Repeat("x", 200)),
	).Draw(d.t, name)
}

func (d drawn) factor(name string) catalogue.Factor {
	return catalogue.Factor(d.number(name, 0, int64(catalogue.Default().Len())))
}

func (d drawn) reasons(name string) acuity.Reasons {
	known := adt.ReasonsOf(adt.ReasonCodes(acuity.Reasons(^uint64(0))))
	return known & acuity.Reasons(d.number(name, 0, 1<<62))
}

// random returns a pointer to a random value of the record's Go type.
func (r record) random(t *rapid.T) any {
	v := reflect.New(reflect.TypeOf(r.value))
	filled(drawn{t}, r.schema.Record, v.Elem())
	return v.Interface()
}

// counted chooses values by counting. The values are always the same, every list has one or two items, and no field
// is left empty.
type counted struct{ n int64 }

func (c *counted) number(_ string, low, high int64) int64 {
	c.n++
	if low == 0 && high == 1 {
		return 1
	}
	if low == 0 && high == 3 { // the range of list lengths, and of enumerations with four symbols
		return 1 + c.n%2
	}
	if low < 0 {
		return c.n % (high + 1)
	}
	return 1 + c.n%high
}

func (c *counted) text(name string) string {
	c.n++
	return fmt.Sprintf("%s-%d", strings.ToLower(name), c.n)
}

// factor and reasons choose by name, because the numbers may change with the catalogue.
func (c *counted) factor(string) catalogue.Factor {
	ids := [...]string{"high-mag", "labor-active-lt4", "nb-continuing"}
	c.n++
	f, ok := catalogue.FactorByID(ids[c.n%int64(len(ids))])
	if !ok {
		panic("the catalogue has no " + ids[c.n%int64(len(ids))])
	}
	return f
}

func (c *counted) reasons(string) acuity.Reasons {
	return adt.ReasonsOf([]string{"induction", "cesarean"})
}

// example returns a pointer to a value of the record's Go type. The value is always the same.
func (r record) example() any {
	v := reflect.New(reflect.TypeOf(r.value))
	filled(&counted{}, r.schema.Record, v.Elem())
	return v.Interface()
}
