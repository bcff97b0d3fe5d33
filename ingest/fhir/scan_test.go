package fhir

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// valid reports whether the other endpoints accept the text as JSON.
func valid(body []byte) bool {
	return utf8.Valid(body) && json.Valid(body) && nesting(body) <= maxDepth
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

func skips(body []byte) bool {
	s := scanner{b: body}
	s.skip()
	return s.fault == "" && s.space() == 0 && s.i == len(body)
}

// walk reads any value with the calls that decoding uses, without knowing its type.
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
	case s.fault == "":
		s.flag()
	}
}

func walks(body []byte) bool {
	s := scanner{b: body}
	s.walk(0)
	return s.fault == "" && s.space() == 0 && s.i == len(body) && s.depth == 0
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

func TestSyntax(t *testing.T) {
	for _, text := range texts {
		want := valid([]byte(text))
		if got := skips([]byte(text)); got != want {
			t.Errorf("skip %q: %v, want %v", text, got, want)
		}
		if got := walks([]byte(text)); got != want {
			t.Errorf("walk %q: %v, want %v", text, got, want)
		}
	}
}

func FuzzSyntax(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
		f.Add([]byte(`{"resourceType":"Bundle","entry":[{"x":` + text + `}]}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want := valid(body)
		if skips(body) != want || walks(body) != want {
			t.Errorf("skip %v, walk %v, want %v", skips(body), walks(body), want)
		}
	})
}
