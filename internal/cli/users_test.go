package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestUserCommands checks the requests, the output and the exit code of each subcommand.
func TestUserCommands(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"GET /api/admin/users": `{"users":[{"id":"usr_1","label":"Ada","role":"admin","signIn":"provider","createdAt":"2031-04-05T11:00:00.000Z","signedInAt":"2031-04-05T11:30:00.000Z","until":null,"version":3},
			{"id":"usr_2","label":"desk","role":"viewer","signIn":"link","disabled":true,"createdAt":"2031-04-05T10:00:00.000Z","signedInAt":null,"until":"2031-04-05T23:00:00.000Z","version":1}],
			"invitations":[{"id":"usr_3","label":"\u001bEve","role":"charge","createdAt":"2031-04-05T12:00:00.000Z","expiresAt":"2031-04-05T12:15:00.000Z"}]}`,
		"PATCH /api/admin/users/usr_1":              `{"id":"usr_1"}`,
		"PATCH /api/admin/users/usr_2":              `{"id":"usr_2","warnings":[{"code":"unchanged"}]}`,
		"DELETE /api/admin/users/invitations/usr_3": `{"id":"usr_3","label":"Eve"}`,
	}
	const table = "ID     LABEL  ROLE    SIGN-IN   STATUS    CREATED                   SIGNED IN                 UNTIL\n" +
		"usr_1  Ada    admin   provider  active    2031-04-05T11:00:00.000Z  2031-04-05T11:30:00.000Z  -\n" +
		"usr_2  desk   viewer  link      disabled  2031-04-05T10:00:00.000Z  -                         2031-04-05T23:00:00.000Z\n" +
		"usr_3  Eve    charge  link      invited   2031-04-05T12:00:00.000Z  -                         2031-04-05T12:15:00.000Z\n"
	for name, tt := range map[string]struct {
		args   []string
		code   int
		asks   string
		stdout string
		stderr string // part of the output
	}{
		"list":             {[]string{"list"}, 0, "GET /api/admin/users", table, ""},
		"set":              {[]string{"set", "usr_1", "--disabled", "true"}, 0, `PATCH /api/admin/users/usr_1 {"disabled":true}`, "changed usr_1\n", ""},
		"set nothing":      {[]string{"set", "usr_1"}, 2, "", "", "users set: nothing to change; give at least one of --label, --role or --disabled"},
		"set to the same":  {[]string{"set", "usr_2", "--disabled", "true"}, 0, `PATCH /api/admin/users/usr_2 {"disabled":true}`, "", "nothing changed"},
		"end":              {[]string{"end", "usr_1", "--if-version", "3"}, 0, `PATCH /api/admin/users/usr_1 if "3" {"endSessions":true}`, "ended the sessions of usr_1\n", ""},
		"withdraw":         {[]string{"withdraw", "usr_3"}, 0, "DELETE /api/admin/users/invitations/usr_3", "withdrew usr_3\n", ""},
		"withdraw of none": {[]string{"withdraw", "usr_1"}, 1, "DELETE /api/admin/users/invitations/usr_1", "", "nothing here"},
		"withdraw what":    {[]string{"withdraw"}, 2, "", "", "USER: required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAsked(t, answers)
			code, stdout, stderr := say(t, append(append([]string{"users"}, tt.args...), "--api", server.URL, "--key", "svc_test")...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("code %d, says\n%sand %q; want %d,\n%sand %q", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
			if got := server.received(); got != tt.asks {
				t.Errorf("asks\n%s\nwant\n%s", got, tt.asks)
			}
		})
	}
	server := newAsked(t, answers)
	code, stdout, _ := say(t, "users", "list", "--json", "--api", server.URL, "--key", "svc_test")
	var got struct{ Items, Invitations []map[string]any }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || len(got.Items) != 2 || len(got.Invitations) != 1 || got.Invitations[0]["expiresAt"] != "2031-04-05T12:15:00.000Z" {
		t.Errorf("code %d, %q, %v", code, stdout, err)
	}
}
