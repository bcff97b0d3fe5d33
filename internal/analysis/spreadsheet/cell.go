// Package spreadsheet keeps text in a CSV file from being run as a formula.
package spreadsheet

import "strings"

// formulaStarts are the first characters by which spreadsheets take a cell for a formula (OWASP, CSV injection).
const formulaStarts = "=+-@\t\r"

// Escape puts an apostrophe before text that a spreadsheet would run. [Unescape] takes it off again.
//
// Text that begins with an apostrophe and such a character gets one more, so that both directions agree.
func Escape(text string) string {
	if isFormula(strings.TrimLeft(text, "'")) {
		return "'" + text
	}
	return text
}

// Unescape returns what [Escape] was given.
func Unescape(text string) string {
	if strings.HasPrefix(text, "'") && isFormula(strings.TrimLeft(text, "'")) {
		return text[1:]
	}
	return text
}

func isFormula(text string) bool {
	return text != "" && strings.IndexByte(formulaStarts, text[0]) >= 0
}
