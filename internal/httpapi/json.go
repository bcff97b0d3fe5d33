package httpapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep JSON may be nested.
const MaxDepth = 64

// CheckJSON returns nil if body is one JSON text, in UTF-8 and not nested too deep.
func CheckJSON(body []byte) *Problem {
	var rule string
	switch {
	case !utf8.Valid(body):
		rule = "utf-8"
	case jsonDepth(body) > MaxDepth:
		rule = "depth:" + strconv.Itoa(MaxDepth)
	case !json.Valid(body):
		rule = "json"
	default:
		return nil
	}
	return &Problem{
		Kind: Invalid, Message: "The body is not JSON that this endpoint takes.",
		Details: []Detail{{Path: "", Rule: rule}},
	}
}

// jsonDepth returns the deepest nesting of brackets outside of strings.
func jsonDepth(text []byte) int {
	deepest, open := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = AfterString(text, i) - 1
		case '{', '[':
			open++
			deepest = max(deepest, open)
		case '}', ']':
			open--
		}
	}
	return deepest
}

// AfterString returns the position after the JSON string that begins at i.
func AfterString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// maxDetails is how many broken rules one answer names.
const maxDetails = 100

// repeated names the fields that occur twice in an object, because nobody knows which of
// them is meant. The text must have passed [CheckJSON]. Names that differ only in case
// count as equal, as decoders treat them.
func repeated(body []byte) (faults []Detail) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	walkValue(d, "", &faults)
	return faults
}

func walkValue(d *json.Decoder, path string, faults *[]Detail) {
	token, err := d.Token()
	if err != nil {
		return // CheckJSON has already checked the text
	}
	switch token {
	case json.Delim('{'):
		seen := map[string]int{}
		for d.More() {
			token, _ := d.Token()     //nolint:errcheck // likewise
			name, _ := token.(string) //nolint:errcheck // a name is a text
			at := placeOf(path, name)
			key := strings.ToLower(name)
			if seen[key]++; seen[key] == 2 && len(*faults) < maxDetails {
				*faults = append(*faults, Detail{Path: at, Rule: "unique"})
			}
			walkValue(d, at, faults)
		}
		d.Token() //nolint:errcheck // the bracket
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			walkValue(d, path+"["+strconv.Itoa(i)+"]", faults)
		}
		d.Token() //nolint:errcheck // the bracket
	}
}

// placeOf returns the path of a field. It omits a name that looks like no field name,
// since that may be a value.
func placeOf(path, name string) string {
	if !fieldName.MatchString(name) {
		name = "?"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
