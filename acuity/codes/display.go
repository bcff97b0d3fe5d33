package codes

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SplitWords returns the first words of a text, at most [maxWords]: runs of letters and digits, in
// lower case.
func SplitWords(text string) (words []string) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for w := range strings.FieldsFuncSeq(text, apart) {
		if words = append(words, strings.ToLower(w)); len(words) == maxWords {
			break
		}
	}
	return words
}

// MaxDisplay is the length of a display name that is kept, in characters.
const MaxDisplay = 80

// maskedRun is the number of digits from which on a number in a display name
// could identify a person.
const maskedRun = 5

// longNumber is a number of five digits or more; single points, dashes and slashes between
// digits belong to it.
var longNumber = regexp.MustCompile(`\p{Nd}(?:[./-]?\p{Nd}){4,}`)

// MaskDisplay makes a display name fit to be kept: at most 80 characters, white
// space single, control characters gone, and numbers of five digits or more,
// also when written with points, dashes or slashes (a date, a telephone number),
// replaced by "#".
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

// IsDisplay reports whether a display name is as [MaskDisplay] keeps it: short,
// printable ASCII, white space single, and not even as many digits as would be masked.
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

// CleanDisplay returns s without control characters, bytes that are no UTF-8, and
// superfluous white space. It reads no more than could ever be kept.
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
