package catalogue

import (
	"encoding/json"
	"strings"
)

func factor(id string) Factor {
	f, _ := FactorByID(id)
	return f
}

// rendered returns a value as JSON, for comparison. Nil lists and empty lists have the same form.
func rendered(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(b), "null", "[]")
}

// difference returns a message with the parts of two strings around the first byte at which they differ.
func difference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-400):min(len(s), i+200)] }
	return cut(a) + "\n" + cut(b)
}
