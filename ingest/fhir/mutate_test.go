package fhir

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc/internal/httpapi/syntax"
)

// TestMutatedMessages changes messages from the corpus in ways that no specification allows: it swaps values between
// fields, and removes, duplicates, moves and retypes fields.
func TestMutatedMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			t.Fatal(file, err)
		}
		all = append(all, value)
	}
	odd := []any{
		nil,
		true, json.Number("-1e9"), json.Number("0.00000000000000000000000001"), "", " ", "#", "urn:uuid:", "Encounter/", "?", "é\u0000\u202e",
		strings.Repeat("x", 5000), strings.Repeat("Bed é ", 60),
		[]any{},
		map[string]any{},
		[]any{[]any{[]any{}}},
		"9999-99-99", "2026-02-30T25:00:00Z", "Patient/p1",
	}
	rapid.Check(t, func(t *rapid.T) {
		value := clone(rapid.SampledFrom(all).Draw(t, "message"))
		other := rapid.SampledFrom(all).Draw(t, "other")
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			places := nodes(value, nil)
			if len(places) == 0 {
				break
			}
			at := rapid.SampledFrom(places).Draw(t, "at")
			switch rapid.IntRange(-2, 3).Draw(t, "what") {
			default:
				at.set(clone(rapid.SampledFrom(odd).Draw(t, "odd")))
			case 1:
				at.set(clone(rapid.SampledFrom(places).Draw(t, "from").get()))
			case 2:
				if from := nodes(other, nil); len(from) > 0 {
					at.set(clone(rapid.SampledFrom(from).Draw(t, "of the other").get()))
				}
			case 3:
				at.set([]any{clone(at.get()), clone(at.get())})
			}
		}
		body, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if nesting(body) > syntax.MaxDepth || len(body) > 1<<20 {
			return
		}
		facts, fault := Decode(body, options())
		if fault != nil {
			if isSyntax(fault) {
				t.Fatalf("%v: %s", fault, body)
			}
			return
		}
		check(t, facts, len(body))
	})
}

// node is the position of a value in a JSON document.
type node struct {
	in  any
	key string
	n   int
}

func (p node) get() any {
	if m, ok := p.in.(map[string]any); ok {
		return m[p.key]
	}
	list, _ := p.in.([]any) //nolint:errcheck // it is a list if it is not an object
	return list[p.n]
}

func (p node) set(v any) {
	if m, ok := p.in.(map[string]any); ok {
		m[p.key] = v
		return
	}
	list, _ := p.in.([]any) //nolint:errcheck // it is a list if it is not an object
	list[p.n] = v
}

func nodes(v any, all []node) []node {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			all = nodes(v[key], append(all, node{in: v, key: key}))
		}
	case []any:
		for n := range v {
			all = nodes(v[n], append(all, node{in: v, n: n}))
		}
	}
	return all
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key := range v {
			c[key] = clone(v[key])
		}
		return c
	case []any:
		c := make([]any, len(v))
		for n := range v {
			c[n] = clone(v[n])
		}
		return c
	}
	return v
}
