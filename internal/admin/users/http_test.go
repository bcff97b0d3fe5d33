package users

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contracttest"
)

// served returns the endpoints of a world in which each of the hospitals north and south has a user usr_1.
func served(t *testing.T) (*world, *Office, func(method, path, body string, headers ...string) (int, string)) {
	t.Helper()
	w := &world{now: noon}
	o := w.instance()
	for _, hospital := range []string{"north", "south"} {
		o.Register.SetUser(User{ID: "usr_1", Hospital: hospital, Label: "of " + hospital, Role: Charge, Version: 3, CreatedAt: noon, Until: noon.Add(time.Hour)})
	}
	o.Register.SetUser(User{ID: "usr_2", Hospital: "north", Label: "by provider", Role: Viewer, Subject: []byte{1}, Version: 1})
	shell := &httpapi.Shell{
		Now: o.Now, Log: slog.New(slog.DiscardHandler), DocsURL: "/docs",
		Lookup: func(token string) (access.Key, bool) {
			return access.Key{ID: "key_" + token, Hospital: token, Scopes: []access.Scope{access.Admin}}, token == "north" || token == "south"
		},
	}
	router := shell.Router()
	config := Config{Shell: shell, Office: o, URL: func(token string) string { return "https://svc.example/signin/" + token }}
	MountReads(router, config)
	MountWrites(router, config)
	return w, o, func(method, path, body string, headers ...string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer north")
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer := httptest.NewRecorder()
		router.ServeHTTP(answer, r)
		contracttest.CheckTag(t, Operations(), r, answer)
		return answer.Code, answer.Body.String()
	}
}

// TestListUsers: a hospital sees only its users.
func TestListUsers(t *testing.T) {
	t.Parallel()
	_, _, ask := served(t)
	code, body := ask("GET", "/api/admin/users", "")
	var answer struct {
		Data struct{ Users []map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != 200 || len(answer.Data.Users) != 2 {
		t.Fatalf("%d, %v: %s", code, err, body)
	}
	want := "[map[createdAt:<nil> disabled:false id:usr_2 label:by provider role:viewer signIn:provider signedInAt:<nil> until:<nil> " +
		"version:1] " +
		"map[createdAt:2031-04-05T12:00:00.000Z disabled:false id:usr_1 label:of north role:charge signIn:link signedInAt:<nil> " +
		"until:2031-04-05T13:00:00.000Z version:3]]"
	if got := fmt.Sprint(answer.Data.Users); got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}

// TestChangeUser: a request changes only the given fields, and only in the caller's hospital. A
// refused request changes nothing. A request whose values are the current ones writes nothing, and says so.
func TestChangeUser(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		id, body, match string
		code            int
		want            User // the fields that may change
	}{
		"nothing":              {"usr_1", `{}`, "", 200, User{Label: "of north", Role: Charge, Version: 3}},
		"the same":             {"usr_1", `{"label":"of north ","role":"charge","disabled":false,"endSessions":false}`, `"3"`, 200, User{Label: "of north", Role: Charge, Version: 3}},
		"end of sessions":      {"usr_1", `{"endSessions":true}`, `"3"`, 200, User{Label: "of north", Role: Charge, Epoch: 1, Version: 4}},
		"disabled":             {"usr_1", `{"disabled":true}`, "*", 200, User{Label: "of north", Role: Charge, Epoch: 1, Disabled: true, Version: 4}},
		"label and role":       {"usr_1", `{"label":" day ","role":"admin"}`, "", 200, User{Label: "day", Role: Admin, Epoch: 1, Version: 4}},
		"label of a provider":  {"usr_2", `{"label":"day","role":"viewer"}`, "", 200, User{Label: "day", Role: Viewer, Version: 2}},
		"role of a provider":   {"usr_2", `{"role":"admin"}`, "", 422, User{}},
		"no such role":         {"usr_1", `{"role":"root"}`, "", 400, User{}},
		"no label":             {"usr_1", `{"label":" "}`, "", 400, User{}},
		"label of two lines":   {"usr_1", `{"label":"a\nb"}`, "", 400, User{}},
		"letters for a switch": {"usr_1", `{"disabled":"yes"}`, "", 400, User{}},
		"version of before":    {"usr_1", `{"disabled":true}`, `"2"`, 412, User{}},
		"no such user":         {"usr_3", `{"disabled":true}`, "", 404, User{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o, ask := served(t)
			before, _ := o.Register.User("north", tt.id)
			headers := []string{}
			if tt.match != "" {
				headers = []string{"If-Match", tt.match}
			}
			code, body := ask("PATCH", "/api/admin/users/"+tt.id, tt.body, headers...)
			after, _ := o.Register.User("north", tt.id)
			if code != tt.code {
				t.Fatalf("%d: %s", code, body)
			}
			if code != 200 {
				if fmt.Sprint(after) != fmt.Sprint(before) || len(w.acts) != 0 {
					t.Errorf("a refusal changed something: %+v, on record %v", after, w.actions())
				}
				return
			}
			got := User{Label: after.Label, Role: after.Role, Epoch: after.Epoch, Disabled: after.Disabled, Version: after.Version}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			if same := after.Version == before.Version; same != strings.Contains(body, `"warnings":[{"code":"unchanged"}]`) {
				t.Errorf("version %d after %d: %s", after.Version, before.Version, body)
			} else if same {
				if len(w.acts) != 0 {
					t.Errorf("on record %+v", w.acts)
				}
				return
			}
			if !slices.Equal(w.actions(), []string{ActChange}) || w.acts[0].By != "key_north" || w.acts[0].Subject != tt.id {
				t.Errorf("on record %+v", w.acts)
			}
			if other, _ := o.Register.User("south", "usr_1"); other.Version != 3 {
				t.Error("another hospital's user changed")
			}
		})
	}
}

// TestChangeWhileTheLogIsAway: while the log does not respond, a change is refused with status 503, so that the
// client can retry.
func TestChangeWhileTheLogIsAway(t *testing.T) {
	t.Parallel()
	w, _, ask := served(t)
	w.away = errors.New("away")
	if code, body := ask("PATCH", "/api/admin/users/usr_1", `{"disabled":true}`); code != 503 {
		t.Errorf("%d: %s", code, body)
	}
}

// TestInvite: an administrator creates a link that signs a person in once. The link is in the response, and in the
// audit log without its token.
func TestInvite(t *testing.T) {
	t.Parallel()
	w, o, ask := served(t)
	code, body := ask("POST", "/api/admin/users", `{"label":" night desk ","role":"charge","ttl":"1h"}`)
	var answer struct {
		Data struct{ ID, Label, Role, ExpiresAt, URL string }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != 200 {
		t.Fatalf("%d, %v: %s", code, err, body)
	}
	token, ours := strings.CutPrefix(answer.Data.URL, "https://svc.example/signin/")
	if d := answer.Data; !ours || d.Label != "night desk" || d.Role != "charge" || d.ExpiresAt != "2031-04-05T13:00:00.000Z" {
		t.Errorf("%+v", d)
	}
	if !slices.Equal(w.actions(), []string{ActLink}) || w.acts[0].By != "key_north" || w.acts[0].Subject != answer.Data.ID || strings.Contains(fmt.Sprint(w.acts), token) {
		t.Errorf("on record %+v", w.acts)
	}
	if u, err := o.UseLink(t.Context(), token, SignIn{}); err != nil || u.User != answer.Data.ID || u.Hospital != "north" {
		t.Errorf("signed in %+v, %v", u, err)
	}
	if _, err := o.UseLink(t.Context(), token, SignIn{}); !errors.Is(err, ErrNoLink) {
		t.Errorf("a second time: %v", err)
	}
	const unknown = `"warnings":[{"code":"unknown_field","path":"disable"}]`
	if code, body := ask("POST", "/api/admin/users", `{"label":"y","role":"viewer","disable":true}`); code != 200 || !strings.Contains(body, unknown) {
		t.Errorf("an unknown field: %d %s", code, body)
	}
	if code, body := ask("PATCH", "/api/admin/users/usr_1", `{"disable":true,"endSessions":true}`); code != 200 || !strings.Contains(body, unknown) {
		t.Errorf("a misspelled field: %d %s", code, body)
	}
	// Without a ttl, a link is valid for as long as one from the command line.
	if _, body := ask("POST", "/api/admin/users", `{"label":"x","role":"viewer"}`); !strings.Contains(body, `"expiresAt":"2031-04-05T12:15:00.000Z"`) {
		t.Error(body)
	}
}

// TestRefusedInvitations: a refusal names the field and creates no link.
func TestRefusedInvitations(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ body, want string }{
		"no label":      {`{"role":"viewer"}`, `{"path":"label","rule":`},
		"two lines":     {`{"label":"a\nb","role":"viewer"}`, `{"path":"label","rule":"line"}`},
		"no role":       {`{"label":"a"}`, `{"path":"role","rule":`},
		"no such role":  {`{"label":"a","role":"root"}`, `{"path":"role","rule":"enum:viewer|charge|admin"}`},
		"other time":    {`{"label":"a","role":"viewer","ttl":"90d"}`, `{"path":"ttl","rule":"enum:15m|1h|24h"}`},
		"all of a body": {`{}`, `{"path":"label","rule":`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o, ask := served(t)
			if code, body := ask("POST", "/api/admin/users", tt.body); code != 400 || !strings.Contains(body, tt.want) || len(w.acts) != 0 || len(o.Register.Links("north")) != 0 {
				t.Errorf("%d: %s", code, body)
			}
		})
	}
	w, _, ask := served(t)
	w.away = errors.New("away")
	if code, body := ask("POST", "/api/admin/users", `{"label":"a","role":"viewer"}`); code != 503 {
		t.Errorf("while Kafka does not respond: %d: %s", code, body)
	}
}

// TestInvitationsAreBounded: a link counts toward its hospital's limit until a day after the link ends. Links of
// other hospitals do not count.
func TestInvitationsAreBounded(t *testing.T) {
	t.Parallel()
	w, o, ask := served(t)
	invite := func(want int) {
		t.Helper()
		if code, body := ask("POST", "/api/admin/users", `{"label":"a","role":"viewer"}`); code != want {
			t.Errorf("%d, want %d: %s", code, want, body)
		}
	}
	for i := range MostLinks - 1 {
		for _, hospital := range []string{"north", "south"} {
			o.Register.SetLink(Link{Hash: Hash(fmt.Sprint(hospital, i)), Hospital: hospital, ExpiresAt: noon})
		}
	}
	invite(200)
	invite(422)
	w.now = noon.Add(linkKept + time.Minute)
	invite(200)
	if n := len(o.Register.Links("north")); n != 2 {
		t.Errorf("%d links are kept", n)
	}
}
