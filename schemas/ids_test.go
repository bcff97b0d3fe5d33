package schemas

import (
	"bytes"
	"reflect"
	"testing"
)

// TestRegistryIDs: if an existing registry is in use, records are written with its ids. Records with the built-in ids
// can still be read.
func TestRegistryIDs(t *testing.T) {
	before := map[string][]byte{}
	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		b, err := r.encode(nil, r.example())
		if err != nil {
			t.Fatal(err)
		}
		if id, _ := IDOf(b); id != r.schema.ID {
			t.Errorf("written with the id %d, want %d", id, r.schema.ID)
		}
		before[r.schema.Record] = b
	})
	ids := make([]SchemaID, len(released))
	for i := range ids {
		ids[i] = SchemaID(i + 1)
	}
	UseRegistry(ids)
	t.Cleanup(func() { registered.Store(nil) })
	eachRecord(t, func(t *testing.T, r record) {
		t.Helper()
		b, err := r.encode(nil, r.example())
		if err != nil {
			t.Fatal(err)
		}
		if id, _ := IDOf(b); id < 1 || int(id) > len(released) || released[id-1] != r.schema {
			t.Errorf("written with the id %d, which the registry gave to another schema", id)
		}
		// An exported record has the built-in id, and an imported record gets the id of the local registry.
		original := bytes.Clone(b)
		if got := Portable(b); !bytes.Equal(got, before[r.schema.Record]) {
			t.Errorf("exported as %x, want %x", got, before[r.schema.Record])
		}
		if got := Registered(before[r.schema.Record]); !bytes.Equal(got, b) {
			t.Errorf("imported as %x, want %x", got, b)
		}
		if !bytes.Equal(b, original) || !bytes.Equal(Registered(b), b) || !bytes.Equal(Portable(before[r.schema.Record]), before[r.schema.Record]) {
			t.Error("a record was changed in its memory, or had its id already")
		}
		for _, record := range [][]byte{b, before[r.schema.Record]} {
			got, err := r.decode(record)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, r.example()) {
				t.Errorf("read as\n%+v, want\n%+v", got, r.example())
			}
		}
	})
}
