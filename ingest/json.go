package ingest

import (
	"bytes"
	"encoding/json"

	"svc/internal/httpapi/syntax"
)

// afterValue returns the position after the JSON value that begins at i. The text must be
// valid JSON.
func afterValue(text []byte, i int) int {
	switch text[i] {
	case '"':
		return syntax.AfterString(text, i)
	case '{', '[':
		for open := 0; i < len(text); i++ {
			switch text[i] {
			case '"':
				i = syntax.AfterString(text, i) - 1
			case '{', '[':
				open++
			case '}', ']':
				if open--; open == 0 {
					return i + 1
				}
			}
		}
		return len(text)
	default:
		for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && !isSpace(text[i]) {
			i++
		}
		return i
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skipSpace(text []byte, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}

// value returns the text of the JSON value that begins at or after i, and the position
// after it.
func value(text []byte, i int) (raw []byte, after int) {
	i = skipSpace(text, i)
	after = afterValue(text, i)
	return text[i:after], after
}

// unquote returns the text of a JSON string. It shares the memory of raw unless the
// string has escapes.
func unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil // cannot happen: the text is valid JSON
	}
	return []byte(s)
}

// member is one field of a JSON object.
type member struct {
	name []byte
	raw  []byte
	seen bool // a caller requested the field
}

// members appends the fields of an object in order. A null field counts as missing, but remains in the list, so that
// close does not warn of it.
func members(all []member, object []byte) []member {
	for i := skipSpace(object, 1); object[i] != '}'; {
		var m member
		var raw []byte
		raw, i = value(object, i)
		m.name = unquote(raw)
		i = skipSpace(object, i) + 1 // the colon
		m.raw, i = value(object, i)
		all = append(all, m)
		if i = skipSpace(object, i); object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
	return all
}

// elements returns the elements of an array, up to the given maximum. complete is false if there are more.
func elements(array []byte, most int) (all [][]byte, complete bool) {
	for i := skipSpace(array, 1); array[i] != ']'; {
		if len(all) == most {
			return all, false
		}
		var raw []byte
		raw, i = value(array, i)
		all = append(all, raw)
		if i = skipSpace(array, i); array[i] == ',' {
			i = skipSpace(array, i+1)
		}
	}
	return all, true
}
