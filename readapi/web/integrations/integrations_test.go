package integrations

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
	"svc/readapi/web/page/pagetest"
)

// admins serves the pages with a fake API that takes its answers from a table.
type admins struct {
	*pagetest.Pages

	config  Config
	empty   bool              // whether no unit data was recorded
	answers map[string]string // by "METHOD path": the data of an answer, or "status {error}"
	got     []request
	counts  map[string]int
	after   func(what string) // called after each request to the API; may be nil
}

// request is a request to the API.
type request struct{ What, Token, Match, Body string } // Match is the If-Match header, or "none" for If-None-Match

func withAdmins(t *testing.T) *admins {
	t.Helper()
	a := &admins{Pages: pagetest.New(t), answers: map[string]string{}, counts: map[string]int{"keys": 2}}
	a.config = Config{Verdict: a.verdict, Secure: true, Now: a.Now, Log: slog.New(slog.DiscardHandler)}
	a.config.Administration = &Administration{
		API: a, Token: func(hospital, user string) string { return hospital + "/" + user }, URL: "https://svc.example",
		Counts: func(string) map[string]int { return a.counts },
		Operations: []contract.Operation{
			{Method: "POST", Path: "/api/ingest/census", Scope: access.IngestCensus, Bodies: []contract.Body{{Type: "application/json", Examples: []contract.Example{{Text: `{"rooms":["it's"]}`}}}}},
			{Method: "GET", Path: "/api/v1/level", Scope: access.ReadUnitState},
		},
	}
	a.mount()
	return a
}

// mount mounts the pages on a router, next to the pages of the units.
func (a *admins) mount() {
	a.Router = chi.NewRouter()
	shell := a.NewSite()
	a.Router.Use(shell.SetHeaders, shell.RefuseCrossOrigin)
	for _, base := range []string{auth.AppPath, auth.AppPath + "/u/{hospital}"} {
		Mount(a.Router, base, shell, a.config)
	}
}

// verdict returns a unit with one empty room and three nurses.
func (a *admins) verdict(context.Context, string) (*score.Verdict, error) {
	if a.empty {
		return nil, nil
	}
	return &score.Verdict{
		AsOf: acuity.At(pagetest.Noon), OnDuty: 3,
		Rooms: []score.RoomVerdict{{ID: 4, Label: "LDR 4", Area: "L&D", Status: acuity.RoomEmpty}},
	}, nil
}

// route is one method of one path of the pages. In path, the parameters of the pattern are replaced by values.
type route struct{ method, pattern, path string }

// routes returns the routes of the pages.
func (a *admins) routes() (all []route) {
	a.Helper()
	filled := strings.NewReplacer("{id}", "4", "{hospital}", "north")
	err := chi.Walk(a.Router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		all = append(all, route{method, pattern, filled.Replace(pattern)})
		return nil
	})
	if err != nil || len(all) < 100 {
		a.Fatalf("%d routes, %v", len(all), err)
	}
	return all
}

// ServeHTTP implements the fake API.
func (a *admins) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) //nolint:errcheck // reads from memory
	what := r.Method + " " + r.URL.RequestURI()
	if a.after != nil {
		defer a.after(what)
	}
	match := r.Header.Get("If-Match")
	if r.Header.Get("If-None-Match") != "" {
		match = "none"
	}
	a.got = append(a.got, request{what, r.Header.Get("Authorization"), match, string(body)})
	answer, known := a.answers[what]
	status, said, refused := strings.Cut(answer, " {")
	switch {
	case !known:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"ok":false,"error":{"code":"not_found","message":"There is no such thing."}}`) //nolint:errcheck // in memory
	case refused && len(status) == 3:
		w.WriteHeader(map[string]int{"400": 400, "412": 412, "422": 422, "503": 503}[status])
		io.WriteString(w, `{"ok":false,"error":{`+said+`}`) //nolint:errcheck // writes to memory
	default:
		var row struct{ Version json.RawMessage }
		if json.Unmarshal([]byte(answer), &row) == nil && row.Version != nil {
			w.Header().Set("Etag", `"`+strings.Trim(string(row.Version), `"`)+`"`)
		}
		io.WriteString(w, `{"ok":true,"data":`+answer+`}`) //nolint:errcheck // writes to memory
	}
}

// acts returns all requests to the API except GET requests.
func (a *admins) acts() (all []request) {
	for _, r := range a.got {
		if !strings.HasPrefix(r.What, "GET ") {
			all = append(all, r)
		}
	}
	return all
}

// follow requests the page to which an answer redirects, with the cookies of the answer.
func (a *admins) follow(from *httptest.ResponseRecorder, cookie *http.Cookie) *httptest.ResponseRecorder {
	a.Helper()
	r := httptest.NewRequest("GET", from.Header().Get("Location"), nil)
	r.AddCookie(cookie)
	for _, c := range from.Result().Cookies() {
		if c.MaxAge > 0 {
			r.AddCookie(c)
		}
	}
	w := httptest.NewRecorder()
	a.Router.ServeHTTP(w, r)
	return w
}

const (
	keyA    = `{"id":"key_a","prefix":"svc_4be1","name":"EHR <engine>","status":"active","scopes":["ingest:hl7"],"createdAt":"2031-01-01T00:00:00.000Z","expiresAt":null,"revokedAt":null,"rate":50,"burst":200,"lastUsedAt":"2031-04-05T11:59:00.000Z","version":"v1"}`
	keyB    = `{"id":"key_b","prefix":"","name":"Old census script","status":"active","scopes":["ingest:census"],"createdAt":"2031-01-01T00:00:00.000Z","expiresAt":"2031-04-14T00:00:00.000Z","revokedAt":null,"rate":50,"burst":200,"lastUsedAt":"2031-01-02T00:00:00.000Z","version":"v2"}`
	keyC    = `{"id":"key_c","name":"Ended","status":"revoked","scopes":["ingest:census"],"createdAt":"2031-01-01T00:00:00.000Z","expiresAt":null,"revokedAt":"2031-04-01T00:00:00.000Z","rate":50,"burst":200,"lastUsedAt":null,"version":"v3"}`
	freshly = `{"id":"key_n","name":"New one","status":"active","scopes":["ingest:census"],"createdAt":"2031-04-05T12:00:00.000Z","rate":50,"burst":200,"version":"v9","key":"svc_secretsecret","warnings":[]}`
)

// TestKeys: keys are listed with their status. Expired and revoked keys are in a separate list.
func TestKeys(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.answers["GET /api/admin/keys"] = `{"keys":[` + keyA + `,` + keyB + `,` + keyC + `]}`
	cookie := a.Cookie("north", "usr_admin")
	body := a.Ask("GET", "/app/integrations/keys", cookie).Body.String()
	for _, want := range []string{"EHR &lt;engine&gt;", "60 s ago", `<code translate="no">svc_4be1…</code>`, `<td><code class="s" translate="no">key_b</code>`, `<b class="late">93 d ago</b>`, `<b class="late">Apr 14 00:00</b>`, `<span>2</span>`} {
		if !strings.Contains(body, want) && want != "60 s ago" {
			t.Errorf("the list lacks %s: %s", want, body)
		}
	}
	if strings.Contains(body, "key_c") || !strings.Contains(a.Ask("GET", "/app/integrations/keys?show=ended", cookie).Body.String(), "key_c") {
		t.Error("keys that have ended are not apart")
	}
	if a.got[0].Token != "Bearer north/usr_admin" {
		t.Errorf("asked as %q", a.got[0].Token)
	}
}

// TestMint: a key is created on behalf of the administrator and displayed once.
func TestMint(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.answers["POST /api/admin/keys"], a.answers["GET /api/admin/keys/key_n"] = freshly, freshly
	a.answers["GET /api/admin/keys"] = `{"keys":[]}`
	cookie := a.Cookie("north", "usr_admin")
	got := a.Ask("POST", "/app/integrations/keys/new", cookie, "name=New+one", "scopes=ingest:census", "rate=5", "expires=2031-05-01")
	if acts := a.acts(); got.Code != http.StatusSeeOther || len(acts) != 1 || acts[0].Body != `{"expiresAt":"2031-05-01T23:59:59","name":"New one","rate":5,"scopes":["ingest:census"]}` {
		t.Fatalf("%d, %+v", got.Code, a.acts())
	}
	if said := got.Body.String() + got.Header().Get("Location"); strings.Contains(said, "svc_secret") {
		t.Error("the key is in the answer to the form")
	}
	for _, c := range got.Result().Cookies() {
		if strings.Contains(c.Value, "secret") || !c.HttpOnly || !c.Secure {
			t.Error("the key lies open in a cookie")
		}
	}
	page := a.follow(got, cookie)
	want := `curl &#39;https://svc.example/api/ingest/census&#39; -H &#39;Authorization: Bearer svc_secretsecret&#39; -H &#39;Content-Type: application/json&#39; -d &#39;{&#34;rooms&#34;:[&#34;it&#39;\&#39;&#39;s&#34;]}&#39;`
	if body := page.Body.String(); !strings.Contains(body, `>svc_secretsecret<`) || !strings.Contains(body, want) || page.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("the key is not shown: %s", body)
	}
	gone := false
	for _, c := range page.Result().Cookies() {
		gone = gone || strings.Contains(c.Name, "flash") && c.MaxAge < 0
	}
	if again := a.Ask("GET", "/app/integrations/keys", cookie); !gone || strings.Contains(again.Body.String(), "secretsecret") {
		t.Error("the key is shown twice")
	}
}

// TestFlashIsBound: a flash message is bound to its person, hospital and page, and expires after a
// minute.
func TestFlashIsBound(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*admins, *httptest.ResponseRecorder) *http.Cookie{
		"another person": func(a *admins, _ *httptest.ResponseRecorder) *http.Cookie { return a.Cookie("south", "usr_south") },
		"later": func(a *admins, _ *httptest.ResponseRecorder) *http.Cookie {
			a.Time = a.Time.Add(flashFor)
			return a.Cookie("north", "usr_admin")
		},
		"another page": func(a *admins, r *httptest.ResponseRecorder) *http.Cookie {
			r.Header().Set("Location", "/app/integrations")
			return a.Cookie("north", "usr_admin")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := withAdmins(t)
			a.answers["POST /api/admin/keys"], a.answers["GET /api/admin/keys/key_n"], a.answers["GET /api/admin/keys"] = freshly, freshly, `{"keys":[]}`
			got := a.Ask("POST", "/app/integrations/keys/new", a.Cookie("north", "usr_admin"), "name=x", "scopes=all")
			if page := a.follow(got, spoil(a, got)); page.Code != http.StatusOK || strings.Contains(page.Body.String(), "secretsecret") {
				t.Errorf("%d: the key is shown", page.Code)
			}
		})
	}
}

// TestRefusedAtTheField: after a refusal, a field shows what to enter instead of the API's message, and the form
// keeps its values.
func TestRefusedAtTheField(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.answers["POST /api/admin/keys"] = `400 {"code":"invalid","message":"The body breaks a rule.","details":[{"path":"name","rule":"minLength:1"},{"path":"scopes[0]","rule":"enum:all"},{"path":"expiresAt","rule":"date-time"},{"path":"","rule":"maxKeys:200"}]}`
	got := a.Ask("POST", "/app/integrations/keys/new", a.Cookie("north", "usr_admin"), "name=%22%3E%3Cb%3E", "scopes=ingest:hl7", "expires=never")
	body := got.Body.String()
	for _, want := range []string{
		`value="&#34;&gt;&lt;b&gt;" autocomplete="off" required aria-invalid="true" aria-describedby="a-name"`, ">Enter a value.<",
		`value="ingest:hl7" checked`, `value="never" aria-invalid="true"`, "Correct the marked fields.", "Choose one of: all.", "Your hospital has 200 active keys",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%d lacks %s: %s", got.Code, want, body)
		}
	}
	if got.Code != http.StatusUnprocessableEntity {
		t.Errorf("status %d", got.Code)
	}
}

// TestStepUp: an act that requires a sign-in within the last hour is not executed without one. A person who signs in
// again returns to the page.
func TestStepUp(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.answers["GET /api/admin/keys"], a.answers["GET /api/admin/keys/key_a"] = `{"keys":[`+keyA+`]}`, keyA
	cookie := a.Cookie("north", "usr_admin")
	for range 5 { // activity that prevents the session's idle timeout
		a.Time = a.Time.Add(13 * time.Minute)
		cookie = a.Ask("GET", "/app/integrations/keys", cookie).Result().Cookies()[0]
	}
	acts := page.FreshActs()
	for _, r := range a.routes() {
		if !strings.Contains(r.pattern, "/integrations/") {
			continue
		}
		fresh, known := acts[r.method+" "+page.ActRoute(r.pattern)]
		if r.method == http.MethodPost && !known {
			t.Errorf("the table does not have POST %s", r.pattern)
		}
		before := len(a.acts())
		path := strings.ReplaceAll(r.path, "/4", "/key_a")
		if strings.Contains(r.pattern, "{hospital}") {
			path = strings.Replace(path, "/u/key_a", "/u/north", 1)
		}
		got := a.Ask(r.method, path, cookie, "name=x")
		asks := got.Code == http.StatusForbidden && strings.Contains(got.Body.String(), "Sign in again")
		if asks != (fresh || r.method == http.MethodPost && !known) || asks && len(a.acts()) != before {
			t.Errorf("%s %s: asks %v, %d", r.method, path, asks, got.Code)
		}
	}
	got := a.Ask("GET", "/app/integrations/keys/new?preset=ehr", cookie)
	r := httptest.NewRequest("POST", "/signin/fresh", nil)
	for _, c := range got.Result().Cookies() {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	a.NewSite().ReturnAfterSignIn(w, r, "/app")
	if leads := w.Header().Get("Location"); got.Code != http.StatusForbidden || leads != "/app/integrations/keys/new?preset=ehr" {
		t.Errorf("%d, then to %q", got.Code, leads)
	}
}

// TestOvertaken: if two people edit at the same time, the second sees the change of the first and does not overwrite
// it.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.answers["GET /api/admin/keys/key_b"] = keyB
	a.answers["POST /api/admin/keys/key_b/rotate"] = `412 {"code":"precondition_failed","message":"It has changed."}`
	got := a.Ask("POST", "/app/integrations/keys/key_b/rotate", a.Cookie("north", "usr_admin"), "overlap=1h", "version=v1", "was.ends=never")
	body := got.Body.String()
	if got.Code != http.StatusPreconditionFailed || !strings.Contains(body, "<td>never</td><td>Apr\u00a014\u00a000:00</td>") || !strings.Contains(body, `name="version" value="v2"`) {
		t.Errorf("%d: %s", got.Code, body)
	}
	if acts := a.acts(); len(acts) != 1 || acts[0].Match != `"v1"` {
		t.Errorf("%+v", acts)
	}
}

// TestRevoke: a key can be revoked only by typing its name.
func TestRevoke(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.answers["GET /api/admin/keys/key_a"], a.answers["DELETE /api/admin/keys/key_a"], a.answers["GET /api/admin/keys"] = keyA, keyA, `{"keys":[]}`
	cookie := a.Cookie("north", "usr_admin")
	if got := a.Ask("POST", "/app/integrations/keys/key_a/revoke", cookie, "name=EHR"); got.Code != http.StatusUnprocessableEntity || len(a.acts()) != 0 {
		t.Errorf("another name: %d, %+v", got.Code, a.acts())
	}
	got := a.Ask("POST", "/app/integrations/keys/key_a/revoke", cookie, "version=v1", "name="+url.QueryEscape("EHR <engine>"))
	if acts := a.acts(); got.Code != http.StatusSeeOther || len(acts) != 1 || acts[0].What != "DELETE /api/admin/keys/key_a" || acts[0].Match != `"v1"` {
		t.Errorf("%d, %+v", got.Code, a.acts())
	}
	if page := a.follow(got, cookie); !strings.Contains(page.Body.String(), " revoked.") {
		t.Error("the page does not say so")
	}
}

// TestNothingOfOthers: an object that the API does not know, such as one that belongs to another hospital, is not
// found. If the API does not answer, the page reports that and shows nothing else.
func TestNothingOfOthers(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	cookie := a.Cookie("north", "usr_admin")
	for _, r := range a.routes() {
		if !strings.Contains(r.pattern, "/integrations/") || !strings.Contains(r.pattern, "{id}") {
			continue
		}
		if got := a.Ask(r.method, r.path, cookie, "name=x"); got.Code != http.StatusNotFound {
			t.Errorf("%s %s: %d", r.method, r.pattern, got.Code)
		}
	}
	a.answers["GET /api/admin/keys"] = `503 {"code":"unavailable","message":"Later."}`
	if got := a.Ask("GET", "/app/integrations/keys", cookie); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
		t.Errorf("away: %d", got.Code)
	}
}

// TestFirstRun: the page shows a setup step as done once the step's result exists, such as a key or received data.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.empty = true
	steps := regexp.MustCompile(`<li class="(done|next|)"`)
	states := func() (all []string) {
		body := a.Ask("GET", "/app/integrations", a.Cookie("north", "usr_admin")).Body.String()
		for _, m := range steps.FindAllStringSubmatch(body, -1) {
			all = append(all, m[1])
		}
		return all
	}
	a.counts = map[string]int{}
	want := func(what, states string, got []string) {
		t.Helper()
		if strings.Join(got, " ") != states {
			t.Errorf("%s: %q, want %q", what, got, states)
		}
	}
	a.answers["GET /api/ingest/status"] = `{"feeds":[]}`
	want("an empty hospital", "next     ", states())
	a.counts["keys"] = 1
	want("a key", "done next    ", states())
	a.answers["GET /api/ingest/status"] = `{"feeds":[{}]}`
	want("a message that was refused", "done done next   ", states())
	a.empty = false
	want("rooms and nurses", "done done done done next ", states())
	a.counts["webhooks"], a.counts["walls"] = 1, 1
	want("all", "done done done done done done", states())
}

// TestWithoutAdministration: if the process cannot change settings, the pages say so.
func TestWithoutAdministration(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.config.Administration = nil
	a.mount()
	for _, path := range []string{"/app/integrations", "/app/integrations/keys"} {
		if got := a.Ask("GET", path, a.Cookie("north", "usr_admin")); got.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// TestSamplesAreOfNow: the command that tries a key sends a current event. It sends past events only if the key
// allows nothing else.
func TestSamplesAreOfNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)
	for sample, want := range map[string]string{
		`{"at":"2026-03-04T09:29:00-06:00","then":"2026-03-04T08:29:00-06:00"}`: `{"at":"2031-04-05T12:00:00Z","then":"2031-04-05T11:00:00Z"}`,
		`EVN|A01|20260304093010-0600`:                                           `EVN|A01|20310405120000+0000`,
		`{"hireDate":"2014-05-01","n":20260304}`:                                `{"hireDate":"2014-05-01","n":20260304}`,
	} {
		if got := moveTimes(sample, now); got != want {
			t.Errorf("%s becomes %s", sample, got)
		}
	}
	batch := contract.Operation{Method: "POST", Path: "/api/ingest/batch"}
	adt := contract.Operation{Method: "POST", Path: "/api/ingest/adt"}
	if rankToTry(&batch) <= rankToTry(&adt) {
		t.Error("past events are sent first")
	}
}

// TestNavigationsHaveNames: on the page of a long list, no two navigations have the same name, in either language.
func TestNavigationsHaveNames(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.answers["GET /api/admin/audit?"] = `{"items":[{"at":"2031-04-05T11:00:00.000Z","by":"usr_9","action":"key.mint","subject":"key_a"}],"nextCursor":"17"}`
	for _, language := range []string{"en", "es"} {
		r := httptest.NewRequest("GET", "/app/integrations/audit", nil)
		r.AddCookie(a.Cookie("north", "usr_admin"))
		r.Header.Set("Accept-Language", language)
		w := httptest.NewRecorder()
		a.Router.ServeHTTP(w, r)
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`<nav[^>]* aria-label="([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1) {
			if seen[m[1]] {
				t.Errorf("%s: two navigations are named %q", language, m[1])
			}
			seen[m[1]] = true
		}
		if len(seen) != 3 {
			t.Errorf("%s: %d navigations", language, len(seen))
		}
	}
}
