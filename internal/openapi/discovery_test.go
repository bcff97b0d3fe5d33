package openapi

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
)

var sample = []contract.Operation{{
	Method: "POST", Path: "/api/ingest/things/{id}", Scope: access.IngestADT, ID: "sendThing", Group: "Feeds", Summary: "A thing",
	Parameters: []contract.Parameter{{Name: "id", In: "path", About: "Which.", Example: "t1"}},
	Bodies: []contract.Body{{Type: "application/json", Shape: struct {
		Name string `json:"name"`
	}{}, Limit: 10, Examples: []contract.Example{{Name: "One", Text: `{"name":"it's"}`}}}},
	Data: struct{}{},
}}

// TestCapabilitiesCount: the catalogue has the same counts as the specification.
func TestCapabilitiesCount(t *testing.T) {
	c := capabilitiesOf(sample)
	if want := (counts{Modifiers: 42, Diagnosis: 14, Signal: 11, SiteMapped: 21}); c.Counts != want {
		t.Errorf("%+v, want %+v", c.Counts, want)
	}
	if len(c.Coverage) != 42 || len(c.PrimaryFactors) != 38 || len(c.Scopes) != 12 || len(c.CodeSystems) != 5 || len(c.Levels) != 4 || len(c.Axes) != 7 {
		t.Errorf("%d modifiers, %d primaries, %d scopes, %d systems, levels %v, axes %v", len(c.Coverage), len(c.PrimaryFactors), len(c.Scopes), len(c.CodeSystems), c.Levels, c.Axes)
	}
	i := slices.IndexFunc(c.Coverage, func(m coverage) bool { return m.ID == "high-obesity-bmi40" })
	if got := c.Coverage[i]; !slices.Equal(got.Routes, []string{"diagnosis", "signal"}) || got.Codes[1].Value != ">= 40 kg/m2" || got.Codes[1].Kind != "observation" {
		t.Errorf("%+v", got)
	}
	for _, s := range c.Scopes {
		if granted := len(s.Grants) > 0; granted != (s.Scope == access.IngestADT) {
			t.Errorf("%s grants %v", s.Scope, s.Grants)
		}
	}
}

// TestPage: the page does not load anything from other servers, and each of its links has a target.
func TestPage(t *testing.T) {
	raw, err := pageOf(slices.Concat(sample, Operations()), capabilitiesOf(sample))
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, outside := range []string{"<script src", "<img", "<link", "<iframe", "url(", "@import", "src=", `href="http`, "//cdn"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if strings.Count(page, ` id="`+link[1]+`"`) != 1 {
			t.Errorf("a link leads to #%s, which is there %d times", link[1], strings.Count(page, ` id="`+link[1]+`"`))
		}
	}
	for _, want := range []string{
		"/api/ingest/things/t1", "-d &#39;{&#34;name&#34;:&#34;it&#39;\\&#39;&#39;s&#34;}&#39;", "42 modifiers, 14 have default diagnosis codes, 11 have default signal codes, and 21 have none",
		"X-Svc-Signature", "O99.21*",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestHeadersOfAnswers: the document lists the response headers that a client needs. It lists neither a 304 response
// nor an ETag for a write, unless the response to the write has the version of the resource as its tag.
func TestHeadersOfAnswers(t *testing.T) {
	read := contract.Operation{
		Method: "GET", Path: "/api/v1/thing", Scope: access.ReadUnitState, ID: "getThing", Group: "Reads", Summary: "A thing",
		Parameters: []contract.Parameter{{Name: "If-None-Match", In: "header"}}, Data: struct{}{},
	}
	write := read
	write.Method, write.ID = "PUT", "setThing"
	write.Parameters = append(write.Parameters, contract.Parameter{Name: "Idempotency-Key", In: "header"})
	tagged := write
	tagged.Method, tagged.ID, tagged.Tagged = "PATCH", "changeThing", true
	text, err := documentOf([]contract.Operation{read, write, tagged}, "/docs")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Headers map[string]any }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, status, header string }{
		{"get", "200", "ETag"},
		{"get", "200", "RateLimit"},
		{"get", "200", "X-Request-Id"},
		{"get", "304", "ETag"},
		{"get", "401", "WWW-Authenticate"},
		{"get", "405", "Allow"},
		{"get", "429", "Retry-After"},
		{"get", "503", "Retry-After"},
		{"put", "200", "Idempotency-Replayed"},
		{"patch", "200", "ETag"},
	} {
		if document.Paths["/api/v1/thing"][c.method].Responses[c.status].Headers[c.header] == nil {
			t.Errorf("%s, %s: %s is not told", c.method, c.status, c.header)
		}
	}
	put := document.Paths["/api/v1/thing"]["put"].Responses
	if _, told := put["304"]; told || put["200"].Headers["ETag"] != nil {
		t.Error("a write is told to answer 304, or with an entity tag to ask by")
	}
}

// TestDocumentIsStable: the document is the same in every process, because clients are generated from it.
func TestDocumentIsStable(t *testing.T) {
	first, err := documentOf(sample, "/docs")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, err := documentOf(sample, "/docs"); err != nil || string(again) != string(first) {
			t.Fatal("another document", err)
		}
	}
	for _, want := range []string{`"x-scope": "ingest:adt"`, `"openapi": "3.1.0"`, `"version": "1.1.0"`, `"operationId": "sendThing"`, `"forbidden_scope"`, `"identifier": "Apache-2.0"`} {
		if !strings.Contains(string(first), want) {
			t.Errorf("no %s", want)
		}
	}
}
