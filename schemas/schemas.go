// Package schemas is the wire of svc: how every record looks on Kafka and in
// Redis, and how it becomes a value of the domain again. The words:
//
//   - A [Topic] is one log with its name and the properties it is created with.
//   - A [Key] names the hospital of a record and the piece of it; [Partition] places it.
//   - A record is Avro in single-object encoding: C3 01, the CRC-64-AVRO
//     fingerprint of the schema it was written with, the binary encoding. A
//     reader therefore needs no registry.
//
// # Evolution
//
// Each record has one file per released version under avsc. A released file is
// never edited (a test pins its digest); a new version is a new file and a new
// line of [Released], and it must read the bytes of every older one. Bytes of
// an older version are resolved by the rules of Avro, then decoded as the newest.
// Bytes of a version that this build does not know are refused with an
// [UnknownSchemaError]: upgrade the readers first, then the writers.
//
// To change a record: copy its file to the next version and edit the copy. An
// added field has a default. Add the version to the table in released.go, and let
// the codec write and read it. Run the tests with -update and look at the golden
// files: no file of an older version may differ.
//
// Closed enumerations of the domain are Avro enums whose symbols stand in the
// order of the domain's numbers, so a new symbol is a new version. Open words
// (channels, code systems, stable codes) are strings. A factor is its string id,
// never its index; an id that the catalogue does not know is refused. There are
// no Avro maps, and no floats but the rates of keys and webhooks.
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
	"strconv"
)

// The bounds of what is written and of what is read; both sides refuse more.
const (
	maxRecord = 8 << 20  // bytes of a record with its header: max.message.bytes of the observations
	maxText   = 64 << 10 // bytes of one string
)

// ErrMalformed marks bytes that are not a record of the schema they claim, or
// no Avro single object at all. No retry can help.
var ErrMalformed = errors.New("malformed record")

// UnknownSchemaError reports a record written with a schema that this build does
// not know, or that is of another kind than the one asked for.
type UnknownSchemaError struct {
	Fingerprint Fingerprint
	Want        string // name of the record that was asked for
}

func (e *UnknownSchemaError) Error() string {
	return "unknown schema " + e.Fingerprint.String() + " for " + e.Want
}

// Fingerprint is the CRC-64-AVRO of the canonical form of a schema.
type Fingerprint uint64

// String returns the fingerprint as 16 hexadecimal digits, as other Avro tools
// print it; on the wire its bytes stand in the opposite order.
func (f Fingerprint) String() string {
	s := strconv.FormatUint(uint64(f), 16)
	return "0000000000000000"[len(s):] + s
}

// headerSize is the length of marker and fingerprint.
const headerSize = 10

// FingerprintOf returns the fingerprint of the schema that b was written with;
// false if b is no Avro single object.
func FingerprintOf(b []byte) (Fingerprint, bool) {
	if len(b) < headerSize || b[0] != 0xC3 || b[1] != 0x01 {
		return 0, false
	}
	return Fingerprint(binary.LittleEndian.Uint64(b[2:])), true
}

// appendHeader appends the marker and the fingerprint.
func appendHeader(dst []byte, f Fingerprint) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, 0xC3, 0x01), uint64(f))
}

// payload returns the bytes after the header of b, as the newest version of
// record; bytes of an older version are brought up to it first.
func (s *Schema) payload(b []byte) ([]byte, error) {
	f, ok := FingerprintOf(b)
	switch {
	case !ok:
		return nil, fmt.Errorf("decode %s: %w: no single-object header", s.Record, ErrMalformed)
	case len(b) > maxRecord:
		return nil, fmt.Errorf("decode %s: %w: longer than %d bytes", s.Record, ErrMalformed, maxRecord)
	case f == s.Fingerprint:
		return b[headerSize:], nil
	}
	old := find(f)
	if old == nil || old.Record != s.Record {
		return nil, &UnknownSchemaError{Fingerprint: f, Want: s.Record}
	}
	up, err := upgrade(b[headerSize:], old, s)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", s.Record, err)
	}
	return up, nil
}
