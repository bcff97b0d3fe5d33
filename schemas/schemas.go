// Package schemas is the format of every record on Kafka or in Redis. The words:
//
//   - A [Topic] is one log with its name and the properties it is created with.
//   - A [Key] names the hospital of a record and the piece of it; [Partition] places it.
//   - A record is Avro in the wire format of a schema registry: a zero byte, four bytes with the
//     id of its schema, and the binary encoding. The ids are constants of the build, so a reader
//     needs no registry. [UseRegistry] sets the ids of an existing registry.
//
// # Evolution
//
// Each record has one file per released version under avsc. A released file is never edited:
// testdata/released.txt pins its digest, and -update only adds lines. A new version is a new file
// and a new line of [Released]. It must read the bytes of every older one: the compatibility
// BACKWARD of a schema registry. Bytes of an older version are resolved by the rules of Avro, then
// decoded as the newest. Bytes of an unknown version are refused with an [UnknownSchemaError]. So
// upgrade the readers first, then the writers.
//
// To change a record, copy its file to the next version and edit the copy. An added field has a
// default. Add the version to the table in released.go. Add the field to the function that writes
// and reads the record. Run the tests with -update. No golden file of an older version may change.
//
// Closed enumerations of the domain are Avro enums. Their symbols have the order of the numbers in
// the domain, so a new symbol is a new version. Open words (channels, code systems, stable codes)
// are strings. A factor is its string id, never its index; an id outside the catalogue is refused.
// There are no Avro maps, and no floats except the rates of keys and webhooks.
//
// # Nil and empty
//
// Avro has one empty list: an empty slice and a nil one write the same bytes,
// and both decode as nil. Where the difference matters, the domain has a flag for
// it (see [acuity.CensusRoom]). In text that is not UTF-8, U+FFFD replaces the
// invalid bytes.
package schemas

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The bounds of records. Writers and readers refuse more.
const (
	maxRecord = 8 << 20  // bytes of a record with its header: max.message.bytes of the observations
	maxText   = 64 << 10 // bytes of one string
)

// ErrMalformed marks bytes that do not fit the schema they name, or that lack the header of a
// schema registry. No retry can help.
var ErrMalformed = errors.New("malformed record")

// UnknownSchemaError reports a record whose schema this build does not know, or whose schema is
// that of another kind of record.
type UnknownSchemaError struct {
	ID   SchemaID
	Want string // name of the record that was asked for
}

func (e *UnknownSchemaError) Error() string {
	return fmt.Sprintf("unknown schema %d for %s", e.ID, e.Want)
}

// SchemaID is the id of a schema in a schema registry; 0: none.
type SchemaID int32

// headerSize is the length of the zero byte and the id.
const headerSize = 5

// IDOf returns the id of the schema that b was written with; false if b lacks the header of a
// schema registry.
func IDOf(b []byte) (SchemaID, bool) {
	if len(b) < headerSize || b[0] != 0 {
		return 0, false
	}
	return SchemaID(binary.BigEndian.Uint32(b[1:])), true //nolint:gosec // the bits of a foreign id
}

// appendHeader appends the zero byte and the id.
func appendHeader(dst []byte, id SchemaID) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0), uint32(id)) //nolint:gosec // its bits
}

// payload returns the bytes after the header of b, in the newest version of the record. Bytes of
// an older version are upgraded first.
func (s *Schema) payload(b []byte) ([]byte, error) {
	id, ok := IDOf(b)
	switch {
	case !ok:
		return nil, fmt.Errorf("decode %s: %w: no header of a schema registry", s.Record, ErrMalformed)
	case len(b) > maxRecord:
		return nil, fmt.Errorf("decode %s: %w: longer than %d bytes", s.Record, ErrMalformed, maxRecord)
	case id == s.ID:
		return b[headerSize:], nil
	}
	old := find(id)
	if old == s {
		return b[headerSize:], nil
	}
	if old == nil || old.Record != s.Record {
		return nil, &UnknownSchemaError{ID: id, Want: s.Record}
	}
	up, err := upgrade(b[headerSize:], old, s)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", s.Record, err)
	}
	return up, nil
}
