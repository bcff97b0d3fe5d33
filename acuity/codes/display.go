package codes

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SplitWords returns the first [maxWords] words of text in lower case. A word is a run of letters and digits.
func SplitWords(text string) (words []string) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for w := range strings.FieldsFuncSeq(text, apart) {
		if words = append(words, strings.ToLower(w)); len(words) == maxWords {
			break
		}
	}
	return words
}

// MaxDisplay is the maximum length of a stored display name, in characters.
const MaxDisplay = 80

// maskedRun is the length of the shortest run of digits that is masked in a display name. A number of that length could
// identify a person.
const maskedRun = 5

// longNumber matches a number of at least five digits, in which single dots, dashes and slashes may separate digits.
var longNumber = regexp.MustCompile(`\p{Nd}(?:[./-]?\p{Nd}){4,}`)

// MaskDisplay returns a display name that is safe to store: at most 80 characters, without control characters or
// repeated spaces. Numbers of five digits or more, including dates and telephone numbers written with dots, dashes or
// slashes, become "#".
func MaskDisplay(s string) string {
	if IsDisplay(s) {
		return s
	}
	masked, count := longNumber.ReplaceAllString(CleanDisplay(s), "#"), 0
	for i := range masked {
		if count == MaxDisplay {
			return strings.TrimSpace(masked[:i])
		}
		count++
	}
	return masked
}

// IsDisplay reports whether s is short printable ASCII with single spaces and fewer than five digits in total.
// [MaskDisplay] returns such a string unchanged, without searching it for long numbers.
func IsDisplay[Text string | []byte](s Text) bool {
	if len(s) > MaxDisplay {
		return false
	}
	digits, space := 0, true
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~' || c == ' ' && space:
			return false
		case isDigit(c):
			digits++
		}
		space = s[i] == ' '
	}
	return digits < maskedRun && (len(s) == 0 || !space)
}

// CleanDisplay returns s without control characters, invalid UTF-8 or repeated spaces. It reads only the first
// 16·MaxDisplay bytes of s.
func CleanDisplay(s string) string {
	s = s[:min(len(s), 16*MaxDisplay)]
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
		case r == utf8.RuneError || !unicode.IsPrint(r):
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}
