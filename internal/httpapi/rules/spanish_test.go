package rules

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

// codeInSentence matches the words that a sentence must keep in every language: limits, and the names of segments,
// fields, codes and elements.
var codeInSentence = regexp.MustCompile(`[A-Z][A-Z0-9]+(-[0-9.]+)?|[a-z]+[A-Z][A-Za-z]*|[0-9][0-9,]*`)

// TestSpanish: every sentence has a Spanish translation that contains the same segments, fields and
// limits.
func TestSpanish(t *testing.T) {
	want := maps.Clone(statuses)
	for i := range Warnings {
		want[Warnings[i].Code] = Warnings[i].Message
	}
	for code, english := range want {
		text := SpanishMessage(code)
		if text == "" {
			t.Errorf("%s has no Spanish sentence", code)
			continue
		}
		if text == english || text[len(text)-1] != '.' {
			t.Errorf("%s: %q", code, text)
		}
		for _, name := range codeInSentence.FindAllString(english, -1) {
			if found := codeInSentence.FindAllString(text, -1); !slices.Contains(found, name) && !sameInWords[name] {
				t.Errorf("%s: %q does not name %s", code, text, name)
			}
		}
	}
	for code := range spanish {
		if want[code] == "" {
			t.Errorf("%s has no English sentence", code)
		}
	}
}

// sameInWords are names that a Spanish sentence spells out.
var sameInWords = map[string]bool{"MR": true, "ID": true}
