package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc/internal/httpapi/problem"
	"svc/internal/httpapi/syntax"
)

// Warning names a part of a request that was ignored, though the rest was accepted.
type Warning struct {
	Code string `json:"code"` // stable code
	Path string `json:"path,omitempty"`
}

// ReadJSON reads a body, which must be a JSON object of at most atMost bytes, into v. Fields of v that are missing
// from the body keep their values. The warnings name fields of the body, and of the objects in it, that v does not
// have; without such fields, the slice is empty but not nil. If ok is false, ReadJSON has sent an error response.
func ReadJSON(w http.ResponseWriter, r *http.Request, atMost int64, v any) (warnings []Warning, ok bool) {
	return readJSON(w, r, atMost, v, false)
}

// ReadOptionalJSON is like [ReadJSON], but treats a missing body as an empty object.
func ReadOptionalJSON(w http.ResponseWriter, r *http.Request, atMost int64, v any) (warnings []Warning, ok bool) {
	return readJSON(w, r, atMost, v, true)
}

func readJSON(w http.ResponseWriter, r *http.Request, atMost int64, v any, optional bool) (warnings []Warning, ok bool) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if kind != "" && !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		Fail(w, r, Problem{Kind: problem.UnsupportedMedia, Message: "The endpoint accepts only application/json."})
		return nil, false
	}
	if encoding := strings.Join(r.Header["Content-Encoding"], ","); encoding != "" && !strings.EqualFold(encoding, "identity") {
		Fail(w, r, Problem{Kind: problem.UnsupportedMedia, Message: "The endpoint accepts only uncompressed bodies."})
		return nil, false
	}
	warnings = []Warning{}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, atMost))
	if err != nil {
		Fail(w, r, Unread(err))
		return nil, false
	}
	body = syntax.TrimBOM(body)
	var given map[string]any
	if !optional || len(bytes.TrimSpace(body)) > 0 {
		if fault := CheckJSON(body); fault != nil {
			Fail(w, r, *fault)
			return nil, false
		}
		if faults := repeated(body); len(faults) > 0 {
			Fail(w, r, Problem{Kind: problem.Invalid, Details: faults})
			return nil, false
		}
		given, err = readObject(body)
	}
	if err == nil && given != nil {
		shape := reflect.TypeOf(v).Elem()
		if faults := emptyEnums(given, shape, ""); len(faults) > 0 {
			Fail(w, r, Problem{Kind: problem.Invalid, Details: faults})
			return nil, false
		}
		warnUnknown(given, shape, "", &warnings)
		if body, err = json.Marshal(plain(given, fieldsOf(shape))); err == nil {
			err = json.Unmarshal(body, v)
		}
	}
	refusal := Problem{
		Kind: problem.Invalid, Message: "The body is not valid JSON, or not the JSON that this endpoint accepts.",
		Details: []Detail{{Path: "", Rule: "json"}},
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		refusal.Message = ""
		refusal.Details = []Detail{{Path: listIndex.ReplaceAllString(wrong.Field, "[$1]"), Rule: "type:" + typeOf(wrong.Type)}}
	}
	if errors.Is(err, errNoObject) {
		refusal.Message = ""
		refusal.Details[0].Rule = "type:object"
	}
	if err != nil {
		Fail(w, r, refusal)
		return nil, false
	}
	return warnings, true
}

// Unread returns the response to a request whose body could not be read completely, from the error of an
// [http.MaxBytesReader].
func Unread(err error) Problem {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return Problem{Kind: problem.TooLarge}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Problem{Kind: problem.TimedOut}
	}
	return Problem{
		Kind: problem.Invalid, Message: "The body ended early; send it again.", Details: []Detail{{Path: "", Rule: "complete"}},
	}
}

// listIndex matches the index of a list in the path of a [json.UnmarshalTypeError], such as the .0 in rooms.0.roomId.
// No field has a number as its name.
var listIndex = regexp.MustCompile(`\.(\d+)\b`)

// typeOf returns the JSON name of a type.
func typeOf(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // all other kinds are numbers
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Float64:
		return "number"
	case reflect.Pointer:
		return typeOf(t.Elem())
	default:
		return "integer"
	}
}

// readObject decodes one JSON object and keeps its numbers as written.
func readObject(body []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var given map[string]any
	if err := d.Decode(&given); err != nil {
		return nil, err
	}
	if given == nil {
		return nil, errNoObject
	}
	return given, nil
}

var errNoObject = errors.New("not a JSON object")

// emptyEnums returns the enum fields of an object, and of the objects in it, whose value is the empty string. After
// decoding, such a field could not be distinguished from a missing one, which may have a default.
func emptyEnums(given map[string]any, shape reflect.Type, path string) (faults []Detail) {
	for _, f := range reflect.VisibleFields(shape) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at, of := placeOf(path, name), f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch value := given[name].(type) {
		case string:
			if words := f.Tag.Get("enum"); words != "" && value == "" && of.Kind() == reflect.String {
				faults = append(faults, Detail{Path: at, Rule: "enum:" + strings.ReplaceAll(words, ",", "|")})
			}
		case map[string]any:
			if of.Kind() == reflect.Struct {
				faults = append(faults, emptyEnums(value, of, at)...)
			}
		}
	}
	return faults
}

// plain returns the known fields of an object for encoding/json. A whole number such as 2.0 is written without its
// fraction. null in a list is replaced with an object, which no list in this API accepts; encoding/json would decode
// null as a zero value.
func plain(given map[string]any, known map[string]reflect.Type) map[string]any {
	kept := make(map[string]any, len(given))
	for name, value := range given {
		if known[name] == nil {
			continue
		}
		list, isList := value.([]any)
		for i := range list {
			if list[i] = whole(list[i]); list[i] == nil {
				list[i] = map[string]any{}
			}
		}
		if kept[name] = value; !isList {
			kept[name] = whole(value)
		}
	}
	return kept
}

// whole returns a number with a zero fraction as an int64 if its absolute value is less than [MostWhole]. It does the
// same with the numbers in an object, and returns any other value unchanged.
func whole(value any) any {
	switch v := value.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < MostWhole {
			return int64(f)
		}
	case map[string]any:
		for name := range v {
			v[name] = whole(v[name])
		}
	}
	return value
}

// fieldsOf returns the types of the fields of a struct by their JSON names.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = f.Type
	}
	return known
}

// warnUnknown adds a warning for each field of a value, and of the objects in it, that a type does not have. There are
// at most maxWarnings warnings.
func warnUnknown(value any, t reflect.Type, path string, warnings *[]Warning) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := value.(type) {
	case []any:
		for i := range value {
			if t.Kind() == reflect.Slice {
				warnUnknown(value[i], t.Elem(), path+"["+strconv.Itoa(i)+"]", warnings)
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return
		}
		known := fieldsOf(t)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if of := known[name]; of != nil {
				warnUnknown(value[name], of, placeOf(path, name), warnings)
			} else if len(*warnings) < maxWarnings {
				*warnings = append(*warnings, Warning{Code: "unknown_field", Path: placeOf(path, name)})
			}
		}
	}
}

// fieldName matches strings that have the form of a field name.
var fieldName = regexp.MustCompile(`^[A-Za-z0-9_]{1,40}$`)

const maxWarnings = 20

// MaxDepth is the maximum nesting depth of JSON.
const MaxDepth = syntax.MaxDepth

// CheckJSON returns nil if body is exactly one JSON text in UTF-8 that is nested at most [MaxDepth] levels, and the
// problem with body otherwise.
func CheckJSON(body []byte) *Problem {
	fault := syntax.Check(body)
	if fault == nil {
		return nil
	}
	return &Problem{
		Kind: problem.Invalid, Message: "The body is not valid JSON, or not the JSON that this endpoint accepts: " + fault.String() + ".",
		Details: []Detail{{Path: fault.Path, Rule: fault.Rule}},
	}
}

// maxDetails is the maximum number of broken rules in one response.
const maxDetails = 100

// repeated returns the fields that occur more than once in an object; the meaning of such a field is ambiguous. The
// text must have passed [CheckJSON]. Names that differ only in case count as equal, as decoders treat them.
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
			token, _ := d.Token()     //nolint:errcheck // as above
			name, _ := token.(string) //nolint:errcheck // a name is a string
			at := placeOf(path, name)
			key := strings.ToLower(name)
			if seen[key]++; seen[key] == 2 && len(*faults) < maxDetails {
				*faults = append(*faults, Detail{Path: at, Rule: "unique"})
			}
			walkValue(d, at, faults)
		}
		d.Token() //nolint:errcheck // an opening bracket
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			walkValue(d, path+"["+strconv.Itoa(i)+"]", faults)
		}
		d.Token() //nolint:errcheck // a closing bracket
	}
}

// placeOf returns the path of a field. A name that does not have the form of a field name appears as "?", because the
// name may be a value.
func placeOf(path, name string) string {
	if !fieldName.MatchString(name) {
		name = "?"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
