package fhir

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is the maximum nesting depth of JSON, the same as for every other endpoint.
const maxDepth = 64

// These are the syntax rules that a body can break.
const (
	ruleJSON  = "json"
	ruleUTF8  = "utf-8"
	ruleDepth = "depth:64"
)

// scanner parses JSON once, front to back, and validates all of it, including skipped values. After an error, it is
// at the end of the text and finds no further field or element.
type scanner struct {
	b     []byte
	i     int
	depth int
	first bool   // an object was just opened
	fault string // broken syntax rule
	// mistyped means that a requested field had another type and was skipped.
	mistyped bool
	// modified means that a parsed object has a modifierExtension, which may negate its fields.
	modified bool
	twice    bool // an object had a repeated field
}

func (s *scanner) fail(rule string) {
	if s.fault == "" {
		s.fault = rule
	}
	s.i = len(s.b)
}

// space moves to the next byte that is not white space and returns it, or 0 at the end.
func (s *scanner) space() byte {
	if s.i = afterSpace(s.b, s.i); s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// afterSpace returns the position of the first byte from i on that is not white space. Usually that is i, so this check
// is small enough to be inlined.
func afterSpace(b []byte, i int) int {
	if i < len(b) && b[i] <= ' ' {
		return afterBlanks(b, i)
	}
	return i
}

// These constants handle eight bytes at once, as one word.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	spaces = ' ' * ones
)

// afterBlanks is afterSpace for text that probably has white space, because indented text is mostly runs of blanks.
func afterBlanks(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case '\n', '\r', '\t', ' ':
			i++
		default:
			return i
		}
		for len(b)-i >= 8 {
			if w := binary.LittleEndian.Uint64(b[i:]) ^ spaces; w != 0 {
				i += bits.TrailingZeros64(w) >> 3
				break
			}
			i += 8
		}
	}
	return i
}

// stops finds the byte of a word at which plain text in a string ends. That is a quote, a backslash, a control
// character, or a byte that is not ASCII. It sets the high bit of the lowest such byte. Higher marks have no meaning,
// because the subtraction borrows from the byte above. Flipping the bit of value 2 turns the quote into 32 and leaves
// control characters below 32. No other character becomes less than 33, so one subtraction finds both.
func stops(w uint64) uint64 {
	return (((w ^ 2*ones) - ('"'^2+1)*ones) | ((w ^ '\\'*ones) - ones) | w) & highs
}

// afterString returns the position after the string whose content begins at i, and
// whether the string has an escape. On a fault it returns -1 and the broken rule.
func afterString(b []byte, i int) (end int, escaped bool, rule string) {
	for {
		if len(b)-i >= 8 {
			stop := stops(binary.LittleEndian.Uint64(b[i:]))
			if stop == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(stop) >> 3
		} else if i >= len(b) {
			return -1, false, ruleJSON
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped, ""
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return -1, false, ruleJSON
			}
			escaped = true
			i += n
		case c < ' ':
			return -1, false, ruleJSON
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return -1, false, ruleUTF8
			}
			i += size
		}
	}
}

// escape returns the length of the escape at the start of b; 0 if there is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// afterNumber returns the position after the number that begins at i; -1 if there is
// none.
func afterNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	from := i
	if i = afterDigits(b, i); i == from || b[from] == '0' && i > from+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = afterDigits(b, from); i == from {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = afterDigits(b, from); i == from {
			return -1
		}
	}
	return i
}

func afterDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// afterLiteral returns the position after true, false or null at i; -1 if there is none.
func afterLiteral(b []byte, i int) int {
	word := "null"
	switch b[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// enter opens the object or array whose bracket is next.
func (s *scanner) enter() bool {
	if s.depth++; s.depth > maxDepth {
		s.fail(ruleDepth)
		return false
	}
	s.i++
	s.first = true
	return true
}

// object opens the next object and reports whether it has fields to parse. Null counts as absent. Any other value is
// recorded as mistyped.
func (s *scanner) object() bool {
	switch s.space() {
	case '{':
		return s.enter()
	case 'n':
		s.skip()
	default:
		s.skipOther()
	}
	return false
}

// key returns the name of the next field of the open object, and moves to its value. At
// the end it closes the object.
func (s *scanner) key() ([]byte, bool) {
	switch c := s.space(); {
	case c == '}':
		s.i++
		s.depth--
		s.first = false
		return nil, false
	case s.first:
		s.first = false
	case c == ',':
		s.i++
	default:
		s.fail(ruleJSON)
		return nil, false
	}
	from := afterSpace(s.b, s.i)
	end, next, escaped, rule := afterKey(s.b, from)
	if end < 0 {
		s.fail(rule)
		return nil, false
	}
	s.i = next
	if escaped {
		return unescape(s.b[from:end]), true
	}
	return s.b[from+1 : end-1], true
}

// fields opens the next object as object does, and iterates over the names of its fields. The loop body parses the
// value.
func (s *scanner) fields() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		if !s.object() {
			return
		}
		var space [8][]byte
		names, seen := space[:0], uint64(0)
		for key, ok := s.key(); ok; key, ok = s.key() {
			if string(key) == modifierExtension && s.isExtended() {
				s.modified = true
			}
			if mark := markOf(key); seen&mark != 0 && holds(names, key) {
				s.twice = true
			} else {
				seen |= mark
			}
			names = append(names, key)
			if !yield(key) {
				return
			}
		}
	}
}

// list is an array that is being read.
type list struct{ open, one bool }

// list opens the next array. Any other value counts as its only element, because senders that convert from XML write
// single elements that way.
func (s *scanner) list() list {
	switch s.space() {
	case '[':
		return list{open: s.enter()}
	case 'n':
		s.skip()
		return list{}
	}
	return list{one: true}
}

// next reports whether there is another element, and moves to it. At the end it closes
// the array.
func (s *scanner) next(l *list) bool {
	if l.one {
		l.one = false
		return s.fault == ""
	}
	if !l.open {
		return false
	}
	switch c := s.space(); {
	case c == ']':
		s.i++
		s.depth--
		s.first, l.open = false, false
		return false
	case s.first:
		s.first = false
	case c == ',':
		s.i++
	default:
		s.fail(ruleJSON)
	}
	return s.fault == ""
}

// span is the position of a string's content or a number in the body. The highest bit of to means that it has
// escapes.
type span struct{ from, to uint32 }

const escapes = 1 << 31

func (p span) empty() bool { return p.from == p.to }

// text reads a string; the span is empty for null or another type.
func (s *scanner) text() span {
	switch s.space() {
	case '"':
		from := s.i + 1
		end, escaped, rule := afterString(s.b, from)
		if end < 0 {
			s.fail(rule)
			return span{}
		}
		s.i = end
		p := span{uint32(from), uint32(end - 1)} //nolint:gosec // Decode bounds the body
		if escaped {
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

// number reads a number as written, even within a string.
func (s *scanner) number() span {
	c := s.space()
	if c != '-' && (c < '0' || c > '9') {
		return s.text()
	}
	from := s.i
	if s.i = afterNumber(s.b, from); s.i < 0 {
		s.fail(ruleJSON)
		return span{}
	}
	return span{uint32(from), uint32(s.i)} //nolint:gosec // Decode bounds the body
}

// flag parses true or false.
func (s *scanner) flag() (value, said bool) {
	c := s.space()
	switch c {
	case 't', 'f', 'n':
		s.skip()
		return c == 't', c != 'n' && s.fault == ""
	}
	s.skipOther()
	return false, false
}

// skipOther skips a value whose type is not the requested one.
func (s *scanner) skipOther() {
	s.mistyped = true
	s.skip()
}
