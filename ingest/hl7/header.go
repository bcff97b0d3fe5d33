package hl7

import (
	"bytes"
	"errors"
)

// ErrNoHeader means that the text is not an HL7 message: it does not begin with MSH, or MSH-1 or MSH-2 is unusable.
// In the latter case, the error is a [HeaderError].
var ErrNoHeader = errors.New("no usable MSH segment")

// HeaderError is the error for a message that begins with MSH but has an unusable MSH-1 or MSH-2. It matches
// [ErrNoHeader].
type HeaderError struct {
	Reason    string // one of the constants below, such as "encoding_short"
	ControlID string // MSH-10, or "" if it cannot be read
}

// Error implements [error].
func (e *HeaderError) Error() string { return ErrNoHeader.Error() + ": " + e.Reason }

// Is reports whether target is [ErrNoHeader].
func (*HeaderError) Is(target error) bool { return target == ErrNoHeader }

// Fault returns why the message is refused: MSH-2 does not contain valid encoding characters.
func (e *HeaderError) Fault() *Fault {
	return &Fault{Code: AE, Condition: 102, Segment: "MSH", Sequence: 1, Field: 2, Reason: e.Reason}
}

// Values of [HeaderError.Reason].
const (
	reasonEscaped  = "encoding_escaped"  // escaped for HTML or XML: &amp; instead of &
	reasonShort    = "encoding_short"    // fewer than three characters
	reasonLong     = "encoding_long"     // more than five characters
	reasonRepeated = "encoding_repeated" // a character that is repeated or equal to MSH-1
	reasonInvalid  = "encoding_invalid"  // a letter, a digit or a character outside printable ASCII
)

// headerError returns the error for a header that cannot be used.
func (m *Message) headerError(reason string) error {
	if len(m.raw) < 4 || string(m.raw[:3]) != "MSH" || m.raw[3] <= ' ' {
		return ErrNoHeader
	}
	line := m.raw
	if end := bytes.IndexAny(line, terminators); end >= 0 {
		line = line[:end]
	}
	// Without delimiters, the character set in MSH-18 may be unreadable, so only an ASCII id is repeated.
	id := part(line, line[3], 10)
	if len(id) > MaxField || !isASCII(id) || isBlank(id) {
		id = nil
	}
	return &HeaderError{Reason: reason, ControlID: string(id)}
}

// delimiters reads MSH-1, which is one character, and MSH-2, which has three to five. All these characters must
// differ, and must be printable ASCII other than letters and digits. A space after the component separator stands in
// for a delimiter that the sender does not use. delimiters returns the reason why the characters cannot be used, or
// "".
func (m *Message) delimiters() (reason string) {
	raw := m.raw
	if bytes.HasPrefix(raw, usualHeader) { // the usual delimiters need no further check
		m.separator, m.component, m.repetition, m.escape, m.subcomponent = '|', '^', '~', '\\', '&'
		m.encoding = 4
		return ""
	}
	if len(raw) < 4 || string(raw[:3]) != "MSH" {
		return reasonInvalid
	}
	m.separator = raw[3]
	chars := raw[4:]
	n := bytes.IndexByte(chars, m.separator)
	if end := bytes.IndexAny(chars, terminators); n < 0 || end >= 0 && end < n {
		n = len(chars)
		if end >= 0 {
			n = end
		}
	}
	switch {
	case bytes.Contains(chars[:n], []byte("&amp")), bytes.Contains(chars[:n], []byte("&#3")), bytes.Contains(chars[:n], []byte("&#x")):
		return reasonEscaped
	case n < 3:
		return reasonShort
	case n > 5:
		return reasonLong
	}
	m.encoding = n
	all := raw[3 : 4+n]
	for i, c := range all {
		switch {
		case c < ' ', c == ' ' && i < 2, c > '~', isDigit(c), isLetter(c):
			return reasonInvalid
		case bytes.IndexByte(all[:i], c) >= 0:
			return reasonRepeated
		}
	}
	m.component, m.repetition, m.escape = chars[0], used(chars[1]), used(chars[2])
	if n > 3 {
		m.subcomponent = used(chars[3])
	}
	return ""
}

// used returns a delimiter, or 0 if it is a space: a space cannot be a delimiter, because text is full of spaces.
func used(c byte) byte {
	if c == ' ' {
		return 0
	}
	return c
}

var usualHeader = []byte(`MSH|^~\&|`)
