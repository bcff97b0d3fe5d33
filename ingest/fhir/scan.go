package fhir

import (
	"bytes"
	"iter"

	"svc/internal/httpapi/syntax"
)

// scanner reads valid JSON from front to back. After stop, it is at the end of the text and does not find any further
// field or element.
type scanner struct {
	b       []byte
	i       int
	stopped bool
	// mistyped means that a requested field had the wrong type and was skipped.
	mistyped bool
	// modified means that a parsed object has a modifierExtension, which may negate its fields.
	modified bool
	twice    bool // whether an object had the same field twice
}

func (s *scanner) stop() { s.stopped, s.i = true, len(s.b) }

// space moves to the next byte that is not white space and returns it, or 0 at the end.
func (s *scanner) space() byte {
	if s.i = syntax.AfterSpace(s.b, s.i); s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// skip moves past the next value.
func (s *scanner) skip() {
	if s.space() != 0 {
		s.i = syntax.AfterValue(s.b, s.i)
	}
}

// null skips the next value if it is null, and reports whether it is.
func (s *scanner) null() bool {
	if s.space() != 'n' {
		return false
	}
	s.skip()
	return true
}

// object opens the next object and reports whether it has fields to parse. Null is treated as absent; any other value
// is recorded as mistyped.
func (s *scanner) object() bool {
	switch {
	case s.space() == '{':
		s.i++
		return true
	case !s.null():
		s.skipOther()
	}
	return false
}

// key returns the name of the next field of the open object, and moves to the field's value. At the end of the
// object, key closes the object and returns false.
func (s *scanner) key() ([]byte, bool) {
	switch s.space() {
	case '}':
		s.i++
		return nil, false
	case 0:
		return nil, false
	case ',':
		s.i++
		s.space()
	}
	from := s.i
	s.i = syntax.AfterString(s.b, from)
	quoted := s.b[from:s.i]
	s.space()
	s.i++ // skip the colon
	return syntax.Unquote(quoted), true
}

// fields opens the next object, as object does, and iterates over the names of its fields. The loop body parses the
// value.
func (s *scanner) fields() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		if !s.object() {
			return
		}
		var seen nameSet
		for key, ok := s.key(); ok; key, ok = s.key() {
			if string(key) == modifierExtension && s.isExtended() {
				s.modified = true
			}
			if !seen.add(key) {
				s.twice = true
			}
			if !yield(key) {
				return
			}
		}
	}
}

// nameSet is the set of an object's field names. It stores the first 16 in an array, which is enough for most
// objects, and the others in a map.
type nameSet struct {
	few  [16][]byte
	n    int // number of names in few
	more map[string]bool
}

// add adds a name and reports whether it is new.
func (s *nameSet) add(name []byte) bool {
	for _, one := range s.few[:s.n] {
		if bytes.Equal(one, name) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	if s.more == nil {
		s.more = map[string]bool{}
	}
	known := s.more[string(name)]
	s.more[string(name)] = true
	return !known
}

// list is an array that is being read.
type list struct{ open, one bool }

// list opens the next array. Null is treated as an empty list, and any other value as a list of one element, because
// senders that convert from XML write single elements that way.
func (s *scanner) list() list {
	switch s.space() {
	case '[':
		s.i++
		return list{open: true}
	case 'n':
		s.skip()
		return list{}
	}
	return list{one: true}
}

// next reports whether the list has a next element, and moves to that element. At the end of an array, next closes
// the array.
func (s *scanner) next(l *list) bool {
	if l.one {
		l.one = false
		return !s.stopped
	}
	if !l.open {
		return false
	}
	switch s.space() {
	case ']':
		s.i++
		l.open = false
		return false
	case ',':
		s.i++
	}
	return !s.stopped
}

// span is the position [from, to) of a number, or of a string's content, in the body. If the string contains escapes,
// the highest bit of the end position is set.
type span struct{ from, to uint32 }

const escapes = 1 << 31

func (p span) empty() bool { return p.from == p.to }

// text reads a string. For null or any other type, it returns an empty span.
func (s *scanner) text() span {
	switch s.space() {
	case '"':
		from := s.i
		s.i = syntax.AfterString(s.b, from)
		p := span{uint32(from + 1), uint32(s.i - 1)} //nolint:gosec // Decode bounds the body
		if bytes.IndexByte(s.b[from:s.i], '\\') >= 0 {
			p.to |= escapes
		}
		return p
	case 'n':
		s.skip()
	default:
		s.skipOther()
	}
	return span{}
}

// number reads a number without converting it. The number may also be the content of a string.
func (s *scanner) number() span {
	c := s.space()
	if c != '-' && (c < '0' || c > '9') {
		return s.text()
	}
	from := s.i
	s.skip()
	return span{uint32(from), uint32(s.i)} //nolint:gosec // Decode bounds the body
}

// flag reads a boolean, and reports whether the value is one.
func (s *scanner) flag() (value, said bool) {
	c := s.space()
	switch c {
	case 't', 'f', 'n':
		s.skip()
		return c == 't', c != 'n'
	}
	s.skipOther()
	return false, false
}

// skipOther skips a value whose type is not the requested one.
func (s *scanner) skipOther() {
	s.mistyped = true
	s.skip()
}
