package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/internal/httpapi/rules"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document contains what the tests read from the OpenAPI document of a running svc.
type document struct {
	raw     any
	Paths   map[string]map[string]*operation
	schemas *jsonschema.Compiler
}

type operation struct {
	OperationID string
	Scope       string `json:"x-scope"`
	Security    []map[string][]string
	Parameters  []struct {
		Name, In string
		Required bool
		Example  any // a string or a number
	}
	RequestBody struct{ Content map[string]media }
	Responses   map[string]struct{ Content map[string]media }
}

type media struct {
	Schema   json.RawMessage
	Example  json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

const documentURL = "http://svc.invalid/openapi.json"

// described fetches the OpenAPI document.
func (p *partner) described(t testing.TB) *document {
	t.Helper()
	a := p.get(t, "/api/openapi.json")
	d := &document{schemas: jsonschema.NewCompiler()}
	into(t, a.raw, d)
	var err error
	if d.raw, err = jsonschema.UnmarshalJSON(bytes.NewReader(a.raw)); err != nil {
		t.Fatal(err)
	}
	d.schemas.AssertFormat()
	d.schemas.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) { return ecma(pattern) })
	if err := d.schemas.AddResource(documentURL, d.raw); err != nil {
		t.Fatal(err)
	}
	return d
}

// ecma compiles a JSON Schema pattern. It converts character codes from the notation of ECMAScript, \uXXXX, to that
// of Go, \x{XXXX}.
func ecma(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(pattern, `\x{$1}`))
}

// schema compiles the schema at a path of the document.
func (d *document) schema(t testing.TB, place ...string) *jsonschema.Schema {
	t.Helper()
	for i := range place {
		place[i] = strings.NewReplacer("~", "~0", "/", "~1").Replace(place[i])
	}
	s, err := d.schemas.Compile(documentURL + "#/" + strings.Join(place, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// holds returns an error if a JSON text does not match a schema.
func holds(s *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// each calls the function do for every operation. The POST operations come first, because they create the data that
// the other operations read.
func (d *document) each(do func(method, path string, o *operation)) {
	for _, write := range []bool{true, false} {
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
				if (method == "post") == write {
					do(method, path, d.Paths[path][method])
				}
			}
		}
	}
}

// check compares an answer's status, content type and body with the document.
func (d *document) check(t *testing.T, method, path string, a *answer) {
	t.Helper()
	status := strconv.Itoa(a.status)
	response, ok := d.Paths[path][method].Responses[status]
	if !ok {
		t.Errorf("%s %s: the status %s is not described: %s", method, path, status, a.raw)
		return
	}
	for _, detail := range a.Error.Details {
		if rules.Message(detail.Rule) == "" {
			t.Errorf("%s %s: nothing is said of the rule %q of %q", method, path, detail.Rule, detail.Path)
		}
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if len(response.Content) == 0 && len(a.raw) == 0 {
		return
	}
	if _, ok := response.Content[kind]; !ok {
		t.Errorf("%s %s: %s has the content type %q", method, path, status, kind)
		return
	}
	if kind == "application/json" {
		if err := holds(d.schema(t, "paths", path, method, "responses", status, "content", kind, "schema"), a.raw); err != nil {
			t.Errorf("%s %s: %v\nin %s", method, path, err, a.raw)
		}
	}
}

// text returns the request body of an example, without the document's whitespace. The bytes must be exactly those
// that a client sends, because a signature covers them.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return err.Error() // an example that is not JSON is refused by the handler
	}
	return b.String()
}

// target returns the path of an operation, filled with the examples of its parameters.
func (o *operation) target(path string) string {
	query := url.Values{}
	for _, p := range o.Parameters {
		switch example := fmt.Sprint(p.Example); {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", example)
		case p.In == "query" && p.Required:
			query.Set(p.Name, example)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// headers returns the required headers of an operation with their examples, as alternating names
// and values.
func (o *operation) headers() (all []string) {
	for _, p := range o.Parameters {
		if p.In == "header" && p.Required {
			all = append(all, p.Name, fmt.Sprint(p.Example))
		}
	}
	return all
}

// done reports whether the operation documents the answer as a success.
func (o *operation) done(a *answer) bool {
	_, described := o.Responses[strconv.Itoa(a.status)]
	return described && (a.status == http.StatusOK || a.status == http.StatusNoContent)
}

// follow returns a schema, or the schema that its $ref points to.
func (d *document) follow(schema any) map[string]any {
	s, _ := schema.(map[string]any) //nolint:errcheck // nil if there is none
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		at := d.raw
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			at = at.(map[string]any)[part] //nolint:errcheck,forcetypeassert // every part exists, because the document compiled
		}
		text, _ := json.Marshal(at)  //nolint:errcheck,errchkjson // the value was parsed from JSON
		s = map[string]any{}         // filled below, with numbers as float64
		_ = json.Unmarshal(text, &s) //nolint:errcheck // the schema is an object
	}
}
