package ingest_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type leaf struct {
	tokens []any // member names and array indexes, from the root
	value  any
}

func leavesOf(v any, at []any, all []leaf) []leaf {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = leavesOf(v[name], append(slices.Clip(at), name), all)
		}
	case []any:
		for i := range v {
			all = leavesOf(v[i], append(slices.Clip(at), i), all)
		}
	default:
		all = append(all, leaf{at, v})
	}
	return all
}

func readTree(t *testing.T, body string) (v any, ok bool) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(body, "\ufeff")))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

func writeTree(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// put returns a copy of a tree in which the leaf at the given path has a new value; a nil value removes the leaf.
func put(v any, at []any, value any) any {
	if len(at) == 0 {
		return value
	}
	switch v := v.(type) {
	case map[string]any:
		c := maps.Clone(v)
		name, _ := at[0].(string) //nolint:errcheck // the path comes from this tree
		if c[name] = put(v[name], at[1:], value); c[name] == nil {
			delete(c, name)
		}
		return c
	case []any:
		c := slices.Clone(v)
		i, _ := at[0].(int) //nolint:errcheck // the path comes from this tree
		if c[i] = put(v[i], at[1:], value); c[i] == nil {
			c = slices.Delete(c, i, i+1)
		}
		return c
	}
	return v
}

// another returns a different value of the same type.
func another(v any) any {
	switch v := v.(type) {
	case string:
		if aTime.MatchString(v) {
			return v[:8] + string('0'+(v[8]-'0'+1)%3) + v[9:] // a different day
		}
		return v + "Z9"
	case json.Number:
		return json.Number(string(v) + "7")
	case bool:
		return !v
	}
	return "Z9"
}

var aTime = regexp.MustCompile(`^20\d\d-\d\d-\d\d`)

func pathOf(at []any) string {
	var b strings.Builder
	for _, token := range at {
		switch token := token.(type) {
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(token)
		case int:
			b.WriteString("[" + strconv.Itoa(token) + "]")
		}
	}
	return b.String()
}

func writeAny(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
