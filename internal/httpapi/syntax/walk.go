package syntax

import (
	"bytes"
	"encoding/json"
)

// The functions in this file read JSON that [Check] has accepted.

// AfterString returns the position after the string that begins at i.
func AfterString(text []byte, i int) int {
	for i++; ; {
		length := bytes.IndexByte(text[i:], '"')
		if length < 0 {
			return len(text)
		}
		backslashes := 0
		for backslashes < length && text[i+length-1-backslashes] == '\\' {
			backslashes++
		}
		if i += length + 1; backslashes%2 == 0 { // an odd number escapes the quote
			return i
		}
	}
}

// AfterValue returns the position after the value that begins at i.
func AfterValue(text []byte, i int) int {
	switch text[i] {
	case '"':
		return AfterString(text, i)
	case '{', '[':
		for open := 0; i < len(text); i++ {
			switch text[i] {
			case '"':
				i = AfterString(text, i) - 1
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

// AfterSpace returns the position of the first byte from i on that is not white space.
func AfterSpace(text []byte, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}

// Unquote returns the content of a string. The result shares the memory of quoted unless the string has escapes.
func Unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil // cannot happen: the text is valid JSON
	}
	return []byte(s)
}

// depth returns the deepest nesting of brackets outside of strings. The text need not be valid.
func depth(text []byte) int {
	deepest, open := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = AfterString(text, i) - 1
		case '{', '[':
			open++
			deepest = max(deepest, open)
		case '}', ']':
			open--
		}
	}
	return deepest
}
