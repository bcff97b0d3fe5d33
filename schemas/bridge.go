package schemas

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hamba/avro/v2"
)

// bridge brings the bytes of a value from one schema to another by the rules of Avro. A bridge
// is made once for two versions. The library would resolve the schemas for each value; for the
// restore of a log that an older release wrote this is a hundred times too slow.
type bridge func(r *reader, w *writer)

// cross returns the payload as the newer version has it.
func (b bridge) cross(payload []byte) ([]byte, error) {
	r, w := reader{buf: payload}, writer{buf: make([]byte, 0, len(payload)+64)}
	b(&r, &w)
	if r.fault == "" && r.pos < len(r.buf) {
		r.refuse("bytes after the end")
	}
	if r.fault != "" {
		return nil, fmt.Errorf("%w: %s at byte %d", ErrMalformed, r.fault, headerSize+r.where)
	}
	return w.buf, nil
}

// bridges holds the bridges between released versions. A bridge is made when the first bytes
// of an older version are met.
var bridges sync.Map // versionPair -> bridge

type versionPair struct {
	record   string
	from, to int
}

func bridgeBetween(old, newest *Schema) (bridge, error) {
	pair := versionPair{old.Record, old.Version, newest.Version}
	if known, ok := bridges.Load(pair); ok {
		if b, ok := known.(bridge); ok {
			return b, nil
		}
	}
	from, err := old.parse()
	if err != nil {
		return nil, err
	}
	to, err := newest.parse()
	if err != nil {
		return nil, err
	}
	b, err := newBridge(from, to)
	if err != nil {
		return nil, fmt.Errorf("resolve %s from version %d: %w", old.Record, old.Version, err)
	}
	bridges.Store(pair, b)
	return b, nil
}

// newBridge makes the bridge between two schemas. A change that our records never make, such
// as from a number to a text, is an error.
func newBridge(from, to avro.Schema) (bridge, error) {
	from, to = named(from), named(to)
	if f, ok := from.(*avro.UnionSchema); ok {
		return unionBridge(f, to)
	}
	if t, ok := to.(*avro.UnionSchema); ok {
		return intoUnion(from, t)
	}
	if from.Type() != to.Type() {
		if from.Type() == avro.Int && to.Type() == avro.Long {
			return func(r *reader, w *writer) { w.int(r.int()) }, nil
		}
		return nil, fmt.Errorf("%s does not become %s", from.Type(), to.Type())
	}
	switch f := from.(type) {
	case *avro.RecordSchema:
		if t, ok := to.(*avro.RecordSchema); ok {
			return recordBridge(f, t)
		}
	case *avro.ArraySchema:
		if t, ok := to.(*avro.ArraySchema); ok {
			return arrayBridge(f, t)
		}
	case *avro.EnumSchema:
		if t, ok := to.(*avro.EnumSchema); ok {
			return enumBridge(f, t)
		}
	case *avro.FixedSchema:
		if t, ok := to.(*avro.FixedSchema); ok && f.Size() == t.Size() {
			return func(r *reader, w *writer) { w.copied(r, func() { r.skip(f.Size()) }) }, nil
		}
	case *avro.NullSchema:
		return func(*reader, *writer) {}, nil
	case *avro.PrimitiveSchema:
		return primitiveBridge(f)
	}
	return nil, fmt.Errorf("type %s that no record of ours uses", from.Type())
}

// named returns the schema that a reference names; other schemas are returned as they are.
func named(s avro.Schema) avro.Schema {
	if ref, ok := s.(*avro.RefSchema); ok {
		return ref.Schema()
	}
	return s
}

// copied reads a value by read and writes its bytes unchanged.
func (w *writer) copied(r *reader, read func()) {
	from := r.pos
	read()
	w.fixed(r.buf[from:r.pos])
}

func primitiveBridge(s *avro.PrimitiveSchema) (bridge, error) {
	var probe reader
	if checkPrimitive(&probe, s.Type()); probe.fault == unusedType {
		return nil, fmt.Errorf("type %s that no record of ours uses", s.Type())
	}
	switch s.Type() { //nolint:exhaustive // the rest is copied
	case avro.Int, avro.Long: // written as we write them, whoever wrote them before
		return func(r *reader, w *writer) {
			from := r.pos
			if checkPrimitive(r, s.Type()); r.fault == "" {
				again := reader{buf: r.buf[from:r.pos]}
				w.long(again.long())
			}
		}, nil
	}
	return func(r *reader, w *writer) { w.copied(r, func() { checkPrimitive(r, s.Type()) }) }, nil
}

// step says where one field of the newer record comes from: a field of the older record, or
// the default.
type step struct {
	from     int // index in the older record; -1: it has no such field
	bridge   bridge
	standard []byte // the default, encoded
}

func recordBridge(from, to *avro.RecordSchema) (bridge, error) {
	var steps []step
	ordered, last := true, -1
	for _, field := range to.Fields() {
		s := step{from: slices.IndexFunc(from.Fields(), func(f *avro.Field) bool { return f.Name() == field.Name() })}
		var err error
		switch {
		case s.from >= 0:
			s.bridge, err = newBridge(from.Fields()[s.from].Type(), field.Type())
			ordered, last = ordered && s.from > last, s.from
		case field.HasDefault():
			s.standard, err = codec.Marshal(field.Type(), field.Default())
		default:
			err = fmt.Errorf("it has no default")
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name(), err)
		}
		steps = append(steps, s)
	}
	fields := from.Fields()
	if !ordered {
		return shuffled(fields, steps), nil
	}
	return func(r *reader, w *writer) {
		next := 0 // index in the older record
		for i := range steps {
			s := &steps[i]
			if s.from < 0 {
				w.fixed(s.standard)
				continue
			}
			for ; next < s.from; next++ {
				check(r, fields[next].Type()) // a field that was dropped
			}
			s.bridge(r, w)
			next++
		}
		for ; next < len(fields); next++ {
			check(r, fields[next].Type())
		}
	}, nil
}

// shuffled is the bridge between records with another order of fields.
func shuffled(fields []*avro.Field, steps []step) bridge {
	return func(r *reader, w *writer) {
		at := make([]int, len(fields))
		for i, field := range fields {
			at[i] = r.pos
			check(r, field.Type())
		}
		if r.fault != "" {
			return
		}
		for i := range steps {
			if s := &steps[i]; s.from < 0 {
				w.fixed(s.standard)
			} else {
				again := reader{buf: r.buf, pos: at[s.from]}
				s.bridge(&again, w)
				if again.fault != "" { // of an enumeration
					r.refuse(again.fault)
					return
				}
			}
		}
	}
}

func arrayBridge(from, to *avro.ArraySchema) (bridge, error) {
	item, err := newBridge(from.Items(), to.Items())
	if err != nil {
		return nil, err
	}
	return func(r *reader, w *writer) {
		var list writer // on its own: the length stands before the bytes and is known after them
		n := 0
		for l := r.items(); l.next(r); n++ {
			item(r, &list)
		}
		w.items(n)
		w.fixed(list.buf)
		w.done()
	}, nil
}

func enumBridge(from, to *avro.EnumSchema) (bridge, error) {
	numbers := make([]byte, len(from.Symbols()))
	for i, symbol := range from.Symbols() {
		n := slices.Index(to.Symbols(), symbol)
		if n < 0 {
			return nil, fmt.Errorf("symbol %s is gone", symbol)
		}
		numbers[i] = byte(n) //nolint:gosec // a test holds every enumeration below 128 symbols
	}
	last := uint8(len(numbers) - 1) //nolint:gosec // likewise
	return func(r *reader, w *writer) { w.octet(numbers[r.enum(last)]) }, nil
}

func unionBridge(from *avro.UnionSchema, to avro.Schema) (bridge, error) {
	branches := make([]bridge, len(from.Types()))
	for i, branch := range from.Types() {
		var err error
		if branches[i], err = newBridge(branch, to); err != nil {
			return nil, err
		}
	}
	last := uint8(len(branches) - 1) //nolint:gosec // unions have a handful of branches
	return func(r *reader, w *writer) { branches[r.enum(last)](r, w) }, nil
}

// intoUnion finds the branch that a value becomes.
func intoUnion(from avro.Schema, to *avro.UnionSchema) (bridge, error) {
	for i, branch := range to.Types() {
		if named(branch).Type() != from.Type() {
			continue
		}
		b, err := newBridge(from, branch)
		if err != nil {
			return nil, err
		}
		return func(r *reader, w *writer) { w.long(int64(i)); b(r, w) }, nil
	}
	return nil, fmt.Errorf("no branch of type %s", from.Type())
}
