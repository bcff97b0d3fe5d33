package fhir

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/internal/httpapi/syntax"
)

// valid reports whether a body is JSON that every endpoint accepts.
func valid(body []byte) bool {
	return utf8.Valid(body) && json.Valid(body) && nesting(body) <= syntax.MaxDepth
}

// nesting returns the nesting depth of valid JSON.
func nesting(body []byte) (deepest int) {
	d := json.NewDecoder(strings.NewReader(string(body)))
	for open := 0; ; {
		t, err := d.Token()
		if err != nil {
			return deepest
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			open++
			deepest = max(deepest, open)
		case json.Delim('}'), json.Delim(']'):
			open--
		}
	}
}

// skips reports whether skip moves past the whole text.
func skips(body []byte) bool {
	s := scanner{b: body}
	s.skip()
	return s.space() == 0 && s.i == len(body)
}

// walk reads a value of unknown type with the scanner methods that the decoder uses.
func (s *scanner) walk(level int) {
	switch c := s.space(); {
	case c == '{' && s.object():
		for _, ok := s.key(); ok; _, ok = s.key() {
			s.walk(level + 1)
		}
	case c == '[':
		for l := s.list(); s.next(&l); {
			s.walk(level + 1)
		}
	case c == '"':
		s.text()
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	default:
		s.flag()
	}
}

// walks reports whether walk moves past the whole text.
func walks(body []byte) bool {
	s := scanner{b: body}
	s.walk(0)
	return s.space() == 0 && s.i == len(body)
}

var texts = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1.5e-7`, `""`, ` [ ] `, "\n\t\r {\n \"a\" : 1 }\n", `{"a":{"b":[1,2,{"c":"d"}]},"e":null}`,
	`"\u00e9\n\"\\\/"`, `"é"`, `"\ud800"`, `[1,2,3]`, `{"":""}`, strings.Repeat("[", 64) + strings.Repeat("]", 64),
	strings.Repeat("[", 65) + strings.Repeat("]", 65), strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
	"", " ", `{`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{,"a":1}`, `[,]`, `[1,]`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`,
	`{a:1}`, `01`, `1.`, `.5`, `-`, `+1`, `1e`, `1e+`, `tru`, `nul`, `True`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\x01\"", "\"\x7f\"",
	"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\xff", "[1]]", "{}}", "[}", "{]", "{\"a\":1]", "[1}", "1 1", "\xef\xbb\xbf{}", "\v{}", "\u00a0{}",
	`"12345678901234567890` + "\x00" + `"`, `"1234567\"8901234"`, `"1234567` + "\xc3\xa9" + `"`, `{"1234567\u0041":"x"}`, strings.Repeat(" ", 31) + "1",
	"[" + strings.Repeat(" ", 17) + "\n" + strings.Repeat(" ", 9) + "]",
}

// TestSyntax: Decode refuses a body as a syntax error if and only if valid returns false for it. The scanner finds
// the end of every valid body.
func TestSyntax(t *testing.T) {
	for _, text := range texts {
		checkScanner(t, []byte(text))
	}
}

func FuzzSyntax(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
		f.Add([]byte(`{"resourceType":"Bundle","entry":[{"x":` + text + `}]}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkScanner(t, body) })
}

func checkScanner(t *testing.T, body []byte) {
	t.Helper()
	want := valid(body)
	if _, fault := Decode(body, options()); want == isSyntax(fault) {
		t.Errorf("%q: fault %v", body, fault)
	}
	if want && (!skips(body) || !walks(body)) {
		t.Errorf("%q: skip %v, walk %v", body, skips(body), walks(body))
	}
}

// isSyntax reports whether a text was refused because it is not JSON in UTF-8 or is nested too deeply.
func isSyntax(f *Fault) bool {
	return f != nil && (f.Rule == "json" || f.Rule == "utf-8" || f.Rule == "depth:64")
}

// TestRepeatedName: a nameSet detects a repeated name, whether all of its names fit in its array or some are in its
// map.
func TestRepeatedName(t *testing.T) {
	for _, before := range []int{1, 16, 17, 40} {
		var seen nameSet
		for i := range before {
			if !seen.add([]byte(strconv.Itoa(i))) {
				t.Errorf("name %d is reported as repeated", i)
			}
		}
		for i := range before {
			if seen.add([]byte(strconv.Itoa(i))) {
				t.Errorf("of %d names, name %d is not reported as repeated", before, i)
			}
		}
	}
}
