package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Warning is something in a request that was not taken, though the rest was.
type Warning struct {
	Code string `json:"code"` // stable
	Path string `json:"path,omitempty"`
}

// ReadJSON reads a body of at most so many bytes into v, which may hold what is to
// stay if the body does not say it, or has answered. No body is an empty object.
// The warnings name the fields that v does not have.
func ReadJSON(w http.ResponseWriter, r *http.Request, atMost int64, v any) (warnings []Warning, ok bool) {
	return readJSON(w, r, atMost, v, Detail{Path: "", Rule: "required"})
}

// ReadOptionalJSON is [ReadJSON] where a request without a body is an empty object.
func ReadOptionalJSON(w http.ResponseWriter, r *http.Request, atMost int64, v any) (warnings []Warning, ok bool) {
	return readJSON(w, r, atMost, v, Detail{})
}

func readJSON(w http.ResponseWriter, r *http.Request, atMost int64, v any, empty Detail) (warnings []Warning, ok bool) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "" && !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		Fail(w, r, Problem{Kind: UnsupportedMedia, Message: "This endpoint takes application/json."})
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, atMost))
	switch empties := err == nil && len(bytes.TrimSpace(body)) == 0; {
	case empties && empty != (Detail{}):
		Fail(w, r, Problem{Kind: Invalid, Message: "The request needs a body.", Details: []Detail{empty}})
		return nil, false
	case err == nil && !empties:
		if err = json.Unmarshal(body, v); err == nil && holdsNull(body) {
			err = errNull
		}
	}
	problem := Problem{Kind: Invalid, Message: "The body is not JSON that this endpoint takes.", Details: []Detail{{Path: "", Rule: "json"}}}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		problem.Details = []Detail{{Path: wrong.Field, Rule: "type"}}
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		problem = Problem{Kind: TooLarge}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		problem = Problem{Kind: TimedOut}
	}
	if err != nil {
		Fail(w, r, problem)
		return nil, false
	}
	return unknown(body, reflect.TypeOf(v).Elem()), true
}

// errNull: of a field null means that it is not there; in a list it means nothing,
// and encoding/json would make a zero of it.
var errNull = errors.New("null in a list")

// holdsNull reports whether a list anywhere in the body has null among its items.
func holdsNull(body []byte) bool {
	var lists []bool // of what is open: is it a list?
	for d := json.NewDecoder(bytes.NewReader(body)); ; {
		token, err := d.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			lists = append(lists, token == json.Delim('['))
		case json.Delim('}'), json.Delim(']'):
			lists = lists[:len(lists)-1]
		case nil:
			if len(lists) > 0 && lists[len(lists)-1] {
				return true
			}
		}
	}
}

// unknown warns of the fields of an object that a struct does not have, by their
// names where those are a mistyped name and not a value.
func unknown(body []byte, t reflect.Type) (warnings []Warning) {
	var given map[string]json.RawMessage
	if json.Unmarshal(body, &given) != nil {
		return nil
	}
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[strings.ToLower(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if known[strings.ToLower(name)] || len(warnings) == maxWarnings {
			continue
		}
		if !fieldName.MatchString(name) {
			name = "?"
		}
		warnings = append(warnings, Warning{Code: "unknown_field", Path: name})
	}
	return warnings
}

// fieldName is what a name of a field looks like.
var fieldName = regexp.MustCompile(`^[A-Za-z0-9_]{1,40}$`)

const maxWarnings = 20
