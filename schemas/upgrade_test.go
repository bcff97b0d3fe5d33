package schemas

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/hamba/avro/v2"
	"pgregory.net/rapid"
)

// Two versions of a record that was never released. The newer version has every kind of change that a new version may
// make: added fields with a default at the top level, in a list item and in a union branch; a removed field; a
// different order of fields; an int widened to a long; and an added symbol.
const (
	olderText = `{"type":"record","name":"Sample","namespace":"svc","fields":[
		{"name":"id","type":"string"},
		{"name":"dropped","type":{"type":"array","items":"int"}},
		{"name":"level","type":{"type":"enum","name":"Level","symbols":["GREEN","RED"]}},
		{"name":"width","type":"int"},
		{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
		{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[
			{"name":"code","type":"string"}, {"name":"on","type":"boolean"}]}}},
		{"name":"maybe","type":["null",{"type":"record","name":"Maybe","fields":[
			{"name":"hash","type":{"type":"fixed","name":"Sha","size":2}}, {"name":"rate","type":"double"}]}]}
	]}`
	newerText = `{"type":"record","name":"Sample","namespace":"svc","fields":[
		{"name":"width","type":"long"},
		{"name":"id","type":"string"},
		{"name":"note","type":"string","default":"none"},
		{"name":"level","type":{"type":"enum","name":"Level","symbols":["GREEN","RED","BLACK"]}},
		{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
		{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[
			{"name":"code","type":"string"}, {"name":"on","type":"boolean"}, {"name":"feed","type":"string","default":""},
			{"name":"more","type":{"type":"array","items":"string"},"default":[]}]}}},
		{"name":"maybe","type":["null",{"type":"record","name":"Maybe","fields":[
			{"name":"hash","type":{"type":"fixed","name":"Sha","size":2}}, {"name":"rate","type":"double"},
			{"name":"burst","type":"int","default":-5}]}]},
		{"name":"other","type":["null","svc.Item"],"default":null}
	]}`
)

func versions(tb testing.TB) (older, newer avro.Schema) {
	tb.Helper()
	older, err := avro.ParseBytesWithCache([]byte(olderText), "", &avro.SchemaCache{})
	if err != nil {
		tb.Fatal(err)
	}
	newer, err = avro.ParseBytesWithCache([]byte(newerText), "", &avro.SchemaCache{})
	if err != nil {
		tb.Fatal(err)
	}
	return older, newer
}

// sample returns the encodings of one random value: old in the older version, and want in the newer version.
func sample(t *rapid.T) (old, want []byte) {
	text := rapid.StringN(0, 5, -1)
	number := rapid.Int32()
	id, width, at := text.Draw(t, "id"), number.Draw(t, "width"), rapid.Int64Range(-1<<50, 1<<50).Draw(t, "at")
	level := rapid.Uint8Range(0, 1).Draw(t, "level")
	dropped := rapid.SliceOfN(number, 0, 3).Draw(t, "dropped")
	codes := rapid.SliceOfN(text, 0, 3).Draw(t, "codes")
	maybe := rapid.Bool().Draw(t, "maybe")

	var o, n writer
	o.text(id)
	o.items(len(dropped))
	for _, v := range dropped {
		o.long(int64(v))
	}
	o.done()
	o.enum(level, 1)
	o.long(int64(width))
	o.long(at)
	o.items(len(codes))
	for _, code := range codes {
		o.text(code)
		o.bool(true)
	}
	o.done()
	if o.some(maybe) {
		o.fixed([]byte{1, 2})
		o.double(2.5)
	}

	n.long(int64(width))
	n.text(id)
	n.text("none")
	n.enum(level, 2)
	n.long(at)
	n.items(len(codes))
	for _, code := range codes {
		n.text(code)
		n.bool(true)
		n.text("")
		n.done()
	}
	n.done()
	if n.some(maybe) {
		n.fixed([]byte{1, 2})
		n.double(2.5)
		n.long(-5)
	}
	n.some(false)
	return o.buf, n.buf
}

func TestOlderBytesAreResolved(t *testing.T) {
	older, newer := versions(t)
	rapid.Check(t, func(t *rapid.T) {
		old, want := sample(t)
		got, err := resolve(old, older, newer)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("resolved to\n%x, want\n%x", got, want)
		}
		for n := range old {
			if _, err := resolve(old[:n], older, newer); !errors.Is(err, ErrMalformed) {
				t.Fatalf("the first %d of %d bytes: err = %v, want ErrMalformed", n, len(old), err)
			}
		}
	})
}

// TestOlderVersionIsRead registers an additional version of each record that differs from the newest version only in
// its id, and decodes the bytes of the additional version as the newest one.
func TestOlderVersionIsRead(t *testing.T) {
	before := released
	t.Cleanup(func() { released = before })
	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		old := *r.schema
		old.ID = 77
		released = append(slices.Clip(before), &old)
		b, err := r.encode(nil, r.example())
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.decode(append(appendHeader(nil, old.ID), b[headerSize:]...))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, r.example()) {
			t.Errorf("read as\n%+v, want\n%+v", got, r.example())
		}
	})
}

func FuzzResolve(f *testing.F) {
	older, newer := versions(f)
	f.Add([]byte("\x04id\x00\x02\x08\x10\x02\x02a\x01\x00\x02ab12345678"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		up, err := resolve(payload, older, newer)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		r := reader{buf: up}
		if check(&r, newer); r.fault != "" || r.pos != len(up) {
			t.Fatalf("resolved to bytes that are not of the schema: %q", r.fault)
		}
	})
}
