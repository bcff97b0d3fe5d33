package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var writeAnswers = flag.Bool("update-answers", false, "write the answers that the OpenAPI document shows as examples")

// madeUp reports whether a request to a path may refer to an object that does not exist: the path contains an example
// id, or the body names a recipient for a test message.
func madeUp(path string) bool {
	return strings.Contains(path, "{") || path == "/api/admin/alerts/test"
}

// token matches a minted key. No file of the repository may contain a key, not even an expired one.
var token = regexp.MustCompile(`svc_[0-9a-f]{64}`)

// signing matches a generated webhook secret. No file of the repository may contain such a secret.
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
	// The example responses in the document must match the same schemas.
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

const (
	taken   fate = iota
	refused      // the body violates its schema
	allowed      // the body matches its schema, but may refer to an object that does not exist
)
