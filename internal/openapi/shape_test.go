package openapi

import (
	"regexp"
	"testing"
	"unicode"
	"unicode/utf8"

	"svc/internal/httpapi/access"
)

// TestLinesMatchTheirPattern: the pattern of a line, in the document, excludes the same characters as the check of a
// request.
func TestLinesMatchTheirPattern(t *testing.T) {
	line := regexp.MustCompile(regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(patterns["line"], `\x{$1}`))
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if utf8.ValidRune(c) && line.MatchString(string(c)) == access.HasControls(string(c)) {
			t.Errorf("%U matches the pattern: %t, is refused: %t", c, line.MatchString(string(c)), access.HasControls(string(c)))
		}
	}
}
