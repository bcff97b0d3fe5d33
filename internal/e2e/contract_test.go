package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"svc/internal/httpapi/rules"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is the part of the OpenAPI document of a running svc that the tests read.
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

// ecma compiles a JSON Schema pattern, which writes a character code as \uXXXX and not as \x{XXXX}.
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

// holds returns an error unless a JSON text matches a schema.
func holds(s *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// each calls the function do with every operation: first with the writes, so that the reads find data.
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

// text returns an example exactly as the client sends it, without the document's whitespace, because a signature covers
// the exact bytes.
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

var writeAnswers = flag.Bool("update-answers", false, "write the answers that the OpenAPI document shows as examples")

// madeUp reports whether a request may refer to an object that does not exist: in its path, or in its body if the
// request tests a recipient.
func madeUp(path string) bool {
	return strings.Contains(path, "{") || path == "/api/admin/alerts/test"
}

// token matches a minted key. No file may contain a key, not even an expired one.
var token = regexp.MustCompile(`svc_[0-9a-f]{64}`)

// signing matches a generated webhook secret. No file may contain such a secret.
var signing = regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`)

// TestContract compares a running svc with the document that it serves. Each example must be accepted, and each answer,
// success or error, must match its schema.
func TestContract(t *testing.T) {
	t.Parallel()
	dev := startDev(t, t.TempDir(), "--ephemeral")
	p := newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey)
	admin := newPartner(dev.BaseURL, dev.HospitalID, dev.AdminKey)
	nobody := newPartner(dev.BaseURL, dev.HospitalID, "")
	d := p.described(t)
	p.sendEvents(t, simulatedEvents(t, 1, 3)) // a forecast needs these events
	p.predicted(t, time.Minute)
	p.post(t, "staffing", `{"nursesOnDuty":-1}`)
	source := p.feedsStatus(t).Feeds[0].Source
	p.noticed(t, source, "staffing", "refused  min:0 nursesOnDuty")
	examples, shown := 0, map[string]json.RawMessage{}
	d.each(func(method, path string, o *operation) {
		verb := strings.ToUpper(method)
		caller, other := p, admin
		switch o.Scope {
		case "admin":
			caller, other = admin, p
		case "":
			caller, other = nobody, nil
			if _, keyed := o.Security[0]["key"]; keyed {
				caller = p
			}
		}
		target := o.target(path)
		if o.OperationID == "getSourceStatus" { // needs a source that exists, unlike the one in the example
			target = strings.ReplaceAll(path, "{source}", source)
		}
		send := func(by *partner, kind, body string, headers ...string) *answer {
			a, err := by.do(verb, target, kind, body, append(o.headers(), headers...)...)
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			d.check(t, method, path, a)
			return a
		}
		if len(o.RequestBody.Content) == 0 {
			a := send(caller, "", "")
			if tag := a.header.Get("ETag"); tag != "" {
				send(caller, "", "", "If-None-Match", tag)
			}
			if a.status == http.StatusOK && a.header.Get("Content-Type") == "application/json" && o.Scope != "" {
				shown[o.OperationID] = a.raw
			}
		}
		for kind, body := range o.RequestBody.Content {
			for name, example := range body.Examples {
				examples++
				a := send(caller, kind, text(example.Value))
				gone := a.status == http.StatusNotFound && madeUp(path)
				if !o.done(a) && !gone {
					t.Errorf("%s %s: the example %q is refused: %d %s", method, path, name, a.status, a.raw)
				}
				if kind != "text/plain" && kind != "application/hl7-v2" {
					if err := holds(d.schema(t, "paths", path, method, "requestBody", "content", kind, "schema"), example.Value); err != nil {
						t.Errorf("%s %s: the example %q breaks its schema: %v", method, path, name, err)
					}
					if first := slices.Sorted(maps.Keys(body.Examples))[0]; name == first && !gone && len(a.raw) > 0 {
						shown[o.OperationID] = a.raw
					}
				}
			}
			send(caller, kind, "", "Content-Type", "application/pdf")
			send(caller, kind, "\x00{")
			send(caller, kind, `{"rooms":7,"signals":[{}],"nurses":null}`)
			send(caller, kind, "[]", "Content-Encoding", "gzip")
		}
		if other == nil {
			return
		}
		if a := send(nobody, "application/json", "{}"); a.status != http.StatusUnauthorized {
			t.Errorf("%s %s without a key: %d", method, path, a.status)
		}
		if a := send(other, "application/json", "{}"); a.status != http.StatusForbidden {
			t.Errorf("%s %s with a key for other things: %d", method, path, a.status)
		}
	})
	if examples < 10 {
		t.Errorf("%d examples", examples)
	}
	// The example answers of the document match the same schemas.
	d.each(func(method, path string, o *operation) {
		for status, r := range o.Responses {
			for kind, m := range r.Content {
				all := []json.RawMessage{m.Example}
				for _, e := range m.Examples {
					all = append(all, e.Value)
				}
				for _, e := range all {
					if e == nil || kind != "application/json" {
						continue
					}
					if err := holds(d.schema(t, "paths", path, method, "responses", status, "content", kind, "schema"), e); err != nil {
						t.Errorf("%s %s: an example of %s: %v", method, path, status, err)
					}
				}
			}
		}
		if _, ok := shown[o.OperationID]; ok && len(o.Responses["200"].Content["application/json"].Example) == 0 && !*writeAnswers {
			t.Errorf("%s %s shows no answer; go test ./internal/e2e -run TestContract -update-answers", method, path)
		}
	})
	if *writeAnswers {
		content, err := json.MarshalIndent(shown, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		content = token.ReplaceAll(content, []byte("svc_"+strings.Repeat("0", 64)))
		content = signing.ReplaceAll(content, []byte("whsec_"+strings.Repeat("A", 43)+"="))
		if err := os.WriteFile("../openapi/answers.json", append(content, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRequestSchemasAreKept sends requests at the limits of their schemas. Each single violation
// must be refused, and each value of an enumeration must be accepted. A string at the limit of its
// schema must not be reported as malformed.
func TestRequestSchemasAreKept(t *testing.T) {
	t.Parallel()
	dev := startDev(t, t.TempDir(), "--ephemeral")
	p, admin := newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey), newPartner(dev.BaseURL, dev.HospitalID, dev.AdminKey)
	d := p.described(t)
	tried := 0
	d.each(func(method, path string, o *operation) {
		body, ok := o.RequestBody.Content["application/json"]
		if !ok {
			return
		}
		caller := p
		if o.Scope == "admin" {
			caller = admin
		}
		var schema any
		into(t, body.Schema, &schema)
		for _, example := range body.Examples {
			var value any
			into(t, example.Value, &value)
			d.faults(t, schema, value, func(what string, want fate) {
				tried++
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				a, err := caller.do(strings.ToUpper(method), o.target(path), "application/json", string(text), append(o.headers(), "Prefer", "respond-async")...)
				if err != nil {
					t.Fatal(err)
				}
				d.check(t, method, path, a)
				if betweenFields[method+" "+path+" "+what] {
					want = refused
				}
				gone := a.status == http.StatusNotFound && madeUp(path) // the body was accepted, but the object does not exist
				bad := !o.done(a) && !gone || bytes.Contains(a.raw, []byte(`"status":"rejected"`))
				if want == allowed && a.status == http.StatusBadRequest || want != allowed && bad != (want == refused) {
					t.Errorf("%s %s: %s: %d %s\nto %s", method, path, what, a.status, a.raw, text)
				}
			})
		}
	})
	if tried < 200 {
		t.Errorf("%d requests", tried)
	}
}

// betweenFields are values that a field's schema allows, but that the other fields of the example rule out. Only the
// field's description can state such a rule.
var betweenFields = map[string]bool{
	"post /api/admin/terminology mappings[1].kind diagnosis": true, // the mapping has a value; a mapping to a diagnosis must have none
}

// fate is the expected outcome of a request.
type fate int

const (
	taken   fate = iota
	refused      // the body violates its schema
	allowed      // the body matches its schema, but may refer to an object that does not exist
)

// texts are strings that a schema may allow or forbid: invisible characters of several scripts, and
// beginnings of HL7 messages.
var texts = []string{
	"yesterday", " ", "\x00", "\x1f", "\x7f", "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u202f", "\u205f", "\u3000", "\ufeff", "\u200b",
	"\x01\u00a0\t", "\x01a", "\u3000é ", "*", "* *", "\u00a0*\x00", "O1*",
	"MSH|^~\\&|", "\ufeffMSH|^~\\&|", "\r\n\ufeff\x0bMSH|^~\\&|", "x\ufeffMSH|^~\\&|", "xMSH|", "PID|1\rMSH|^~\\&|", "PID|1\x1cMSH|^~\\&|", "PID|1\r\ufeffMSH|^~\\&|", "MSHa",
}

// faults changes value in place, one field at a time, and calls the function try with each change. It also tries
// optional fields that the example lacks.
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
