package apicall_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"svc/readapi/web/apicall"
)

func handler(status int, etag, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if etag != "" {
			w.Header().Set("Etag", etag)
		}
		if status != 0 {
			w.WriteHeader(status)
		}
		io.WriteString(w, body) //nolint:errcheck // writes to memory
	}
}

func send(t *testing.T, api http.Handler, body any) (*apicall.Answer, error) {
	t.Helper()
	return apicall.Send(t.Context(), api, http.MethodPut, "/api/admin/layout", http.Header{}, body)
}

// TestAnswers: if the API refuses a request, Send returns the refusal without an error. If the API is unavailable or
// its response is not readable, Send returns ErrUnclear.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const refused = `{"ok":false,"error":{"code":"invalid","message":"m","details":[{"path":"rows","rule":"range:1-24"}]}}`
	for name, c := range map[string]struct {
		status     int
		body       string
		unclear    bool
		page       int // expected status of the page; 0 if not refused
		overtaken  bool
		wantDetail string
	}{
		"done":              {0, `{"ok":true,"data":{"rows":3}}`, false, 0, false, ""},
		"invalid":           {http.StatusBadRequest, refused, false, http.StatusUnprocessableEntity, false, "range:1-24"},
		"missing":           {http.StatusNotFound, `{"ok":false,"error":{"code":"not_found"}}`, false, http.StatusUnprocessableEntity, false, ""},
		"overtaken":         {http.StatusPreconditionFailed, `{"ok":false,"error":{"code":"precondition"}}`, false, http.StatusPreconditionFailed, true, ""},
		"unavailable":       {http.StatusServiceUnavailable, `{"ok":false,"error":{"code":"unavailable"}}`, true, 0, false, ""},
		"too many requests": {http.StatusTooManyRequests, `{"ok":false,"error":{"code":"rate"}}`, true, 0, false, ""},
		"unknown key":       {http.StatusUnauthorized, `{"ok":false,"error":{"code":"unauthorized"}}`, true, 0, false, ""},
		"half an answer":    {0, `{"ok":true,"da`, true, 0, false, ""},
		"nothing":           {0, ``, true, 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := send(t, handler(c.status, `"57"`, c.body), nil)
			if c.unclear {
				if !errors.Is(err, apicall.ErrUnclear) {
					t.Errorf("%v, want unclear", err)
				}
				return
			}
			switch {
			case err != nil:
				t.Fatal(err)
			case got.Version != "57":
				t.Errorf("version %q", got.Version)
			case (got.Refused != nil) != (c.page != 0), got.Refused.IsOvertaken() != c.overtaken:
				t.Errorf("refused %+v", got.Refused)
			case c.page != 0 && got.Refused.PageStatus() != c.page:
				t.Errorf("status of the page %d, want %d", got.Refused.PageStatus(), c.page)
			case c.wantDetail != "" && (len(got.Refused.Details) != 1 || got.Refused.Details[0].Rule != c.wantDetail):
				t.Errorf("details %+v", got.Refused.Details)
			}
		})
	}
}

// TestBodies: a body is encoded as JSON exactly once, whatever type of value the page passes.
func TestBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body             any
		want, wantedType string
	}{
		"none":     {nil, "", ""},
		"a struct": {struct{ Rows int }{3}, `{"Rows":3}`, "application/json"},
		"as typed": {json.RawMessage(`{"rows": 3`), `{"rows": 3`, "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := send(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got, err := io.ReadAll(r.Body)
				if err != nil || string(got) != c.want || r.Header.Get("Content-Type") != c.wantedType || r.ContentLength != int64(len(c.want)) {
					t.Errorf("%q of type %q and length %d, %v", got, r.Header.Get("Content-Type"), r.ContentLength, err)
				}
				handler(0, "", `{"ok":true}`)(w, r)
			}), c.body)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNotSent: a body that cannot be encoded is never sent, and the error shows that no request was sent.
func TestNotSent(t *testing.T) {
	t.Parallel()
	_, err := send(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }), func() {})
	if err == nil || errors.Is(err, apicall.ErrUnclear) {
		t.Errorf("%v", err)
	}
}

// TestReaderLeaves: the request to the API ends when the request for the page ends.
func TestReaderLeaves(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := apicall.Send(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}), http.MethodGet, "/api/admin/layout", http.Header{}, nil)
	if !errors.Is(err, apicall.ErrUnclear) {
		t.Errorf("%v, want unclear", err)
	}
}

// TestDecode reads the data of an answer.
func TestDecode(t *testing.T) {
	t.Parallel()
	got, err := send(t, handler(0, "", `{"ok":true,"data":{"rows":3}}`), nil)
	var into struct{ Rows int }
	if err != nil || got.Decode(&into) != nil || into.Rows != 3 {
		t.Errorf("%+v, %v", into, err)
	}
	if got.Decode(new(string)) == nil {
		t.Error("an object was read as a text")
	}
}
