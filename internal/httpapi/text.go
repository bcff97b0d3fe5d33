package httpapi

import (
	"strings"
	"unicode"
)

// Blank reports whether a text has only white space and control characters.
func Blank(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsSpace(c) && !unicode.IsControl(c) })
}

// Controls reports whether a text has line breaks or other ASCII control characters.
// Those could forge a header of a message, or a line of a list.
func Controls(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f })
}
