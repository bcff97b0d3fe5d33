package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/problem"
)

var noon = time.Date(2031, 4, 5, 12, 0, 0, 7e6, time.FixedZone("", 3600))

type outer struct {
	Protocol string
	OK       bool
	Data     json.RawMessage
	Meta     *struct{ RequestID, GeneratedAt, HospitalID string }
	Error    *struct {
		Code, Message, Docs string
		Details             []httpapi.Detail
		Ack, AckCode        string
	}
}

// labor counts the work that a request causes outside its handler.
type labor struct {
	lookups int // number of key lookups
	used    int // how often the use of a key was recorded
}

// fixture is a router with one endpoint of each kind.
func fixture(log io.Writer) http.Handler {
	h, _ := counted(log)
	return h
}

func counted(log io.Writer) (http.Handler, *labor) {
	work := new(labor)
	register := access.NewRegister(func() time.Time { return noon })
	for token, key := range map[string]access.Key{
		"svc_good":    {ID: "key_1", Hospital: "north", Scopes: []access.Scope{access.ReadUnitState}},
		"svc_foreign": {ID: "key_5", Hospital: "south", Scopes: []access.Scope{access.ReadUnitState}},
		"svc_narrow":  {ID: "key_2", Hospital: "north", Scopes: []access.Scope{access.ReadStatus}},
		"svc_revoked": {ID: "key_3", Hospital: "north", Scopes: []access.Scope{access.ReadUnitState}, RevokedAt: noon},
		"svc_expired": {ID: "key_4", Hospital: "north", Scopes: []access.Scope{access.ReadUnitState}, ExpiresAt: noon},
	} {
		key.Hash = access.Hash(token)
		register.SetKey(key)
	}
	shell := &httpapi.Shell{
		Now: func() time.Time { return noon },
		Lookup: func(token string) (access.Key, bool) {
			work.lookups++
			return register.Lookup(token)
		},
		Used:    func(string) { work.used++ },
		DocsURL: "https://docs.example/errors", Log: slog.New(slog.NewJSONHandler(log, nil)),
	}
	r := shell.Router()
	allow := shell.Allow(access.ReadUnitState)
	r.With(allow).Get("/thing/{id}", func(w http.ResponseWriter, r *http.Request) {
		httpapi.OK(w, r, struct {
			At  httpapi.Time `json:"at"`
			Nil httpapi.Time `json:"nil"`
			Who string       `json:"who"`
		}{At: httpapi.Time(noon), Who: httpapi.Caller(r.Context()).ID + " <&>"})
	})
	r.With(allow).Post("/thing/{id}", func(w http.ResponseWriter, r *http.Request) {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unprocessable, HL7: &httpapi.HL7{Ack: "MSH", AckCode: "AE"}, Details: []httpapi.Detail{{Path: "a[0].b", Rule: "required"}}})
	})
	r.Get("/raw", func(w http.ResponseWriter, r *http.Request) { httpapi.OK(w, r, json.RawMessage(`{"a": 1}`)) })
	r.Get("/panic", func(http.ResponseWriter, *http.Request) { panic("canary-7QX") })
	r.Get("/away", func(w http.ResponseWriter, r *http.Request) {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: 1100 * time.Millisecond})
	})
	return r, work
}

func ask(t *testing.T, h http.Handler, method, path string, headers ...string) (*httptest.ResponseRecorder, outer) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body outer
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
	}
	if body.Protocol != "svc.v1" || body.OK != (body.Error == nil) || body.OK != (w.Code == http.StatusOK) {
		t.Errorf("%s %s: envelope %q", method, path, w.Body)
	}
	if body.Error != nil && (body.Error.Docs != "https://docs.example/errors" || body.Error.Message == "") {
		t.Errorf("%s %s: error %+v", method, path, body.Error)
	}
	if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("X-Request-Id") == "" {
		t.Errorf("%s %s: headers %v", method, path, w.Header())
	}
	return w, body
}

func TestSuccess(t *testing.T) {
	w, body := ask(t, fixture(new(bytes.Buffer)), http.MethodGet, "/thing/7", "Authorization", "bearer svc_good", "X-Request-Id", `abc"\1`)
	if want := `{"at":"2031-04-05T11:00:00.007Z","nil":null,"who":"key_1 <&>"}`; string(body.Data) != want {
		t.Errorf("data %s, want %s", body.Data, want)
	}
	if body.Meta.RequestID != `abc"\1` || body.Meta.GeneratedAt != "2031-04-05T11:00:00.007Z" || body.Meta.HospitalID != "north" {
		t.Errorf("meta %+v", body.Meta)
	}
	if w.Header().Get("X-Request-Id") != `abc"\1` {
		t.Errorf("header %q", w.Header().Get("X-Request-Id"))
	}
	if _, raw := ask(t, fixture(new(bytes.Buffer)), http.MethodGet, "/raw"); string(raw.Data) != `{"a": 1}` {
		t.Errorf("raw data %s", raw.Data)
	}
}

func TestRequestID(t *testing.T) {
	fresh := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for name, c := range map[string]struct {
		sent string
		kept bool
	}{
		"one character":    {"x", true},
		"longest":          {strings.Repeat("~", 128), true},
		"too long":         {strings.Repeat("a", 129), false},
		"empty":            {"", false},
		"space":            {"a b", false},
		"control":          {"a\x7fb", false},
		"not ASCII":        {"aé", false},
		"first visible is": {"!", true},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := ask(t, fixture(new(bytes.Buffer)), http.MethodGet, "/raw", "X-Request-Id", c.sent)
			got := w.Header().Get("X-Request-Id")
			if c.kept && got != c.sent || !c.kept && !fresh.MatchString(got) {
				t.Errorf("sent %q, got %q", c.sent, got)
			}
		})
	}
}

// TestEveryRefusedKeyLooksTheSame: every refused key gets the same response after the same work, which is one lookup.
// Every valid key causes one lookup and one recorded use, even if it lacks the scope or belongs to a different
// hospital.
func TestEveryRefusedKeyLooksTheSame(t *testing.T) {
	h, work := counted(new(bytes.Buffer))
	answers := map[string]bool{}
	for name, headers := range map[string][]string{
		"missing":   {},
		"empty":     {"Authorization", ""},
		"basic":     {"Authorization", "Basic svc_good"},
		"unknown":   {"Authorization", "Bearer svc_unknown"},
		"revoked":   {"Authorization", "Bearer svc_revoked"},
		"expired":   {"Authorization", "Bearer svc_expired"},
		"two":       {"Authorization", "Bearer svc_good", "Authorization", "Bearer svc_good"},
		"no scheme": {"Authorization", "svc_good"},
	} {
		*work = labor{}
		w, body := ask(t, h, http.MethodGet, "/thing/7", append(headers, "X-Request-Id", "same")...)
		if *work != (labor{lookups: 1}) {
			t.Errorf("%s: %+v, want one look-up of a key and nothing else", name, *work)
		}
		if w.Code != http.StatusUnauthorized || body.Error.Code != "unauthorized" || w.Header().Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
		answers[w.Body.String()] = true
	}
	if len(answers) != 1 {
		t.Errorf("answers differ: %q", slices.Collect(maps.Keys(answers)))
	}
	for _, token := range []string{"svc_good", "svc_narrow", "svc_foreign"} {
		*work = labor{}
		ask(t, h, http.MethodGet, "/thing/7", "Authorization", "Bearer "+token)
		if *work != (labor{lookups: 1, used: 1}) {
			t.Errorf("%s: %+v, want one look-up and one use", token, *work)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, token string
		status              int
		code                string
		header, value       string
	}{
		"scope":                      {"GET", "/thing/7", "svc_narrow", 403, "forbidden_scope", "", ""},
		"unknown path":               {"GET", "/nowhere/canary", "", 404, "not_found", "Cache-Control", "no-store"},
		"method":                     {"DELETE", "/thing/7", "svc_good", 405, "invalid_request", "Allow", "GET, HEAD, POST, OPTIONS"},
		"invented method on no path": {"BREW", "/nowhere", "svc_good", 404, "not_found", "Allow", ""},
		"details":                    {"POST", "/thing/7", "svc_good", 422, "unprocessable", "", ""},
		"away":                       {"GET", "/away", "", 503, "internal", "Retry-After", "2"},
		"panic":                      {"GET", "/panic", "", 500, "internal", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, body := ask(t, fixture(new(bytes.Buffer)), c.method, c.path, "Authorization", "Bearer "+c.token)
			if w.Code != c.status || body.Error.Code != c.code {
				t.Errorf("%d %s, want %d %s", w.Code, body.Error.Code, c.status, c.code)
			}
			if c.header != "" && w.Header().Get(c.header) != c.value {
				t.Errorf("%s: %q, want %q", c.header, w.Header().Get(c.header), c.value)
			}
			switch name {
			case "scope":
				if !strings.Contains(body.Error.Message, "read:unit-state") {
					t.Errorf("message %q does not name the scope", body.Error.Message)
				}
			case "details":
				if !slices.Equal(body.Error.Details, []httpapi.Detail{{Path: "a[0].b", Rule: "required"}}) || body.Error.Ack != "MSH" || body.Error.AckCode != "AE" {
					t.Errorf("error %+v", body.Error)
				}
			}
		})
	}
}

func TestOneLogLineWithoutValues(t *testing.T) {
	var log bytes.Buffer
	h := fixture(&log)
	ask(t, h, http.MethodGet, "/thing/canary-7QX?q=canary-7QX", "Authorization", "Bearer svc_good", "X-Request-Id", "canary-7QX")
	ask(t, h, "CANARY-7QX", "/thing/canary-7QX")
	ask(t, h, http.MethodGet, "/nowhere/canary-7QX")
	if lines := strings.Count(log.String(), "\n"); lines != 3 {
		t.Errorf("%d lines: %s", lines, &log)
	}
	ask(t, h, http.MethodGet, "/panic")
	if strings.Contains(strings.ToLower(log.String()), "canary-7qx") {
		t.Errorf("a value was logged: %s", &log)
	}
	var line struct {
		Msg, Method, Route, Hospital, Key_ID string //nolint:revive,staticcheck // Key_ID has the name of the log attribute
		Status                               int
	}
	first, _, _ := strings.Cut(log.String(), "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		t.Fatal(err)
	}
	if line.Msg != "request" || line.Method != "GET" || line.Route != "/thing/{id}" || line.Hospital != "north" || line.Key_ID != "key_1" || line.Status != 200 {
		t.Errorf("line %s", first)
	}
}

// TestReadinessIsNoErrorLine: orchestrators poll the readiness of a process every few seconds. Every start reports
// "not ready" for a while, which is not a request error and is not logged at the usual log level.
func TestReadinessIsNoErrorLine(t *testing.T) {
	var log bytes.Buffer
	shell := &httpapi.Shell{Now: time.Now, Log: slog.New(slog.NewJSONHandler(&log, nil))}
	r := shell.Router()
	for _, path := range []string{"/readyz", "/other"} {
		r.Get(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	if text := log.String(); strings.Contains(text, "/readyz") || !strings.Contains(text, `"level":"ERROR","msg":"request","method":"GET","route":"/other"`) {
		t.Errorf("log: %s", text)
	}
}

// TestLogOfRefusedKeys: the log line of a refused request contains the client address and, unless the key is unknown,
// the hospital and the id of the key. A response with 401 does not contain the id.
func TestLogOfRefusedKeys(t *testing.T) {
	for token, want := range map[string]string{
		"svc_revoked": "192.0.2.1 north key_3 401", "svc_expired": "192.0.2.1 north key_4 401", "svc_unknown": "192.0.2.1   401",
		"svc_narrow": "192.0.2.1 north key_2 403", "svc_good": "192.0.2.1 north key_1 200",
	} {
		var log bytes.Buffer
		w, _ := ask(t, fixture(&log), http.MethodGet, "/thing/7", "Authorization", "Bearer "+token)
		var line struct {
			Address, Hospital, Key_ID string //nolint:revive,staticcheck // Key_ID has the name of the log attribute
			Status                    int
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(line.Address, " ", line.Hospital, " ", line.Key_ID, " ", line.Status); got != want {
			t.Errorf("%s: %q, want %q", token, got, want)
		}
		if w.Code == http.StatusUnauthorized && strings.Contains(w.Body.String(), "key_") {
			t.Errorf("%s: %s", token, w.Body)
		}
	}
}

func TestEveryKindHasARow(t *testing.T) {
	for k := problem.Internal; k <= problem.RateLimited; k++ {
		if k.Code() == "" || k.Status() < 400 {
			t.Errorf("kind %d has no row", k)
		}
	}
}
