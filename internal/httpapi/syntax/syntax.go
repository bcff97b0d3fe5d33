//go:build go1.27

// The constraint raises the language of this file to that of the toolchain, which has jsontext.

// Package syntax finds the place at which a text is no JSON.
package syntax

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TrimBOM returns a text without the byte order mark that some senders put before UTF-8.
func TrimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// Fault says where and why a text is no JSON. It holds nothing of the text but one
// bracket, comma, colon or quote.
type Fault struct {
	Rule string // json, utf-8 or depth:64
	Path string // the value in which the fault is, as entry[17].resource
	Byte int    // position of the fault, from 1
	Line int    // from 1
	What string // for a person
}

// String says where and why, for a person.
func (f *Fault) String() string {
	text := f.What + " at byte " + grouped(f.Byte) + ", line " + grouped(f.Line)
	if f.Path != "" {
		text += ", " + f.Path
	}
	return text
}

// grouped writes a number with a comma between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Find returns the first fault of a text that is no JSON. A fault of UTF-8 goes
// before all others, because nothing after it can be trusted.
func Find(text []byte) *Fault {
	if at := invalidUTF8(text); at < len(text) {
		path, _, _ := readUntilFault(text[:at])
		return faultAt(text, at, path, "utf-8", "a byte that is not valid UTF-8")
	}
	path, at, deep := readUntilFault(text)
	if deep {
		return faultAt(text, at, path, "depth:"+strconv.Itoa(MaxDepth), fmt.Sprintf("more than %d nested objects and lists", MaxDepth))
	}
	return faultAt(text, at, path, "json", whatIsWrong(text, at))
}

func faultAt(text []byte, at int, path, rule, what string) *Fault {
	return &Fault{Rule: rule, Path: path, Byte: at + 1, Line: 1 + bytes.Count(text[:at], []byte{'\n'}), What: what}
}

// invalidUTF8 returns the position of the first byte that is no UTF-8; the length of the
// text if there is none.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// readUntilFault reads a text up to its first fault. It returns the path of the value in
// which that is, its position, and whether the text is nested too deep there.
func readUntilFault(text []byte) (path string, at int, deep bool) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for begun := false; ; begun = true {
		if begun && d.StackDepth() == 0 { // the value is complete, so anything more is too much
			at = int(d.InputOffset())
			return "", at + len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\r\n")), false
		}
		_, err := d.ReadToken()
		if err == nil && d.StackDepth() <= MaxDepth {
			continue
		}
		if err == nil {
			return stackPath(d, false), int(d.InputOffset()) - 1, true
		}
		at = len(text)
		if fault, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			at = min(int(fault.ByteOffset), len(text))
		}
		return stackPath(d, startsValue(text, at)), at, false
	}
}

// startsValue reports whether the element of a list would begin where the fault is, or
// before it in one word: then the fault is in that element, and not after the last one.
func startsValue(text []byte, at int) bool {
	before := bytes.TrimRight(text[:at], " \t\r\n")
	if at < len(text) && strings.IndexByte(",]}", text[at]) >= 0 {
		return false
	}
	return len(before) > 0 && (before[len(before)-1] == ',' || before[len(before)-1] == '[')
}

// fieldName matches what looks like the name of a field, and not like a number of somebody.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)

// MaxDepth is how deep JSON may be nested.
const MaxDepth = 64

// maxPathDepth is how many levels a path has at most.
const maxPathDepth = 12

// stackPath returns the path of the open value of a decoder. next says that the fault is in
// the element after those that were read. A name that looks like no name of a field is left
// out, because it may be a value.
func stackPath(d *jsontext.Decoder, next bool) string {
	var path strings.Builder
	tokens := []string{}
	for t := range d.StackPointer().Tokens() {
		tokens = append(tokens, t)
	}
	for i := 1; i <= min(d.StackDepth(), maxPathDepth); i++ {
		kind, length := d.StackIndex(i)
		switch {
		case kind == '[':
			n := int(length) - 1
			if i == d.StackDepth() && next {
				n++
			}
			if n >= 0 {
				path.WriteString("[" + strconv.Itoa(n) + "]")
			}
		case i <= len(tokens) && length > 0:
			name := tokens[i-1]
			if !fieldName.MatchString(name) {
				name = "?"
			}
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(name)
		}
	}
	return path.String()
}

// whatIsWrong describes the fault at a position for a person.
func whatIsWrong(text []byte, at int) string {
	if at >= len(text) {
		if len(bytes.TrimSpace(text)) == 0 {
			return "nothing was sent: the text is empty"
		}
		return "the text ends before its last bracket or quote is closed"
	}
	c := text[at]
	before := bytes.TrimRight(text[:at], " \t\r\n")
	var last byte
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	switch {
	case c < ' ' && c != '\t' && c != '\n' && c != '\r':
		return "a control character"
	case c == '\\':
		return "an escape sequence that JSON does not have"
	case c == ',' && closes(text[at+1:]):
		return "a comma with nothing after it"
	case strings.IndexByte("{}[]:,\"", c) >= 0:
		return "unexpected `" + string(c) + "`"
	case c == '\'':
		return "a single quote where JSON requires double quotes"
	case c <= ' ':
		return "a line break or tab inside a string"
	case isDigit(c) && last == '0':
		return "a number with a leading zero"
	case isDigit(c) || c == '-' || c == '.' || c == '+':
		return "an unexpected number"
	case c == '/' || c == '#':
		return "a comment, which JSON does not allow,"
	default:
		return "an unexpected word or character"
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// closes reports whether a text goes on with a closing bracket.
func closes(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '}' || text[0] == ']')
}

// AfterString returns the position after the JSON string that begins at i.
func AfterString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
