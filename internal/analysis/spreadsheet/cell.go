// Package spreadsheet exchanges CSV files with spreadsheets. It reads what they write, and escapes
// text that they would run as a formula.
package spreadsheet

import "strings"

// formulaStarts are the first characters that make a spreadsheet read a cell as a formula
// (OWASP, CSV injection).
const formulaStarts = "=+-@\t\r"

// Escape puts an apostrophe before text that a spreadsheet would run. [Unescape] removes it.
//
// Text that begins with apostrophes and such a character gets one more, so that Unescape
// returns every text.
func Escape(text string) string {
	if isFormula(strings.TrimLeft(text, "'")) {
		return "'" + text
	}
	return text
}

// Unescape returns the text that [Escape] was given.
func Unescape(text string) string {
	if strings.HasPrefix(text, "'") && isFormula(strings.TrimLeft(text, "'")) {
		return text[1:]
	}
	return text
}

func isFormula(text string) bool {
	return text != "" && strings.IndexByte(formulaStarts, text[0]) >= 0
}
