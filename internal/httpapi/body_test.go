package httpapi_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// read reads one body as the administration endpoints do.
func read(t *testing.T, body io.Reader, header ...string) (got string, status int) {
	t.Helper()
	s := &httpapi.Shell{Now: time.Now, Lookup: access.NewRegister(time.Now).Lookup, Log: slog.New(slog.DiscardHandler)}
	r := s.Router()
	r.Post("/keys", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Name   string   `json:"name"`
			Scopes []string `json:"scopes"`
			Value  struct {
				Op string `json:"op"`
			} `json:"value"`
			Parts []struct {
				Op string `json:"op"`
			} `json:"parts"`
			Only  string  `json:"only,omitempty" enum:"failed,all"`
			Role  *string `json:"role,omitempty" enum:"viewer,admin"`
			Inner struct {
				Only string `json:"only,omitempty" enum:"failed,all"`
			} `json:"inner,omitzero"`
		}
		warnings, ok := httpapi.ReadJSON(w, r, 1<<20, &in)
		if !ok {
			return
		}
		httpapi.OK(w, r, struct {
			In       any               `json:"in"`
			Warnings []httpapi.Warning `json:"warnings"`
		}{in, warnings})
	})
	w := httptest.NewRecorder()
	post := httptest.NewRequest(http.MethodPost, "/keys", body)
	for i := 0; i < len(header); i += 2 {
		post.Header.Set(header[i], header[i+1])
	}
	r.ServeHTTP(w, post)
	var answer outer
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Error != nil {
		var lines []string
		for _, d := range answer.Error.Details {
			lines = append(lines, strings.TrimSpace(d.Path+" "+d.Rule))
		}
		return strings.Join(lines, ", "), w.Code
	}
	return string(answer.Data), w.Code
}

// TestBodiesOfAdministrators: the bodies of administration endpoints follow the rules of the feeds: no duplicate
// field, no deep nesting, no text that is not UTF-8.
func TestBodiesOfAdministrators(t *testing.T) {
	for name, test := range map[string]struct {
		body, want string
		status     int
	}{
		"plain":                   {`{"name":"x","scopes":["admin"]}`, `{"in":{"name":"x","scopes":["admin"],"value":{"op":""},"parts":null},"warnings":[]}`, 200},
		"empty words":             {`{"name":"","only":"","role":"","inner":{"only":""}}`, "only enum:failed|all, role enum:viewer|admin, inner.only enum:failed|all", 400},
		"words that are null":     {`{"name":"x","only":null,"role":null}`, `{"in":{"name":"x","scopes":null,"value":{"op":""},"parts":null},"warnings":[]}`, 200},
		"twice":                   {`{"scopes":["read:status"],"name":"x","scopes":["admin"]}`, "scopes unique", 400},
		"three times":             {`{"name":"x","name":"y","name":"z"}`, "name unique", 400},
		"twice in another case":   {`{"name":"x","Name":"y"}`, "Name unique", 400},
		"twice by its escape":     {`{"name":"x","na\u006de":"y"}`, "name unique", 400},
		"twice inside":            {`{"value":{"op":"a","op":"b"},"parts":[{},{"op":"a","op":"b"}]}`, "value.op unique, parts[1].op unique", 400},
		"an unknown one twice":    {`{"MILLER 1994":1,"MILLER 1994":2}`, "? unique", 400},
		"another case":            {`{"Name":"x"}`, `{"in":{"name":"","scopes":null,"value":{"op":""},"parts":null},"warnings":[{"code":"unknown_field","path":"Name"}]}`, 200},
		"another inside":          {`{"value":{"op":"a","Op2":1},"parts":[{},{"op":"b","MILLER 1994":1}]}`, `{"in":{"name":"","scopes":null,"value":{"op":"a"},"parts":[{"op":""},{"op":"b"}]},"warnings":[{"code":"unknown_field","path":"parts[1].?"},{"code":"unknown_field","path":"value.Op2"}]}`, 200},
		"as deep as can be":       {`{"x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, `{"in":{"name":"","scopes":null,"value":{"op":""},"parts":null},"warnings":[{"code":"unknown_field","path":"x"}]}`, 200},
		"deeper":                  {`{"x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "x" + strings.Repeat("[0]", 11) + " depth:64", 400},
		"very deep, and not even": {strings.Repeat("[", 9000), strings.Repeat("[0]", 12) + " depth:64", 400},
		"brackets in a text":      {`{"name":"` + strings.Repeat("[", 100) + `"}`, `{"in":{"name":"` + strings.Repeat("[", 100) + `","scopes":null,"value":{"op":""},"parts":null},"warnings":[]}`, 200},
		"no UTF-8":                {"{\"name\":\"\xff\"}", "name utf-8", 400},
		"byte order mark":         {"\ufeff{}", `{"in":{"name":"","scopes":null,"value":{"op":""},"parts":null},"warnings":[]}`, 200},
		"no object":               {`[]`, "type:object", 400},
		"null":                    {`null`, "type:object", 400},
		"more behind":             {`{} {}`, "json", 400},
		"a bracket too many":      {`{}}`, "json", 400},
		"another type":            {`{"name":7}`, "name type:string", 400},
		"another type in a list":  {`{"name":"x","scopes":["a",7]}`, "scopes[1] type:string", 400},
		"another type below":      {`{"parts":[{"op":"a"},{"op":7}]}`, "parts[1].op type:string", 400},
	} {
		t.Run(name, func(t *testing.T) {
			if got, status := read(t, strings.NewReader(test.body)); status != test.status || got != test.want {
				t.Errorf("%d %s, want %d %s", status, got, test.status, test.want)
			}
		})
	}
}

// TestBodiesThatAreNotRead: the response to a body that cannot be read says why, and the document lists its status for
// every operation with a body.
func TestBodiesThatAreNotRead(t *testing.T) {
	o := contract.Operation{Bodies: []contract.Body{{}}}
	for name, test := range map[string]struct {
		body   io.Reader
		header []string
		want   string
		status int
	}{
		"too large":       {strings.NewReader(strings.Repeat(" ", 1<<20+1)), nil, "", 413},
		"too slow":        {iotest.ErrReader(os.ErrDeadlineExceeded), nil, "", 408},
		"cut off":         {io.MultiReader(strings.NewReader(`{"name":`), iotest.ErrReader(io.ErrUnexpectedEOF)), nil, "complete", 400},
		"another type":    {strings.NewReader(`{}`), []string{"Content-Type", "text/plain"}, "", 415},
		"compressed":      {strings.NewReader("\x1f\x8b\x08"), []string{"Content-Encoding", "gzip"}, "", 415},
		"not JSON at all": {strings.NewReader("x"), []string{"Content-Encoding", "identity"}, "json", 400},
	} {
		t.Run(name, func(t *testing.T) {
			if got, status := read(t, test.body, test.header...); status != test.status || got != test.want {
				t.Errorf("%d %s, want %d %s", status, got, test.status, test.want)
			}
			if !slices.ContainsFunc(o.Refusals(), func(kind problem.Kind) bool { return kind.Status() == test.status }) {
				t.Errorf("the status %d is not documented", test.status)
			}
		})
	}
}
