package adt

import "strings"

// maxServiceWord is the longest word of the name of a service that is kept.
const maxServiceWord = 40

// Service returns the medical service of a code with its names: the code in capitals. If
// the code names no kind of place and a name does, as in "108^Obstetrics", it returns
// the first such word. The rest of a name goes no further.
func Service(code string, names ...string) string {
	if serviceWord(code) == "" {
		for _, name := range names {
			if word := serviceWord(name); word != "" {
				return word
			}
		}
	}
	return strings.ToUpper(code)
}

// serviceWord returns the first word of a text that names a kind of place; "": there is
// none.
func serviceWord(text string) string {
	b := places()
	other := func(c rune) bool { return c != '&' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') } // as area has it
	for word := range strings.FieldsFuncSeq(text[:min(len(text), maxAreaText)], other) {
		if len(word) <= maxServiceWord && b.serviceArea(word, areaTriage, areaMedical) != areaUnknown {
			return strings.ToUpper(word)
		}
	}
	return ""
}
