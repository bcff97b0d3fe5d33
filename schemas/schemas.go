// Package schemas defines the format of every record in Kafka or Redis.
//
//   - A [Topic] is a Kafka topic: its name and properties.
//   - A [Key] identifies the hospital, or the part of a hospital, that a record is about. [Partition] returns the
//     partition of a record, which depends only on the record's hospital.
//   - A record is Avro in the wire format of a schema registry: a zero byte, four bytes with the schema id, and the
//     binary encoding. The ids are constants in the program, so a reader needs no registry. [UseRegistry] sets the
//     ids of an existing registry.
//
// # Evolution
//
// Each record has one file per released version under avsc. A released file is never edited: testdata/released.txt pins
// its digest, and -update only adds lines. A new version is a new file and a new line in [Released]. It must be able to
// read the records of every older version; schema registries call this compatibility mode BACKWARD. Records of an older
// version are resolved by Avro's rules and then decoded as the newest version. Records of an unknown version are
// refused with an [UnknownSchemaError], so upgrade readers before writers.
//
// To change a record, copy its file to the next version and edit the copy. An added field needs a default. Add the
// version to the table in released.go, and the field to the function that encodes and decodes the record. Run the
// tests with -update. The golden files of older versions must not change.
//
// Closed enumerations in the domain are Avro enums. The symbols have the order of the domain's numbers, so a new symbol
// needs a new version. Open sets (channels, code systems, stable codes) are strings. A factor is encoded by its id,
// never by its index; an id that is not in the catalogue is refused. There are no Avro maps, and no floats except the
// rates of keys and webhooks.
//
// # Nil and empty
//
// Avro has one empty list: empty and nil slices have the same encoding and decode as nil. Where the difference
// matters, the domain has a flag (see [acuity.CensusRoom]). In strings that are not valid UTF-8, U+FFFD replaces the
// invalid bytes.
package schemas

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The limits of records, for both writers and readers.
const (
	maxRecord = 8 << 20  // size of a record with its header, in bytes: max.message.bytes of the observations topic
	maxText   = 64 << 10 // length of one string, in bytes
)

// ErrMalformed means that a record does not match its schema, or does not have a schema registry header. A retry
// cannot succeed.
var ErrMalformed = errors.New("malformed record")

// UnknownSchemaError means that this release does not know the schema of a record, or that the schema belongs to a
// different kind of record.
type UnknownSchemaError struct {
	ID   SchemaID
	Want string // name of the expected record
}

func (e *UnknownSchemaError) Error() string {
	return fmt.Sprintf("unknown schema %d for %s", e.ID, e.Want)
}

// SchemaID is the id of a schema, as in a schema registry. 0 means none.
type SchemaID int32

// headerSize is the length of a record's header, which consists of a zero byte and the schema id.
const headerSize = 5

// IDOf returns the schema id in the header of b. It returns false if b does not begin with such a header.
func IDOf(b []byte) (SchemaID, bool) {
	if len(b) < headerSize || b[0] != 0 {
		return 0, false
	}
	return SchemaID(binary.BigEndian.Uint32(b[1:])), true //nolint:gosec // any 32 bits are a valid id
}

// appendHeader appends a record's header, which consists of a zero byte and the schema id.
func appendHeader(dst []byte, id SchemaID) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0), uint32(id)) //nolint:gosec // the conversion keeps the bits
}

// payload returns the bytes of b after the header, converted to the newest version of the record if necessary.
func (s *Schema) payload(b []byte) ([]byte, error) {
	id, ok := IDOf(b)
	switch {
	case !ok:
		return nil, fmt.Errorf("decode %s: %w: no schema registry header", s.Record, ErrMalformed)
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
