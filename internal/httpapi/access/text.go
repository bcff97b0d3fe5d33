package access

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// HasControls reports whether a string contains line breaks or other control characters, marks that change the text
// direction, or invalid UTF-8. Such a string could be used to forge a message header, a line in a list, or a name.
func HasControls(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsControl(c) || unicode.In(c, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}

// MostName is the maximum length of the name of a hospital or a key, in characters.
const MostName = 100

// NameFits reports whether the name of a hospital or a key has at most MostName characters and no control characters,
// such as line breaks.
func NameFits(name string) bool {
	return utf8.RuneCountInString(name) <= MostName && !HasControls(name)
}
