package users

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/admin/audit"
)

// invited returns the invitations that the endpoint lists, as strings.
func invited(t *testing.T, ask func(method, path, body string, headers ...string) (int, string)) []string {
	t.Helper()
	code, body := ask("GET", "/api/admin/users", "")
	var answer struct {
		Data struct{ Invitations []map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != 200 || answer.Data.Invitations == nil {
		t.Fatalf("%d, %v: %s", code, err, body)
	}
	all := []string{}
	for _, one := range answer.Data.Invitations {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

// TestListInvitations: a hospital sees only its valid links, oldest first.
func TestListInvitations(t *testing.T) {
	t.Parallel()
	_, o, ask := served(t)
	if got := invited(t, ask); len(got) != 0 {
		t.Errorf("before there is one: %q", got)
	}
	link := func(hospital, user string, made, ends, used time.Time) {
		o.Register.SetLink(Link{Hash: Hash(user), Hospital: hospital, User: user, Label: "of " + user, Role: Charge, CreatedAt: made, ExpiresAt: ends, UsedAt: used})
	}
	earlier, later := noon.Add(-time.Hour), noon.Add(time.Hour)
	link("north", "usr_b", noon, later, time.Time{})
	link("north", "usr_a", noon, later, time.Time{})
	link("north", "usr_c", earlier, later, time.Time{})
	link("north", "usr_expired", earlier, noon, time.Time{})
	link("north", "usr_used", earlier, later, noon)
	link("south", "usr_other", earlier, later, time.Time{})
	row := func(user, made string) string {
		return "map[createdAt:2031-04-05T" + made + ":00.000Z expiresAt:2031-04-05T13:00:00.000Z id:" + user + " label:of " + user + " role:charge]"
	}
	if got, want := invited(t, ask), []string{row("usr_c", "11:00"), row("usr_a", "12:00"), row("usr_b", "12:00")}; !slices.Equal(got, want) {
		t.Errorf("\n%q, want\n%q", got, want)
	}
}

// TestWithdrawInvitation: a withdrawn link cannot be used and is not listed. It remains stored and counts toward the
// limit, so that a program cannot create an unlimited number of links.
func TestWithdrawInvitation(t *testing.T) {
	t.Parallel()
	w, o, ask := served(t)
	link, token, err := o.MakeLink(t.Context(), "key_1", "north", "Ada", Charge, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.acts, w.now = nil, noon.Add(time.Minute)
	code, body := ask("DELETE", "/api/admin/users/invitations/"+link.User, "")
	if want := `"data":{"id":"` + link.User + `","label":"Ada","role":"charge","createdAt":"2031-04-05T12:00:00.000Z","expiresAt":"2031-04-05T13:00:00.000Z"}`; code != 200 || !strings.Contains(body, want) {
		t.Fatalf("%d: %s", code, body)
	}
	if !slices.Equal(w.actions(), []string{ActWithdraw}) || w.acts[0].By != "key_north" || w.acts[0].Subject != link.User || w.acts[0].Hospital != "north" || !w.acts[0].At.Equal(w.now) || strings.Contains(fmt.Sprint(w.acts), token) {
		t.Errorf("on record %+v", w.acts)
	}
	if got := invited(t, ask); len(got) != 0 {
		t.Errorf("still listed: %q", got)
	}
	if u, err := o.UseLink(t.Context(), token, SignIn{}); !errors.Is(err, ErrNoLink) {
		t.Errorf("signed in %+v, %v", u, err)
	}
	if kept, known := o.FindLink(token); !known || !kept.ExpiresAt.Equal(w.now) {
		t.Errorf("kept is %+v", kept)
	}
	if code, body := ask("DELETE", "/api/admin/users/invitations/"+link.User, ""); code != 404 {
		t.Errorf("a second time: %d: %s", code, body)
	}
}

// TestWithdrawNothing: withdrawing an id that is not an invitation of the hospital fails with "not found" and changes
// nothing.
func TestWithdrawNothing(t *testing.T) {
	t.Parallel()
	w, o, ask := served(t)
	invite := func(hospital string) (user, token string) {
		t.Helper()
		link, token, err := o.MakeLink(t.Context(), "key_1", hospital, "x", Viewer, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return link.User, token
	}
	used, token := invite("north")
	if _, err := o.UseLink(t.Context(), token, SignIn{}); err != nil {
		t.Fatal(err)
	}
	other, _ := invite("south")
	w.acts = nil
	for name, id := range map[string]string{"a used one": used, "of another hospital": other, "a user": "usr_2", "nobody": "usr_0"} {
		if code, body := ask("DELETE", "/api/admin/users/invitations/"+id, ""); code != 404 {
			t.Errorf("%s: %d: %s", name, code, body)
		}
	}
	open, _ := invite("north")
	w.now = noon.Add(time.Hour)
	if code, body := ask("DELETE", "/api/admin/users/invitations/"+open, ""); code != 404 {
		t.Errorf("an expired one: %d: %s", code, body)
	}
	if !slices.Equal(w.actions(), []string{ActLink}) {
		t.Errorf("on record %q", w.actions())
	}
	if _, known := o.Register.User("north", used); !known {
		t.Error("a user is gone")
	}
	w.now, w.away = noon, errors.New("away")
	if code, body := ask("DELETE", "/api/admin/users/invitations/"+open, ""); code != 503 {
		t.Errorf("while Kafka does not respond: %d: %s", code, body)
	}
}

// TestWithdrawOrUse: if a person uses a link while an administrator withdraws it at another instance, the request
// that is written first succeeds, and the other one gets [ErrNoLink].
func TestWithdrawOrUse(t *testing.T) {
	t.Parallel()
	for name, useFirst := range map[string]bool{"used meanwhile": true, "withdrawn meanwhile": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{now: noon}
			here, there := w.instance(), w.instance()
			link, token, err := here.MakeLink(t.Context(), "key_1", "north", "x", Viewer, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			use := func() error { _, err := here.UseLink(t.Context(), token, SignIn{}); return err }
			withdraw := func() error { _, err := there.Withdraw(t.Context(), "key_1", "north", link.User); return err }
			first, second, slow := use, withdraw, there
			if !useFirst {
				first, second, slow = withdraw, use, here
			}
			record, asked := slow.Audit, false
			slow.Audit = func(ctx context.Context, act audit.Act) error {
				if !asked { // the instance of the second request has read the link, but has not written yet
					asked = true
					if err := first(); err != nil {
						t.Errorf("the first: %v", err)
					}
				}
				return record(ctx, act)
			}
			if err := second(); !errors.Is(err, ErrNoLink) {
				t.Errorf("the second: %v", err)
			}
			if _, known := here.Register.User("north", link.User); known != useFirst {
				t.Errorf("there is a user: %v", known)
			}
		})
	}
}
