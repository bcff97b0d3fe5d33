package schemas

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"svc/acuity/catalogue"
)

// writer appends the Avro binary encoding of one record to a buffer. It writes the fields in the order of the schema,
// without reflection, and allocates only the buffer. A test compares the bytes with the output of the Avro library.
//
// After the first error, further writes are discarded.
type writer struct {
	buf   []byte
	start int
	fault string
}

// begin starts a record of schema s: it returns a writer for dst with the record's header appended.
func begin(dst []byte, s *Schema) writer {
	return writer{buf: appendHeader(dst, s.written()), start: len(dst)}
}

// end returns the buffer with the complete record. If there was an error, it returns the original dst and the error.
func (w *writer) end(s *Schema) ([]byte, error) {
	if len(w.buf)-w.start > maxRecord {
		w.refuse("record too long")
	}
	if w.fault != "" {
		return w.buf[:w.start], fmt.Errorf("encode %s: %s", s.Record, w.fault)
	}
	return w.buf, nil
}

func (w *writer) refuse(fault string) {
	if w.fault == "" {
		w.fault = fault
	}
}

// long writes an int or a long in zigzag encoding, in groups of seven bits, low bits first.
func (w *writer) long(v int64) {
	u := uint64(v)<<1 ^ uint64(v>>63) //nolint:gosec // the zigzag encoding operates on the bits
	for u >= 0x80 {
		w.buf = append(w.buf, byte(u)|0x80)
		u >>= 7
	}
	w.buf = append(w.buf, byte(u))
}

// enum writes the number of a symbol. last is the greatest valid number.
func (w *writer) enum(v, last uint8) {
	if v > last {
		w.refuse("enumeration value out of range")
	}
	w.long(int64(v))
}

func (w *writer) bool(b bool) {
	var v byte
	if b {
		v = 1
	}
	w.buf = append(w.buf, v)
}

func (w *writer) text(s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxText {
		w.refuse("text too long")
		return
	}
	w.long(int64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *writer) double(f float64) {
	w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(f))
}

func (w *writer) fixed(b []byte) { w.buf = append(w.buf, b...) }

// items starts a list of n items, which are all in one block. done ends the list.
func (w *writer) items(n int) {
	if n > 0 {
		w.long(int64(n))
	}
}

// done ends a list.
func (w *writer) done() { w.buf = append(w.buf, 0) }

// some writes the branch index for a union of null and another type. It returns present.
func (w *writer) some(present bool) bool {
	var branch byte
	if present {
		branch = 2 // the zigzag encoding of 1
	}
	w.buf = append(w.buf, branch)
	return present
}

// factor writes a factor by its id. The zero factor is written as the empty string.
func (w *writer) factor(f catalogue.Factor) {
	id := f.ID()
	if id == "" && f != 0 {
		w.refuse("factor number out of range")
	}
	w.text(id)
}

// number writes an int. The int must fit into 32 bits.
func (w *writer) number(n int) {
	if int(int32(n)) != n { //nolint:gosec // the comparison detects an overflow
		w.refuse("number out of range")
		return
	}
	w.long(int64(n))
}

// bytes writes binary data.
func (w *writer) bytes(b []byte) {
	if len(b) > maxText {
		w.refuse("bytes too long")
		return
	}
	w.long(int64(len(b)))
	w.fixed(b)
}
