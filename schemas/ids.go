package schemas

import "sync/atomic"

// registration maps the released schemas to their ids in a schema registry, and back.
type registration struct {
	ids     map[*Schema]SchemaID
	schemas map[SchemaID]*Schema
}

var registered atomic.Pointer[registration]

// UseRegistry sets the ids of a schema registry, by the index of [Released], for records that are
// written. The ids of the build are still read. Call it before the first record is written or
// read.
func UseRegistry(ids []SchemaID) {
	r := &registration{map[*Schema]SchemaID{}, map[SchemaID]*Schema{}}
	for i, id := range ids {
		r.ids[released[i]], r.schemas[id] = id, released[i]
	}
	registered.Store(r)
}

// written returns the id that records of the schema are written with.
func (s *Schema) written() SchemaID {
	if r := registered.Load(); r != nil {
		if id, ok := r.ids[s]; ok {
			return id
		}
	}
	return s.ID
}

// Portable returns a record with the id of its schema in the build, which is the same in all
// installations. Without a registry, or if b is no record, it returns b.
func Portable(b []byte) []byte { return renamed(b, func(s *Schema) SchemaID { return s.ID }) }

// Registered returns a record with the id that this installation writes for its schema.
func Registered(b []byte) []byte { return renamed(b, (*Schema).written) }

// renamed returns a record with another id for its schema, in new memory if the ids differ.
func renamed(b []byte, idOf func(*Schema) SchemaID) []byte {
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

// find returns the released version with an id, of the build or of the registry, or nil.
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
