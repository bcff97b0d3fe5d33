package schemas

import (
	"encoding/binary"
	"fmt"
	"math"

	"svc/acuity/catalogue"
)

// reader decodes one record from the Avro binary encoding. It never panics and never trusts an encoded length: a list
// grows as its items are read, and a string must end within the buffer. After the first error, every read returns a
// zero value, so callers can check for an error once, at the end.
type reader struct {
	buf   []byte
	pos   int
	all   string // copy of buf whose memory the strings share; "" if each string has a separate copy
	fault string
	where int // position of the error

	reuse memory // memory from a previous observation, for reuse
}

// shared is the maximum size, in bytes, of an observation whose strings share one copy. The state retains some of the
// strings. If the strings of larger observations shared one copy, a single retained code could keep a whole bundle in
// memory.
const shared = 1 << 10

// close returns the first error, or an error if any bytes are left in the buffer.
func (r *reader) close(s *Schema) error {
	if r.fault == "" && r.pos < len(r.buf) {
		r.refuse("bytes after the end of the record")
	}
	if r.fault != "" {
		return r.error(s)
	}
	return nil
}

// error returns an error that contains the fault and its position, but never a value.
func (r *reader) error(s *Schema) error {
	return fmt.Errorf("decode %s: %w: %s at byte %d", s.Record, ErrMalformed, r.fault, headerSize+r.where)
}

// refuse records the first fault and moves to the end of the buffer, so that nothing else is read.
func (r *reader) refuse(fault string) {
	if r.fault == "" {
		r.fault, r.where = fault, r.pos
	}
	r.buf = r.buf[:r.pos]
}

// long reads an int or a long. It has a fast path for values of one byte, because most values have only one byte.
func (r *reader) long() int64 {
	b := r.buf[r.pos:]
	if len(b) > 0 && b[0] < 0x80 {
		r.pos++
		return int64(b[0]>>1) ^ -int64(b[0]&1)
	}
	var u uint64
	for i, c := range b {
		if c >= 0x80 && i < 9 {
			u |= uint64(c&0x7F) << (7 * i & 63)
			continue
		}
		if i == 9 && c > 1 {
			break
		}
		u |= uint64(c) << (7 * i & 63)
		r.pos += i + 1
		return int64(u>>1) ^ -int64(u&1)
	}
	r.refuse("number is unterminated or too long")
	return 0
}

// integer is the constraint for integer types. A uint64 is encoded as the int64 that has the same bits.
type integer interface {
	~int8 | ~uint8 | ~int32 | ~int64 | ~uint64
}

// number reads an integer, and fails if the integer does not fit into type T.
func number[T integer](r *reader) T {
	n := r.long()
	if int64(T(n)) != n {
		r.refuse("number out of range")
		return 0
	}
	return T(n)
}

func (r *reader) number() int { return int(number[int32](r)) }

// enum reads the number of a symbol. last is the greatest valid number.
func (r *reader) enum(last uint8) uint8 {
	v := r.long()
	if v < 0 || v > int64(last) {
		r.refuse("enumeration value out of range")
		return 0
	}
	return uint8(v) //nolint:gosec // v is between 0 and last
}

func (r *reader) bool() bool {
	if r.pos >= len(r.buf) {
		r.refuse("input ends within a boolean")
		return false
	}
	b := r.buf[r.pos]
	if b > 1 {
		r.refuse("boolean out of range")
		return false
	}
	r.pos++
	return b == 1
}

// span reads a length, and returns the range [from, to) of the bytes that follow.
func (r *reader) span() (from, to int) {
	n := r.long()
	if n < 0 || n > maxText || n > int64(len(r.buf)-r.pos) {
		r.refuse("text length out of range")
		return r.pos, r.pos
	}
	from = r.pos
	r.pos += int(n)
	return from, r.pos
}

func (r *reader) text() string {
	from, to := r.span()
	if r.all != "" {
		return r.all[from:to]
	}
	return string(r.buf[from:to])
}

// skip advances by n bytes, and reports whether the buffer had n bytes left.
func (r *reader) skip(n int) bool {
	if n > len(r.buf)-r.pos {
		r.refuse("input ends within a fixed value")
		return false
	}
	r.pos += n
	return true
}

// fixed reads len(into) bytes.
func (r *reader) fixed(into []byte) {
	if r.skip(len(into)) {
		copy(into, r.buf[r.pos-len(into):])
	}
}

func (r *reader) double() float64 {
	var b [8]byte
	r.fixed(b[:])
	return math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
}

// some reads the branch index for a union of null and another type, and reports whether the branch is the other type.
func (r *reader) some() bool { return r.enum(1) == 1 }

func (r *reader) factor() catalogue.Factor {
	id := r.text()
	if id == "" {
		return 0
	}
	f, ok := catalogue.FactorByID(id)
	if !ok {
		r.refuse("factor that is not in the catalogue")
	}
	return f
}

// items is the position in a list. Avro encodes a list in blocks.
type items struct {
	left int64 // unread items in the current block
	open bool  // whether another block may follow
}

func (r *reader) items() items { return items{open: true} }

// next reports whether the list has another item. A count that is greater than the number of remaining bytes is an
// error, because in every schema, an item takes at least one byte.
func (l *items) next(r *reader) bool {
	for l.left == 0 {
		if !l.open {
			return false
		}
		n := r.long()
		if n < 0 { // long form: the size of the block in bytes follows
			size := r.long()
			if size < 0 || size > int64(len(r.buf)-r.pos) {
				r.refuse("block size out of range")
			}
			n = -n // remains negative if n is the lowest int64
		}
		if n < 0 || n > int64(len(r.buf)-r.pos) {
			r.refuse("list length out of range")
			n = 0
		}
		l.left, l.open = n, n != 0
	}
	if r.fault != "" {
		return false
	}
	l.left--
	return true
}

// extend returns the list with an additional zero item. The first allocation has capacity for the items that the
// block announces, but for at most 64. After that, the list grows as items are read.
func extend[T any](list []T, l items) []T {
	if list == nil {
		list = make([]T, 0, min(l.left+1, 64))
	}
	if n := len(list); n < cap(list) {
		return list[:n+1] // this item is zero, because items are never removed
	}
	var zero T
	return append(list, zero)
}

// bytes reads a copy of binary data. Empty data is nil.
func (r *reader) bytes() []byte {
	from, to := r.span()
	if from == to {
		return nil
	}
	return append([]byte(nil), r.buf[from:to]...)
}
