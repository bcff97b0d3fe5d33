package schemas

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hamba/avro/v2"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files of the newest versions")

func TestRoundTrip(t *testing.T) {
	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		rapid.Check(t, func(t *rapid.T) {
			want := r.random(t)
			b, err := r.encode([]byte("before"), want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.decode(b[len("before"):])
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("decoded\n%+v\nwant\n%+v", got, want)
			}
		})
	})
}

// TestBytesAreThoseOfTheSchema decodes encoded records with the library's codec. The library must return the name and
// value of every domain field, and must encode the decoded record to the same bytes.
func TestBytesAreThoseOfTheSchema(t *testing.T) {
	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		schema := parsedSchema(t, r.schema)
		rapid.Check(t, func(t *rapid.T) {
			v := r.random(t)
			b, err := r.encode(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			generic := readGeneric(t, schema, b)
			same(t, r.schema.Record, reflect.ValueOf(v).Elem(), schema, generic)
			again, err := codec.Marshal(schema, generic)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := hex.EncodeToString(again), hex.EncodeToString(b[headerSize:]); got != want {
				t.Fatalf("the library writes\n%s, we write\n%s", got, want)
			}
		})
	})
}

// TestNewestReadsAll checks that every released version of a record can be resolved to the newest version, and
// decodes the golden bytes of every version as the newest version.
func TestNewestReadsAll(t *testing.T) {
	for _, r := range records {
		newest := parsedSchema(t, r.schema)
		for _, s := range Released() {
			if s.Record != r.schema.Record {
				continue
			}
			t.Run(fileName(s, "golden"), func(t *testing.T) {
				if err := backward(newest, parsedSchema(t, &s)); err != nil {
					t.Fatal(err)
				}
				if s.Version == r.schema.Version {
					written, err := r.encode(nil, r.example())
					if err != nil {
						t.Fatal(err)
					}
					if golden(t, fileName(s, "golden"), hex.EncodeToString(written)+"\n") {
						t.Errorf("the bytes of %s.v%d changed", s.Record, s.Version)
					}
				}
				old, err := hex.DecodeString(strings.TrimSpace(goldenText(t, fileName(s, "golden"))))
				if err != nil {
					t.Fatal(err)
				}
				value, err := r.decode(old)
				if err != nil {
					t.Fatal(err)
				}
				b, err := r.encode(nil, value)
				if err != nil {
					t.Fatal(err)
				}
				reading, err := json.MarshalIndent(readGeneric(t, newest, b), "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if golden(t, fileName(s, "json"), string(reading)+"\n") {
					t.Errorf("%s.v%d is read as\n%s", s.Record, s.Version, reading)
				}
			})
		}
	}
}

func TestEnumsHaveTheNumbersOfTheDomain(t *testing.T) {
	count := map[string]int{}
	for domain, last := range lasts {
		count[domain.Name()] = int(last) + 1
	}
	var walk func(schema avro.Schema)
	walk = func(schema avro.Schema) {
		switch s := schema.(type) {
		case *avro.RecordSchema:
			for _, field := range s.Fields() {
				walk(field.Type())
			}
		case *avro.ArraySchema:
			walk(s.Items())
		case *avro.UnionSchema:
			for _, branch := range s.Types() {
				walk(branch)
			}
		case *avro.EnumSchema:
			if got := len(s.Symbols()); got != count[s.Name()] || got > 64 {
				t.Errorf("%s has %d symbols, the domain %d numbers", s.Name(), got, count[s.Name()])
			}
		}
	}
	for _, r := range records {
		walk(parsedSchema(t, r.schema))
	}
}

func TestUnknownSchemaIsNamed(t *testing.T) {
	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		for name, f := range map[string]SchemaID{
			"never released":     1234,
			"of another record":  other(r).ID,
			"next to a released": r.schema.ID + 1,
		} {
			t.Run(name, func(t *testing.T) {
				_, err := r.decode(append(appendHeader(nil, f), 0, 0, 0))
				var unknown *UnknownSchemaError
				if !errors.As(err, &unknown) {
					t.Fatalf("err = %v, want an UnknownSchemaError", err)
				}
				if name == "never released" && unknown.ID != f {
					t.Errorf("id = %d, want %d", unknown.ID, f)
				}
			})
		}
		for name, b := range map[string][]byte{
			"nothing": nil, "zero alone": {0}, "half an id": {0, 1, 2},
			"other marker": {0xC3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "JSON": []byte(`{"hospital":"h"}`),
		} {
			if _, err := r.decode(b); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: err = %v, want ErrMalformed", name, err)
			}
		}
	})
}

func other(r record) *Schema {
	if r.schema == newest("change") {
		return newest("observation")
	}
	return newest("change")
}

func parsedSchema(tb testing.TB, s *Schema) avro.Schema {
	tb.Helper()
	schema, err := s.parse()
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

func fileName(s Schema, ext string) string {
	return fmt.Sprintf("%s.v%d.%s", s.Record, s.Version, ext)
}

// golden reports whether got differs from the golden file. With -update, it first writes got to the file.
func golden(t *testing.T, name, got string) bool {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", name), []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return goldenText(t, name) != got
}

func goldenText(tb testing.TB, name string) string {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}
