//go:build go1.27

// The build constraint raises the language version of this file above that of the module, because jsontext needs Go
// 1.27.

// Package syntax examines JSON text: it finds where the text is not valid, or where its values end.
package syntax

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TrimBOM returns the text without the byte order mark that some senders put before UTF-8 text.
func TrimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// Fault describes where and why a JSON text is not valid. Apart from field names in Path, it contains no part of the
// text except a bracket, comma, colon or quote.
type Fault struct {
	Rule string // json, utf-8 or depth:64
	Path string // path of the value with the fault, such as entry[17].resource
	Byte int    // position of the fault, from 1
	Line int    // from 1
	What string // human-readable message
}

// String returns the message and the position in human-readable form.
func (f *Fault) String() string {
	text := f.What + " at byte " + grouped(f.Byte) + ", line " + grouped(f.Line)
	if f.Path != "" {
		text += ", " + f.Path
	}
	return text
}

// grouped formats a number with commas between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Check returns the first fault of a JSON text, or nil if the text is one JSON value in UTF-8 that is nested at most
// [MaxDepth] levels. A byte that is not valid UTF-8 takes precedence over all other faults, because the text cannot
// be interpreted reliably.
func Check(text []byte) *Fault {
	if utf8.Valid(text) && depth(text) <= MaxDepth && json.Valid(text) {
		return nil
	}
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

// invalidUTF8 returns the position of the first byte that is not valid UTF-8, or the length of the text if there is
// none.
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

// readUntilFault reads a text up to its first fault. It returns the path of the value with the fault, the position of
// the fault, and whether the nesting is too deep there.
func readUntilFault(text []byte) (path string, at int, deep bool) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for begun := false; ; begun = true {
		if begun && d.StackDepth() == 0 { // the value is complete, so anything after it is a fault
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

// startsValue reports whether the fault is in a new list element rather than after the last complete element. The new
// element begins at the position of the fault or, if the fault is inside a token, shortly before the position.
func startsValue(text []byte, at int) bool {
	before := bytes.TrimRight(text[:at], " \t\r\n")
	if at < len(text) && strings.IndexByte(",]}", text[at]) >= 0 {
		return false
	}
	return len(before) > 0 && (before[len(before)-1] == ',' || before[len(before)-1] == '[')
}

// fieldName matches strings that resemble a field name rather than a patient identifier.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)

// MaxDepth is the maximum nesting depth of JSON.
const MaxDepth = 64

// maxPathDepth is the maximum number of levels in a path.
const maxPathDepth = 12

// stackPath returns the path of the value that a decoder is reading. If next is true, the fault is in the element
// after the last one that was read. A name that does not resemble a field name appears as "?", because it may be a
// value.
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

// whatIsWrong returns a human-readable description of the fault at a position.
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

// closes reports whether the next character of a text is a closing bracket.
func closes(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '}' || text[0] == ']')
}
