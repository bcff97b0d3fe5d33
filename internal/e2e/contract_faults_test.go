package e2e

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// betweenFields are values that a field's schema allows, but that the other fields of the example rule out. Only the
// field's description can state such a rule.
var betweenFields = map[string]bool{
	"post /api/admin/terminology mappings[1].kind diagnosis": true, // the mapping has a value; a mapping to a diagnosis must have none
}

// fate is the expected outcome of a request.
type fate int

// texts are strings that some schemas allow and others forbid, such as strings with invisible characters and
// beginnings of HL7 messages.
var texts = []string{
	"yesterday", " ", "\x00", "\x1f", "\x7f", "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u202f", "\u205f", "\u3000", "\ufeff", "\u200b",
	"\x01\u00a0\t", "\x01a", "\u3000é ", "*", "* *", "\u00a0*\x00", "O1*",
	"MSH|^~\\&|", "\ufeffMSH|^~\\&|", "\r\n\ufeff\x0bMSH|^~\\&|", "x\ufeffMSH|^~\\&|", "xMSH|", "PID|1\rMSH|^~\\&|", "PID|1\x1cMSH|^~\\&|", "PID|1\r\ufeffMSH|^~\\&|", "MSHa",
}

// faults changes the fields of value in place, one at a time, calls try after each change, and restores the field. It
// also adds optional fields that the example lacks.
func (d *document) faults(t testing.TB, schema, value any, try func(what string, want fate)) {
	s := d.follow(schema)
	properties, _ := s["properties"].(map[string]any) //nolint:errcheck // nil if there are none
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	set := func(name string, to any, what string, want fate) {
		before, was := object[name]
		if object[name] = to; to == absent {
			delete(object, name)
		}
		try(name+" "+what, want)
		if object[name] = before; !was {
			delete(object, name)
		}
	}
	required, _ := s["required"].([]any) //nolint:errcheck // nil if there are none
	for _, name := range required {
		set(name.(string), absent, "missing", refused) //nolint:errcheck,forcetypeassert // a name is a string
	}
	for name, raw := range properties {
		p := d.follow(raw)
		number := func(key string) (float64, bool) { n, ok := p[key].(float64); return n, ok }
		if max, ok := number("maximum"); ok {
			set(name, max+1, "too large", refused)
		}
		if min, ok := number("minimum"); ok {
			set(name, min-1, "too small", refused)
		}
		if most, ok := number("maxLength"); ok {
			set(name, strings.Repeat("x", int(most)+1), "too long", refused)
			longest := strings.Repeat("\u00e9", int(most)) // longer in bytes than in characters
			if pattern, ok := p["pattern"].(string); !ok || matches(t, pattern, longest) {
				set(name, longest, "as long as can be", allowed)
			}
		}
		if least, ok := number("minLength"); ok && least > 0 {
			set(name, "", "empty", refused)
		}
		if least, ok := number("minItems"); ok && least > 0 {
			set(name, []any{}, "empty", refused)
		}
		if most, ok := number("maxItems"); ok {
			set(name, make([]any, int(most)+1), "too many", refused)
		}
		if pattern, ok := p["pattern"].(string); ok && pattern != "" {
			for _, text := range texts {
				want := allowed
				if most, bounded := number("maxLength"); !matches(t, pattern, text) || bounded && utf8.RuneCountInString(text) > int(most) {
					want = refused
				}
				set(name, text, fmt.Sprintf("%q", text), want)
			}
		}
		if words, ok := p["enum"].([]any); ok {
			set(name, "no such word", "none of its words", refused)
			for _, word := range words {
				set(name, word, fmt.Sprintf("%v", word), taken)
			}
		}
		if kind, ok := p["type"].(string); ok {
			set(name, map[string]any{"string": 7.5, "integer": "7", "number": "x", "boolean": "yes", "array": map[string]any{}, "object": []any{}}[kind], "of another type", refused)
		}
		switch inner := object[name].(type) {
		case map[string]any:
			d.faults(t, p, inner, func(what string, want fate) { try(name+"."+what, want) })
		case []any:
			for i, one := range inner {
				d.faults(t, p["items"], one, func(what string, want fate) { try(fmt.Sprintf("%s[%d].%s", name, i, what), want) })
			}
		}
	}
}

func matches(t testing.TB, pattern, text string) bool {
	t.Helper()
	form, err := ecma(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return form.MatchString(text)
}

// absent marks a field to remove.
var absent = any(struct{}{})
