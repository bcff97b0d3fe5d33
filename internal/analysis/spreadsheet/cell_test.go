package spreadsheet_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"svc/internal/analysis/spreadsheet"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"LDR 4":                "LDR 4",
		"=HYPERLINK(\"http\")": "'=HYPERLINK(\"http\")",
		"+1":                   "'+1",
		"-1":                   "'-1",
		"@SUM(A1)":             "'@SUM(A1)",
		"\tx":                  "'\tx",
		"\rx":                  "'\rx",
		"\n=1":                 "'\n=1",
		"＝1":                   "'＝1",
		"＋1":                   "'＋1",
		"－1":                   "'－1",
		"＠SUM(A1)":             "'＠SUM(A1)",
		"'=1":                  "''=1",
		"'quoted'":             "'quoted'",
		"a=1":                  "a=1",
		"''":                   "''",
	} {
		if got := spreadsheet.Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

// Unescape restores any text that Escape has escaped, and an escaped text never begins like a formula.
func TestEscapeComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`['=+@\t\r\n＝＠-]{0,4}[a-z=]{0,3}`)).Draw(t, "text")
		escaped := spreadsheet.Escape(text)
		if got := spreadsheet.Unescape(escaped); got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
		if first, _ := utf8.DecodeRuneInString(escaped); escaped != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
			t.Fatalf("%q is a formula", escaped)
		}
	})
}
