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
)

// served is the endpoints over a world with the user usr_1 of north and of south.
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
	MountReads(router, Config{shell, o})
	MountWrites(router, Config{shell, o})
	return w, o, func(method, path, body string, headers ...string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer north")
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer := httptest.NewRecorder()
		router.ServeHTTP(answer, r)
		return answer.Code, answer.Body.String()
	}
}

// TestListUsers: a hospital sees its own users.
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
	want := "[map[createdAt:<nil> disabled:false id:usr_2 label:by provider role:viewer signIn:provider signedInAt:<nil> until:<nil> version:1] " +
		"map[createdAt:2031-04-05T12:00:00.000Z disabled:false id:usr_1 label:of north role:charge signIn:link signedInAt:<nil> until:2031-04-05T13:00:00.000Z version:3]]"
	if got := fmt.Sprint(answer.Data.Users); got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}

// TestChangeUser: what is given changes, in the caller's hospital alone; who is refused
// changes nothing.
func TestChangeUser(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		id, body, match string
		code            int
		want            User // of what may change
	}{
		"nothing":              {"usr_1", `{}`, "", 200, User{Label: "of north", Role: Charge, Version: 4}},
		"end of sessions":      {"usr_1", `{"endSessions":true}`, `"3"`, 200, User{Label: "of north", Role: Charge, Epoch: 1, Version: 4}},
		"disabled":             {"usr_1", `{"disabled":true}`, "*", 200, User{Label: "of north", Role: Charge, Epoch: 1, Disabled: true, Version: 4}},
		"label and role":       {"usr_1", `{"label":" day ","role":"admin"}`, "", 200, User{Label: "day", Role: Admin, Version: 4}},
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
			if !slices.Equal(w.actions(), []string{ActChange}) || w.acts[0].By != "key_north" || w.acts[0].Subject != tt.id {
				t.Errorf("on record %+v", w.acts)
			}
			if other, _ := o.Register.User("south", "usr_1"); other.Version != 3 {
				t.Error("another hospital's user changed")
			}
		})
	}
}

// TestChangeWhileTheLogIsAway is refused, to be tried again.
func TestChangeWhileTheLogIsAway(t *testing.T) {
	t.Parallel()
	w, _, ask := served(t)
	w.away = errors.New("away")
	if code, body := ask("PATCH", "/api/admin/users/usr_1", `{"disabled":true}`); code != 503 {
		t.Errorf("%d: %s", code, body)
	}
}
