package integrations

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	hookA = `{"id":"whk_a","url":"https://ops.example/hook","events":["surge.level_changed"],"rooms":null,"enabled":true,"ratePerSecond":50,"timeoutSeconds":10,"readerKeyIds":[],"secrets":[{"id":"sec_1","state":"current","until":null}],"status":"disabled","reason":"failing","failingSince":null,"waiting":4,"version":3,"createdAt":"2031-01-01T00:00:00.000Z"}`
	hookN = `{"id":"whk_n","url":"https://ops.example/new","events":["ping"],"rooms":[1,4],"enabled":true,"secrets":[],"version":1,"secret":"whsec_canary","warnings":[{"code":"name_unresolved"}]}`
	sent  = `{"id":"dlv_1","eventId":"evt_1","event":"room.rescored","endpointId":"whk_a","state":"rejected","reason":"status_422","occurredAt":"2031-04-05T11:00:00.000Z","nextAttemptAt":null,"attempts":[{"n":11,"at":"2031-04-05T11:00:01.000Z","ms":60,"class":"status","status":422,"response":"<no>"}]}`
	told  = `{"commandId":"cmd_1","verb":"test","done":true,"stopped":false,"reason":null,"count":1,"delivered":0,"failed":1,"deliveryId":"dlv_1"}`
)

// withHooks returns the pages with one endpoint.
func withHooks(t *testing.T) (*admins, *http.Cookie) {
	a := withAdmins(t)
	a.config.Administration.TestRequest = func(_ context.Context, _, _, command, _ string, _, _ time.Time) string {
		return "request of " + command
	}
	a.answers["GET /api/admin/webhooks"], a.answers["GET /api/admin/webhooks/whk_a"] = `{"webhooks":[`+hookA+`]}`, hookA
	a.answers["GET /api/admin/webhooks/whk_a/deliveries?limit=50"] = `{"items":[` + sent + `],"next":"more"}`
	a.answers["GET /api/admin/deliveries/dlv_1"], a.answers["GET /api/admin/commands/cmd_1"] = sent, told
	return a, a.Cookie("north", "usr_admin")
}

// TestHooks: the pages show why an endpoint is disabled, its deliveries, and the result and request of a test.
func TestHooks(t *testing.T) {
	t.Parallel()
	a, cookie := withHooks(t)
	for path, wants := range map[string][]string{
		"/webhooks":                        {`href="/app/integrations/webhooks/whk_a"`, "disabled: deliveries failed for too long"},
		"/webhooks/whk_a":                  {"422 in 60 ms", "rejected (status_422)", "/deliveries/dlv_1/retry", "?cursor=more", "Current secret: sec_1"},
		"/webhooks/whk_a/deliveries/dlv_1": {"<code translate=\"no\">&lt;no&gt;</code>", "11:00:01"},
		"/webhooks/whk_a/commands/cmd_1":   {"request of cmd_1", "0 of 1 delivered, 1 failed", "422 in 60 ms"},
	} {
		got := a.Ask("GET", "/app/integrations"+path, cookie)
		for _, want := range wants {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: %d lacks %s: %s", path, got.Code, want, got.Body)
			}
		}
	}
	a.answers["GET /api/admin/deliveries/dlv_2"] = strings.ReplaceAll(sent, "whk_a", "whk_b")
	for _, path := range []string{"/webhooks/whk_b", "/webhooks/whk_a/deliveries/dlv_2", "/webhooks/whk_a/deliveries/none", "/webhooks/whk_a/commands/none"} {
		if got := a.Ask("GET", "/app/integrations"+path, cookie); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// TestHookActs: each form sends one request to the API, with the version of the endpoint that the form displayed.
func TestHookActs(t *testing.T) {
	t.Parallel()
	all := `"enabled":true,"events":["ping"],"ratePerSecond":50,"readerKeyIds":["key_a","key_b"],"rooms":[1,"x"],"timeoutSeconds":10,"url":"https://ops.example/new"`
	form := "url=https://ops.example/new&events=ping&rooms=1,+x&readers=key_a+key_b&enabled=yes"
	for name, tt := range map[string]struct {
		path, form string
		want       request // the expected request
		answer     string
		leads      string
	}{
		"create":     {"/new", form, request{What: "POST /api/admin/webhooks", Body: "{" + all + "}"}, hookN, "/whk_n"},
		"own secret": {"/new", form + "&secret=abc", request{What: "POST /api/admin/webhooks", Body: strings.Replace("{"+all+"}", `"timeout`, `"secret":"abc","timeout`, 1)}, hookN, "/whk_n"},
		"change":     {"/whk_a/edit", form + "&version=3", request{What: "PATCH /api/admin/webhooks/whk_a", Match: `"3"`, Body: "{" + all + "}"}, hookA, "/whk_a"},
		"all rooms":  {"/whk_a/edit", "version=3&url=u", request{What: "PATCH /api/admin/webhooks/whk_a", Match: `"3"`, Body: `{"enabled":false,"events":[],"ratePerSecond":50,"readerKeyIds":[],"rooms":null,"timeoutSeconds":10,"url":"u"}`}, hookA, "/whk_a"},
		"rotate":     {"/whk_a/rotate", "overlap=1&version=3", request{What: "POST /api/admin/webhooks/whk_a/rotate", Match: `"3"`, Body: `{"overlapHours":1}`}, strings.Replace(hookA, `"version":3`, `"version":3,"secret":"whsec_canary"`, 1), "/whk_a"},
		"delete":     {"/whk_a/delete", "version=3&name=https://ops.example/hook", request{What: "DELETE /api/admin/webhooks/whk_a", Match: `"3"`}, hookA, ""},
		"test":       {"/whk_a/test", "event=ping", request{What: "POST /api/admin/webhooks/whk_a/test", Body: `{"event":"ping"}`}, told, "/whk_a/commands/cmd_1"},
		"retry":      {"/whk_a/deliveries/dlv_1/retry", "", request{What: "POST /api/admin/deliveries/dlv_1/retry"}, told, "/whk_a/commands/cmd_1"},
		"replay":     {"/whk_a/replay", "since=2031-04-05T10:00&only=failed", request{What: "POST /api/admin/webhooks/whk_a/replay", Body: `{"only":"failed","since":"2031-04-05T10:00:00"}`}, told, "/whk_a/commands/cmd_1"},
		"stop":       {"/whk_a/commands/cmd_1/stop", "", request{What: "POST /api/admin/commands/cmd_1/stop"}, told, "/whk_a/commands/cmd_1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := withHooks(t)
			a.answers["GET /api/admin/webhooks/whk_n"], a.answers["GET /api/admin/webhooks/whk_n/deliveries?limit=50"] = hookN, `{"items":[],"next":null}`
			a.answers[tt.want.What] = tt.answer
			if name == "delete" {
				a.after = func(what string) {
					if what == tt.want.What {
						delete(a.answers, "GET /api/admin/webhooks/whk_a")
					}
				}
			}
			got := a.Ask("POST", "/app/integrations/webhooks"+tt.path, cookie, tt.form)
			tt.want.Token = "Bearer north/usr_admin"
			if acts := a.acts(); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/app/integrations/webhooks"+tt.leads || !slices.Equal(acts, []request{tt.want}) {
				t.Errorf("%d to %q; asked %+v: %s", got.Code, got.Header().Get("Location"), acts, got.Body)
			}
			if secret := strings.Contains(tt.answer, "canary"); secret != strings.Contains(a.follow(got, cookie).Body.String(), ">whsec_canary<") {
				t.Errorf("the secret is shown: %v", !secret)
			}
		})
	}
}

// TestHookRefused: after a refusal, the response contains the form with the reason at each refused field, but without
// the secret. If another person changed the endpoint first, the page shows the current values.
func TestHookRefused(t *testing.T) {
	t.Parallel()
	a, cookie := withHooks(t)
	a.answers["POST /api/admin/webhooks"] = `422 {"code":"unprocessable","message":"It cannot be done.","details":[{"path":"url","rule":"scheme_refused"},{"path":"rooms[1]","rule":"type:integer"}]}`
	got := a.Ask("POST", "/app/integrations/webhooks/new", cookie, "url=http://x&secret=canary&rooms=1,x")
	if body := got.Body.String(); got.Code != http.StatusUnprocessableEntity || strings.Contains(body, "canary") || !strings.Contains(body, "Enter an address that starts with https://.") || !strings.Contains(body, "Enter a whole number.") || !strings.Contains(body, `value="1,x" autocomplete="off" aria-invalid="true"`) {
		t.Errorf("%d: %s", got.Code, body)
	}
	a.answers["PATCH /api/admin/webhooks/whk_a"] = `412 {"code":"precondition_failed","message":"It has changed."}`
	got = a.Ask("POST", "/app/integrations/webhooks/whk_a/edit", cookie, "url=https://mine.example&version=2&was.url=https://was.example&was.events=surge.level_changed&was.rooms=&was.rate=50&was.timeout=10&was.readers=&was.enabled=yes&enabled=yes")
	if body := got.Body.String(); got.Code != http.StatusPreconditionFailed || strings.Count(body, "<td>https://was.example</td><td>https://ops.example/hook</td><td>https://mine.example</td>") != 1 || strings.Count(body, "<tr><th scope=\"row\">") != 1 || !strings.Contains(body, `name="version" value="3"`) {
		t.Errorf("%d: %s", got.Code, body)
	}
}

// TestReplayIsCounted: before a replay begins, the page shows how many deliveries would be sent
// again.
func TestReplayIsCounted(t *testing.T) {
	t.Parallel()
	for count, want := range map[string]string{"3": "3 deliveries will be sent.", "1": "1 delivery will be sent.", "null": "is not known yet"} {
		a, cookie := withHooks(t)
		a.answers["POST /api/admin/webhooks/whk_a/replay?dryRun=true"] = `{"commandId":"cmd_1","count":` + count + `,"dryRun":true}`
		got := a.Ask("GET", "/app/integrations/webhooks/whk_a/replay?since=2031-04-05T10:00&until=2031-04-05T11:00&only=failed", cookie)
		asked := request{"POST /api/admin/webhooks/whk_a/replay?dryRun=true", "Bearer north/usr_admin", "", `{"only":"failed","since":"2031-04-05T10:00:00","until":"2031-04-05T11:00:00"}`}
		if body := got.Body.String(); !strings.Contains(body, want) || !strings.Contains(body, `name="since" value="2031-04-05T10:00"`) || !slices.Equal(a.acts(), []request{asked}) {
			t.Errorf("%d, asked %+v: %s", got.Code, a.acts(), body)
		}
	}
}

// TestLongLists: five hundred endpoints are shown in pages of fifty.
func TestLongLists(t *testing.T) {
	t.Parallel()
	a, cookie := withHooks(t)
	hooks := make([]string, 500)
	for i := range hooks {
		hooks[i] = strings.ReplaceAll(hookA, "whk_a", fmt.Sprintf("whk_%03d", i))
	}
	a.answers["GET /api/admin/webhooks"] = `{"webhooks":[` + strings.Join(hooks, ",") + `]}`
	for page, wants := range map[string][2]string{"": {"whk_000", "1 to 50 of 500"}, "?page=2": {"whk_050", "page=3"}, "?page=10": {"whk_499", "page=9"}, "?page=11": {"whk_499", "page=9"}, "?page=x": {"whk_000", "page=2"}} {
		body := a.Ask("GET", "/app/integrations/webhooks"+page, cookie).Body.String()
		if n := strings.Count(body, `class="long"`); n != rowsAPage || !strings.Contains(body, wants[0]) || !strings.Contains(body, wants[1]) {
			t.Errorf("%s: %d rows", page, n)
		}
	}
}

// TestWallsAndUsers: a page shows the link of a wall display only once. A change to a user sends the version that the
// page showed.
func TestWallsAndUsers(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	cookie := a.Cookie("north", "usr_admin")
	a.answers["GET /api/admin/walls"] = `{"walls":[{"id":"wall_1","label":"desk","createdAt":"2031-01-01T00:00:00.000Z"}]}`
	a.answers["POST /api/admin/walls"] = `{"id":"wall_1","label":"desk","url":"/board/canary"}`
	a.config.Administration.URL = ""
	got := a.Ask("POST", "/app/integrations/walls", cookie, "label=desk")
	if page := a.follow(got, cookie); !strings.Contains(page.Body.String(), ">https://example.com/board/canary<") || strings.Contains(a.Ask("GET", "/app/integrations/walls", cookie).Body.String(), "canary") {
		t.Errorf("the link of a screen: %s", page.Body)
	}
	a.answers["POST /api/admin/walls"] = `400 {"code":"invalid","message":"It breaks a rule.","details":[{"path":"label","rule":"minLength:1"}]}`
	if got = a.Ask("POST", "/app/integrations/walls", cookie, "label="); got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "Enter a value.") {
		t.Errorf("refused: %d", got.Code)
	}
	a.answers["DELETE /api/admin/walls/wall_1"] = `{"id":"wall_1","label":"desk"}`
	a.after = func(what string) {
		if strings.HasPrefix(what, "DELETE") {
			a.answers["GET /api/admin/walls"] = `{"walls":[]}`
		}
	}
	if got = a.Ask("POST", "/app/integrations/walls/wall_1/revoke", cookie); got.Code != http.StatusSeeOther {
		t.Errorf("revoked: %d", got.Code)
	}

	const person = `{"id":"usr_9","label":"Ada","role":"viewer","signIn":"link","disabled":false,"createdAt":null,"signedInAt":null,"until":null,"version":7}`
	a.answers["GET /api/admin/users"], a.answers["PATCH /api/admin/users/usr_9"] = `{"users":[`+person+`]}`, person
	a.got = nil
	got = a.Ask("POST", "/app/integrations/users/usr_9", cookie, "label=Ada&role=charge&disabled=yes&end=yes&version=7")
	want := request{"PATCH /api/admin/users/usr_9", "Bearer north/usr_admin", `"7"`, `{"disabled":true,"endSessions":true,"label":"Ada","role":"charge"}`}
	if got.Code != http.StatusSeeOther || !slices.Equal(a.acts(), []request{want}) {
		t.Errorf("%d, %+v", got.Code, a.acts())
	}
	a.answers["PATCH /api/admin/users/usr_9"] = `412 {"code":"precondition_failed","message":"It has changed."}`
	got = a.Ask("POST", "/app/integrations/users/usr_9", cookie, "label=Eve&role=charge&version=6&was.label=Eva&was.role=viewer&was.disabled=")
	if got.Code != http.StatusPreconditionFailed || !strings.Contains(got.Body.String(), "<td>Eva</td><td>Ada</td><td>Eve</td>") {
		t.Errorf("overtaken: %d %s", got.Code, got.Body)
	}
	if got := a.Ask("GET", "/app/integrations/users/usr_8", cookie); got.Code != http.StatusNotFound {
		t.Errorf("nobody: %d", got.Code)
	}
}

// TestInvitePerson: a one-time link is created on behalf of the administrator and shown once. A refusal is shown at
// the field that caused it.
func TestInvitePerson(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	cookie := a.Cookie("north", "usr_admin")
	a.answers["GET /api/admin/users"] = `{"users":[],"invitations":[{"id":"usr_9","label":"Ada","role":"charge"}]}`
	a.answers["POST /api/admin/users"] = `{"id":"usr_9","label":"Ada","role":"charge","expiresAt":"2031-04-05T13:00:00.000Z","url":"/signin/secretsecret"}`
	got := a.Ask("POST", "/app/integrations/users", cookie, "label=Ada&role=charge&ttl=1h")
	want := request{"POST /api/admin/users", "Bearer north/usr_admin", "", `{"label":"Ada","role":"charge","ttl":"1h"}`}
	if got.Code != http.StatusSeeOther || !slices.Equal(a.acts(), []request{want}) || strings.Contains(got.Body.String()+got.Header().Get("Location"), "secretsecret") {
		t.Fatalf("%d, %+v", got.Code, a.acts())
	}
	if page := a.follow(got, cookie).Body.String(); !strings.Contains(page, ">https://svc.example/signin/secretsecret<") || !strings.Contains(page, "Send this link to Ada.") {
		t.Errorf("the link is not shown: %s", page)
	}
	if again := a.Ask("GET", "/app/integrations/users", cookie).Body.String(); strings.Contains(again, "secretsecret") || !strings.Contains(again, `<option value="1h" selected>`) {
		t.Errorf("again: %s", again)
	}
	a.answers["POST /api/admin/users"] = `400 {"code":"invalid","message":"The body breaks a rule.","details":[{"path":"role","rule":"enum:viewer|charge|admin"}]}`
	got = a.Ask("POST", "/app/integrations/users", cookie, "label=Ada&role=root&ttl=24h")
	if body := got.Body.String(); got.Code != http.StatusUnprocessableEntity || !strings.Contains(body, `name="role" aria-invalid="true" aria-describedby="a-role"`) || !strings.Contains(body, `value="Ada"`) || !strings.Contains(body, `<option value="24h" selected>`) {
		t.Errorf("refused: %d %s", got.Code, body)
	}
}

// TestWithdrawInvitation: a page asks for confirmation before an invitation is withdrawn on behalf of the
// administrator. Afterwards, the invitation is not found.
func TestWithdrawInvitation(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	cookie := a.Cookie("north", "usr_admin")
	const invitation = `{"id":"usr_9","label":"Ada","role":"charge","createdAt":"2031-04-05T11:50:00.000Z","expiresAt":"2031-04-05T12:50:00.000Z"}`
	const act = "DELETE /api/admin/users/invitations/usr_9"
	a.answers["GET /api/admin/users"], a.answers[act] = `{"users":[],"invitations":[`+invitation+`]}`, invitation
	a.after = func(what string) {
		if what == act {
			a.answers["GET /api/admin/users"] = `{"users":[],"invitations":[]}`
			delete(a.answers, act)
		}
	}
	path := "/app/integrations/users/invitations/usr_9"
	if list := a.Ask("GET", "/app/integrations/users", cookie).Body.String(); !strings.Contains(list, `href="`+path+`" aria-label="Revoke: Ada"`) || !strings.Contains(list, "<td>Apr\u00a05\u00a011:50</td><td>Apr\u00a05\u00a012:50</td>") {
		t.Errorf("not listed: %s", list)
	}
	if asked := a.Ask("GET", path, cookie); asked.Code != http.StatusOK || !strings.Contains(asked.Body.String(), `<form method="post" action="`+path+`"`) || len(a.acts()) != 0 {
		t.Errorf("the question: %d, %+v: %s", asked.Code, a.acts(), asked.Body)
	}
	got := a.Ask("POST", path, cookie, "")
	if want := (request{act, "Bearer north/usr_admin", "", ""}); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/app/integrations/users" || !slices.Equal(a.acts(), []request{want}) {
		t.Fatalf("%d to %q, %+v", got.Code, got.Header().Get("Location"), a.acts())
	}
	if page := a.follow(got, cookie).Body.String(); !strings.Contains(page, "Invitation for Ada revoked.") || strings.Contains(page, "Pending invitations") {
		t.Errorf("afterwards: %s", page)
	}
	for _, method := range []string{"GET", "POST"} {
		if again := a.Ask(method, path, cookie); again.Code != http.StatusNotFound {
			t.Errorf("%s again: %d", method, again.Code)
		}
	}
}

// TestAuditPages: the audit log can be filtered, names the person in each entry, continues at a cursor, and can be
// downloaded as a file.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	cookie := a.Cookie("north", "usr_admin")
	act := func(id string) string {
		return `{"at":"2031-04-05T11:00:00.000Z","by":"` + id + `","action":"key.mint","subject":"key_a","before":null,"after":"v1"}`
	}
	a.answers["GET /api/admin/users"] = `{"users":[{"id":"usr_9","label":"=Ada"}],"invitations":[{"id":"usr_7","label":"desk"}]}`
	a.answers["GET /api/admin/keys"] = `{"keys":[` + keyA + `]}`
	filter := "action=key.&since=2031-04-01T00%3A00%3A00&until=2031-04-05T23%3A59%3A59.999"
	a.answers["GET /api/admin/audit?"+filter] = `{"items":[` + act("usr_9") + `,` + act("usr_7") + `],"nextCursor":"17"}`
	page := "?action=key.&since=2031-04-01&until=2031-04-05"
	body := a.Ask("GET", "/app/integrations/audit"+page, cookie).Body.String()
	for _, want := range []string{
		`=Ada<br><code class="s" translate="no">usr_9</code>`, `desk<br><code class="s" translate="no">usr_7</code>`,
		`EHR &lt;engine&gt;<br><code class="s" translate="no">key_a</code>`, "cursor=17", `value="2031-04-01"`, "audit.csv?action=key.",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %s: %s", want, body)
		}
	}
	a.answers["GET /api/admin/audit?action=key.&limit=200&since=2031-04-01T00%3A00%3A00&until=2031-04-05T23%3A59%3A59.999"] = `{"items":[` + act("usr_9") + `],"nextCursor":"17"}`
	a.answers["GET /api/admin/audit?action=key.&cursor=17&limit=200&since=2031-04-01T00%3A00%3A00&until=2031-04-05T23%3A59%3A59.999"] = `{"items":[` + act("command line") + `],"nextCursor":null}`
	file := a.Ask("GET", "/app/integrations/audit.csv"+page, cookie)
	if got := file.Body.String(); got != "at,by,name,action,subject,before,after,reason\r\n2031-04-05T11:00:00Z,usr_9,'=Ada,key.mint,key_a,,v1,\r\n2031-04-05T11:00:00Z,command line,command line,key.mint,key_a,,v1,\r\n" {
		t.Errorf("%q", got)
	}
	a.answers["GET /api/admin/audit?since=x"] = `400 {"code":"invalid","message":"It breaks a rule.","details":[{"path":"since","rule":"date-time"}]}`
	if got := a.Ask("GET", "/app/integrations/audit?since=x", cookie); got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "Enter a date and time") {
		t.Errorf("refused: %d", got.Code)
	}
}

// TestAuditInWords: each entry says in words what was done, with the API's name of the action second, and shows the
// beginning of a hash.
func TestAuditInWords(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	cookie := a.Cookie("north", "usr_admin")
	for record, wants := range map[string][]string{
		`"action":"key.mint","subject":"key_a","after":"17ad2b3e6017de10"`: {
			`<td>API key created<br><code class="s" translate="no">key.mint</code></td>`, `<code translate="no" title="17ad2b3e6017de10">17ad2b3…</code>`,
		},
		`"action":"alert-tier.set.failed","subject":"T3","before":"12345678"`: {
			`<td>Alert tier changed: failed, nothing changed<br><code class="s" translate="no">alert-tier.set.failed</code></td>`, `<code translate="no">12345678</code>`,
		},
		`"action":"rules.set.unclear","subject":"high-mag"`: {
			`<td>Values for a factor saved: outcome unknown<br>`, `<td>Magnesium sulfate<br><code class="s" translate="no">high-mag</code></td>`,
		},
		`"action":"session.end","subject":"usr_9","reason":"sign_out"`: {`<td>Session ended<br><code class="s" translate="no">session.end: sign_out</code></td>`},
		`"action":"future.act","subject":"x"`:                          {`<td>future.act<br><code class="s" translate="no">future.act</code></td>`},
	} {
		a.answers["GET /api/admin/audit?"] = `{"items":[{"at":"2031-04-05T11:00:00.000Z","by":"command line",` + record + `}]}`
		body := a.Ask("GET", "/app/integrations/audit", cookie).Body.String()
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %s: %s", record, want, body)
			}
		}
	}
}

// TestSecretsStayOut: only the page that displays a secret contains the secret. No other response and no header
// contains it.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	a, cookie := withHooks(t)
	a.answers["POST /api/admin/webhooks"], a.answers["GET /api/admin/webhooks/whk_n"] = hookN, hookN
	got := a.Ask("POST", "/app/integrations/webhooks/new", cookie, "url="+url.QueryEscape("https://ops.example/new"), "events=ping")
	for _, r := range []*httptest.ResponseRecorder{got, a.Ask("GET", "/app/integrations/webhooks/whk_a", cookie), a.Ask("GET", "/app/integrations/webhooks", cookie)} {
		if said := fmt.Sprint(r.Header(), r.Body); strings.Contains(said, "canary") {
			t.Errorf("a secret is told: %s", said)
		}
	}
}
